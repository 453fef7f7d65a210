import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  contrastOf,
  faultsOf,
  fitColors,
  hexOf,
  NAMES,
  readColor,
  SCHEMES,
  type Color,
  type Palette,
  type Scheme,
} from '../../src/admin-ui/lib/colors.ts';

const CSS = readFileSync(new URL('../../src/admin-ui/style.css', import.meta.url), 'utf8');

/** The colours of the page, as its style sheet has them. */
function ownPalette(scheme: Scheme): Palette {
  const colors = NAMES.map((name) => {
    const pair = new RegExp(`--${name}: light-dark\\((\\S+), (\\S+)\\)`).exec(CSS);
    return [name, readColor(pair?.[scheme === 'light' ? 1 : 2])];
  });
  return Object.fromEntries(colors) as Palette;
}

const OWN = { light: ownPalette('light'), dark: ownPalette('dark') };
const fit = (given: Record<string, unknown>, scheme: Scheme = 'light') =>
  fitColors(given, OWN[scheme], scheme);

/** Colours all over the cube. */
const CUBE: readonly Color[] = Array.from({ length: 6 ** 3 }, (_, n) => [
  51 * (n % 6),
  51 * (Math.floor(n / 6) % 6),
  51 * Math.floor(n / 36),
]);

describe('the colours of the host application', () => {
  it('stand beside colours of ours that everybody can read', () => {
    expect(contrastOf([0, 0, 0], [255, 255, 255])).toBeCloseTo(21);
    for (const scheme of SCHEMES) expect(faultsOf(OWN[scheme])).toEqual([]);
  });

  it('are taken as they are if they can be read', () => {
    const given = { accent: '#0a6b45', ground: '#fffdf8', page: '#f6f1e7', text: '#222' };
    const { palette, changes } = fit(given);
    expect(changes).toEqual([]);
    expect(hexOf(palette.accent)).toBe('#0a6b45');
    expect(hexOf(palette.text)).toBe('#222222');
    expect(fit({}).palette).toEqual(OWN.light);
  });

  it('make no text unreadable, whichever accent is given', () => {
    for (const scheme of SCHEMES)
      for (const color of CUBE) {
        const { palette, changes } = fit({ accent: hexOf(color) }, scheme);
        expect([hexOf(color), faultsOf(palette)]).toEqual([hexOf(color), []]);
        expect(changes.length === 0).toBe(hexOf(palette.accent) === hexOf(color));
      }
  });

  it('make no text unreadable, whichever grounds and texts are given', () => {
    for (const scheme of SCHEMES)
      for (const ground of CUBE.filter((_, n) => n % 5 === 0))
        for (const text of CUBE.filter((_, n) => n % 17 === 0)) {
          const given = { ground: hexOf(ground), page: hexOf(ground), text: hexOf(text) };
          const { palette } = fit({ ...given, accent: '#ffd400' }, scheme);
          expect([given, faultsOf(palette)]).toEqual([given, []]);
        }
  });

  it('say what became of an accent that is too pale', () => {
    const { palette, changes } = fit({ accent: '#FFD400' });
    expect(changes).toEqual([
      {
        scheme: 'light',
        name: 'accent',
        given: '#ffd400',
        used: hexOf(palette.accent),
        reason: 'contrast',
      },
    ]);
    expect(fit({ accent: '#ffd400' }, 'dark').changes).toEqual([]);
  });

  it('keep the page as it is where texts cannot be read, or belong to the other theme', () => {
    for (const given of [
      { text: '#999999' },
      { ground: '#101010', text: '#fafafa', page: '#000' },
    ]) {
      const { palette, changes } = fit(given);
      expect(palette).toEqual(OWN.light);
      expect(changes.map(({ name, used }) => [name, used])).toEqual(
        Object.keys(given).map((name) => [name, null]),
      );
    }
  });

  it('are refused where they are no colours, or have other names', () => {
    const { palette, changes } = fit({
      accent: 'red;}',
      ground: 7,
      shadow: '#000',
      page: '#12345',
    });
    expect(palette).toEqual(OWN.light);
    expect(changes.map(({ name, reason }) => [name, reason])).toEqual([
      ['accent', 'not_a_color'],
      ['ground', 'not_a_color'],
      ['shadow', 'unknown_name'],
      ['page', 'not_a_color'],
    ]);
  });
});
