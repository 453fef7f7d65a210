/**
 * The colours that the host application may give the page, so that it looks like a part of it:
 *  * `ground` (cards and fields), `page` (behind them) and `text`, which are taken together or not
 *    at all, and `accent` (links, buttons, what is chosen).
 *  * Everybody must be able to read the page, so each colour of a text has a contrast of at least
 *    4.5 on every ground that it stands on, and the edges of fields have 3. An accent that lacks it
 *    is made darker, or lighter in the dark theme, until it has it. Grounds and texts that lack it
 *    are refused.
 *  * The other colours follow from these. The colours of warnings and errors stay the page's own.
 */

export const SCHEMES = ['light', 'dark'] as const;
export type Scheme = (typeof SCHEMES)[number];

/** Red, green and blue, from 0 to 255. */
export type Color = readonly [number, number, number];

/** The colours of one theme, by the names of their custom properties. */
export const NAMES = [
  'text',
  'soft',
  'line',
  'edge',
  'ground',
  'page',
  'hover',
  'accent',
  'accent-hover',
  'on-accent',
  'accent-panel',
  'bad',
] as const;
export type Palette = Readonly<Record<(typeof NAMES)[number], Color>>;

const SURFACES = ['ground', 'page', 'text'] as const;
const GIVABLE = [...SURFACES, 'accent'] as const;
type Givable = (typeof GIVABLE)[number];

/** A colour that was not taken as it was given. `used` is null where it was not taken at all. */
export interface ColorChange {
  readonly scheme: Scheme;
  readonly name: string;
  readonly given: string;
  readonly used: string | null;
  readonly reason: 'contrast' | 'not_a_color' | 'unknown_name';
}

const TEXT_CONTRAST = 4.5;
const EDGE_CONTRAST = 3;
const BLACK: Color = [0, 0, 0];
const WHITE: Color = [255, 255, 255];
const STEPS = 50;

/** What stands on what, with the contrast that it needs. */
const PAIRS: readonly (readonly [keyof Palette, readonly (keyof Palette)[], number])[] = [
  ['text', ['ground', 'page', 'hover', 'accent-panel'], TEXT_CONTRAST],
  ['soft', ['ground', 'page', 'hover'], TEXT_CONTRAST],
  ['accent', ['ground', 'page', 'hover', 'accent-panel'], TEXT_CONTRAST],
  ['accent-hover', ['ground', 'page', 'hover'], TEXT_CONTRAST],
  ['on-accent', ['accent', 'accent-hover'], TEXT_CONTRAST],
  ['bad', ['ground', 'page'], TEXT_CONTRAST],
  ['edge', ['ground', 'page'], EDGE_CONTRAST],
];

/** Returns the colours to use, and what became of those that could not be used as they are. */
export function fitColors(
  given: Readonly<Record<string, unknown>>,
  own: Palette,
  scheme: Scheme,
): { readonly palette: Palette; readonly changes: readonly ColorChange[] } {
  const changes: ColorChange[] = [];
  const wanted: Partial<Record<Givable, Color>> = {};
  for (const [name, value] of Object.entries(given)) {
    const known = GIVABLE.find((one) => one === name);
    const color = readColor(value);
    if (known && color) wanted[known] = color;
    else {
      const reason = known ? 'not_a_color' : 'unknown_name';
      changes.push({ scheme, name, given: String(value), used: null, reason });
    }
  }
  const palette =
    paletteOf(wanted, own, scheme) ??
    paletteOf(wanted.accent ? { accent: wanted.accent } : {}, own, scheme) ??
    own;
  for (const [name, color] of Object.entries(wanted) as [Givable, Color][]) {
    if (isSame(palette[name], color)) continue;
    const used = isSame(palette[name], own[name]) ? null : hexOf(palette[name]);
    changes.push({ scheme, name, given: hexOf(color), used, reason: 'contrast' });
  }
  return { palette, changes };
}

