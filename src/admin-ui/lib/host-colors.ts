/** Shows the page in the colours of the host application, as far as they can be read. */
import {
  fitColors,
  hexOf,
  NAMES,
  type Color,
  type ColorChange,
  type Palette,
  type Scheme,
} from './colors.ts';

let own: Readonly<Record<Scheme, Palette>> | null = null;

/**
 * Takes colours such as `{ light: { accent: '#0a7d4f' }, dark: { accent: '#5fd39b' } }`, in the
 * place of those that were given before. Returns what became of those that could not be taken as
 * they are.
 */
export function setHostColors(given: unknown): readonly ColorChange[] {
  const palettes = (own ??= { light: readPalette('light'), dark: readPalette('dark') });
  const fit = (scheme: Scheme) => {
    const colors = isRecord(given) && isRecord(given[scheme]) ? given[scheme] : {};
    return fitColors(colors, palettes[scheme], scheme);
  };
  const [light, dark] = [fit('light'), fit('dark')];
  const { style } = document.documentElement;
  for (const name of NAMES) {
    const pair = [hexOf(light.palette[name]), hexOf(dark.palette[name])];
    style.setProperty(`--${name}`, `light-dark(${pair.join(', ')})`);
  }
  return [...light.changes, ...dark.changes];
}

/** Reads the page's own colours, before others cover them. */
function readPalette(scheme: Scheme): Palette {
  const probe = document.body.appendChild(document.createElement('span'));
  probe.style.colorScheme = scheme;
  const colors = NAMES.map((name) => {
    probe.style.color = `var(--${name})`;
    const parts = getComputedStyle(probe).color.match(/\d+/g)?.slice(0, 3).map(Number);
    return [name, parts as unknown as Color] as const;
  });
  probe.remove();
  return Object.fromEntries(colors) as unknown as Palette;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