/** The pairs of a palette whose contrast is too low. */
export function faultsOf(palette: Palette): string[] {
  return PAIRS.flatMap(([name, grounds, least]) =>
    grounds
      .filter((ground) => contrastOf(palette[name], palette[ground]) < least)
      .map((ground) => `${name} on ${ground}`),
  );
}

/** Reads `#rgb` or `#rrggbb`; null for everything else. */
export function readColor(value: unknown): Color | null {
  const text = typeof value === 'string' ? value.trim() : '';
  const long = text.replace(/^#(.)(.)(.)$/, '#$1$1$2$2$3$3');
  if (!/^#[\da-f]{6}$/i.test(long)) return null;
  return [1, 3, 5].map((at) => Number.parseInt(long.slice(at, at + 2), 16)) as unknown as Color;
}

export function hexOf(color: Color): string {
  return `#${color.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;
}

/** The contrast ratio of WCAG, from 1 to 21. */
export function contrastOf(one: Color, other: Color): number {
  const [low = 0, high = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function luminanceOf(color: Color): number {
  const [red = 0, green = 0, blue = 0] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Makes a palette of the wanted colours. null: it cannot be read. */
function paletteOf(
  wanted: Partial<Record<Givable, Color>>,
  own: Palette,
  scheme: Scheme,
): Palette | null {
  const surfaces = {
    ground: wanted.ground ?? own.ground,
    page: wanted.page ?? own.page,
    text: wanted.text ?? own.text,
  };
  const { ground, page, text } = surfaces;
  // The browser draws some controls itself, by the scheme.
  if (luminanceOf(ground) > luminanceOf(text) !== (scheme === 'light')) return null;
  const hasOwnSurfaces = SURFACES.every((name) => isSame(surfaces[name], own[name]));
  const hover = hasOwnSurfaces ? own.hover : mix(ground, text, 0.06);
  const base: Palette = {
    ...own,
    ...surfaces,
    hover,
    line: hasOwnSurfaces ? own.line : mix(ground, text, 0.14),
    soft: reach(own.soft, text, [ground, page, hover], TEXT_CONTRAST),
    edge: reach(own.edge, text, [ground, page], EDGE_CONTRAST),
    bad: reach(own.bad, text, [ground, page], TEXT_CONTRAST),
  };
  const isOwn = hasOwnSurfaces && (!wanted.accent || isSame(wanted.accent, own.accent));
  return isOwn ? base : withAccent(base, wanted.accent ?? own.accent, scheme);
}

/** Makes the accent darker or lighter, as little as possible. null: nothing is enough. */
function withAccent(base: Palette, accent: Color, scheme: Scheme): Palette | null {
  const end = scheme === 'light' ? BLACK : WHITE;
  for (let step = 0; step <= STEPS; step += 1) {
    const candidate = mix(accent, end, step / STEPS);
    const hover = mix(candidate, end, 0.15);
    const palette = {
      ...base,
      accent: candidate,
      'accent-hover': hover,
      'accent-panel': mix(base.ground, candidate, 0.1),
      'on-accent': bestOn([candidate, hover]),
    };
    if (faultsOf(palette).length === 0) return palette;
  }
  return null;
}

function bestOn(grounds: readonly Color[]): Color {
  // One of the two can be read on any ground.
  return grounds.every((one) => contrastOf(WHITE, one) >= TEXT_CONTRAST) ? WHITE : BLACK;
}

/** Mixes a colour with `end` until it has the contrast on all grounds, or is `end`. */
function reach(color: Color, end: Color, grounds: readonly Color[], least: number): Color {
  for (let step = 0; step < STEPS; step += 1) {
    const candidate = mix(color, end, step / STEPS);
    if (grounds.every((ground) => contrastOf(candidate, ground) >= least)) return candidate;
  }
  return end;
}

/** Whole numbers, so that what is checked is what is shown. */
function mix(one: Color, other: Color, share: number): Color {
  return one.map((part, at) =>
    Math.round(part + ((other[at] ?? 0) - part) * share),
  ) as unknown as Color;
}

function isSame(one: Color, other: Color): boolean {
  return hexOf(one) === hexOf(other);
}
