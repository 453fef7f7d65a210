// The colours that follow from those of the host application, exactly. What holds for all colours
// is in `test/rules/host-colors.test.ts`.
import { describe, expect, test } from 'vitest';
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
} from '../../../src/admin-ui/lib/colors.ts';

const colorOf = (text: string): Color => readColor(text) ?? [0, 0, 0];
/** A palette of colours in the order of their names. */
const paletteOf = (texts: string) => {
  const colors = texts.split(' ').map((text) => colorOf(`#${text}`));
  return Object.fromEntries(NAMES.map((name, place) => [name, colors[place]])) as Palette;
};
const textOf = (palette: Palette) => NAMES.map((name) => hexOf(palette[name]).slice(1)).join(' ');

const OWN = {
  light: paletteOf(
    '19202b 566073 dfe4eb 858f9f ffffff f5f7fa eef2f7 1754c0 10429c ffffff e9f0fd a8231c',
  ),
  dark: paletteOf(
    'e4e9f1 a0acbd 2a333f 6f7c8f 171d25 10151b 202833 8bb7ff aecdff 0d1420 1b2a3f ffa39b',
  ),
};
const fit = (scheme: 'light' | 'dark', given: Record<string, unknown>) =>
  fitColors(given, OWN[scheme], scheme);

describe('the contrast of two colours', () => {
  // As the tools of WCAG have it.
  test.each([
    ['#000', '#fff', 21],
    ['#fff', '#fff', 1],
    ['#777777', '#ffffff', 4.478],
    ['#767676', '#fff', 4.542],
    ['#ff0000', '#00ff00', 2.914],
    ['#0000ff', '#ffffff', 8.592],
    ['#0a0a0a', '#0b0b0b', 1.006],
  ])('%s and %s is %d', (one, other, contrast) => {
    expect(contrastOf(colorOf(one), colorOf(other))).toBeCloseTo(contrast, 3);
    expect(contrastOf(colorOf(other), colorOf(one))).toBeCloseTo(contrast, 3);
  });
});

describe('a colour', () => {
  test.each([
    ['#0a7d4f', [10, 125, 79]],
    ['  #0A7D4F ', [10, 125, 79]],
    ['#0a7', [0, 170, 119]],
  ])('is read from %j', (text, color) => {
    expect(readColor(text)).toEqual(color);
  });

  test.each([
    '',
    '0a7d4f',
    '#0a7d4',
    '#0a7d4f0',
    '#0a7d4g',
    '#0a',
    '#0a7d',
    'x#0a7',
    'x#0a7d4f',
    7,
    null,
    [7],
  ])('is not read from %j', (value) => {
    expect(readColor(value)).toBeNull();
  });

  test('is written with whole numbers and all digits', () => {
    expect(hexOf([0, 9.4, 254.5])).toBe('#0009ff');
  });
});

describe('the palette', () => {
  test.each(SCHEMES)('of the page itself stays as it is, %s', (scheme) => {
    expect(fit(scheme, {})).toEqual({ palette: OWN[scheme], changes: [] });
    const own = { accent: hexOf(OWN[scheme].accent), ground: hexOf(OWN[scheme].ground) };
    expect(fit(scheme, own)).toEqual({ palette: OWN[scheme], changes: [] });
  });

  test.each([
    [
      'light',
      { accent: '#ffd400' },
      '19202b 566073 dfe4eb 858f9f ffffff f5f7fa eef2f7 806a00 6d5a00 ffffff f2f0e6 a8231c',
    ],
    [
      'light',
      { accent: '#767676' },
      '19202b 566073 dfe4eb 858f9f ffffff f5f7fa eef2f7 6d6d6d 5d5d5d ffffff f0f0f0 a8231c',
    ],
    [
      'dark',
      { accent: '#0a3d2f' },
      'e4e9f1 a0acbd 2a333f 6f7c8f 171d25 10151b 202833 7b968f 8fa6a0 000000 212930 ffa39b',
    ],
    [
      'light',
      { ground: '#fffdf8', page: '#f6f1e7', text: '#222222' },
      '222222 566073 e0deda 818b9a fffdf8 f6f1e7 f2f0eb 1754c0 1447a3 ffffff e8ecf2 a8231c',
    ],
    [
      'dark',
      { ground: '#102030', page: '#0a1520', text: '#eeeeee', accent: '#5fd39b' },
      'eeeeee a0acbd 2f3d4b 6f7c8f 102030 0a1520 1d2c3b 5fd39b 77daaa 000000 18323b ffa39b',
    ],
    // The text cannot be read, the accent can.
    [
      'light',
      { ground: '#fffdf8', page: '#f6f1e7', text: '#999999', accent: '#0a6b45' },
      '19202b 566073 dfe4eb 858f9f ffffff f5f7fa eef2f7 0a6b45 095b3b ffffff e7f0ec a8231c',
    ],
  ] as const)('%s, with %j, has these colours', (scheme, given, palette) => {
    expect(textOf(fit(scheme, given).palette)).toBe(palette);
  });

  test('is made as dark as it gets, if nothing else can be read', () => {
    const gray = (ground: string) => ({ ground, page: ground, text: '#000', accent: '#ffd400' });
    expect(hexOf(fit('light', gray('#828282')).palette.accent)).toBe('#000000');
    expect(hexOf(fit('light', gray('#838383')).palette.accent)).toBe('#050400');
    // Not even black can be read on it.
    const refused = fit('light', gray('#818181'));
    expect(textOf(refused.palette)).toBe(textOf(fit('light', { accent: '#ffd400' }).palette));
  });

  test('stays that of the page, if nothing can be read on it', () => {
    const own = { ...OWN.light, hover: OWN.light.text };
    const { palette, changes } = fitColors({ accent: '#0a6b45' }, own, 'light');
    expect(palette).toEqual(own);
    expect(changes.map(({ used }) => used)).toEqual([null]);
  });

  test('says what was changed or refused, and why', () => {
    const contrast = { scheme: 'light', reason: 'contrast' };
    expect(fit('light', { accent: '#FFD400' }).changes).toEqual([
      { ...contrast, name: 'accent', given: '#ffd400', used: '#806a00' },
    ]);
    const refused = { ground: '#fffdf8', text: '#999999', accent: '#0a6b45' };
    expect(fit('light', refused).changes).toEqual([
      { ...contrast, name: 'ground', given: '#fffdf8', used: null },
      { ...contrast, name: 'text', given: '#999999', used: null },
    ]);
    expect(fit('dark', { accent: 'red', page: 7, shadow: '#000' }).changes).toEqual([
      { scheme: 'dark', name: 'accent', given: 'red', used: null, reason: 'not_a_color' },
      { scheme: 'dark', name: 'page', given: '7', used: null, reason: 'not_a_color' },
      { scheme: 'dark', name: 'shadow', given: '#000', used: null, reason: 'unknown_name' },
    ]);
  });

  test.each([
    ['light', { ground: '#101010', page: '#000', text: '#fafafa' }],
    ['dark', { ground: '#fff', page: '#fafafa', text: '#111' }],
  ] as const)('%s takes no colours of the other theme', (scheme, given) => {
    expect(fit(scheme, given).palette).toEqual(OWN[scheme]);
  });
});

describe('what cannot be read', () => {
  test('is named with what it stands on', () => {
    const { light } = OWN;
    expect(faultsOf({ ...light, soft: colorOf('#999') })).toEqual([
      'soft on ground',
      'soft on page',
      'soft on hover',
    ]);
    expect(faultsOf({ ...light, edge: colorOf('#aaa'), bad: colorOf('#f66') })).toEqual([
      'bad on ground',
      'bad on page',
      'edge on ground',
      'edge on page',
    ]);
    expect(faultsOf({ ...light, hover: light.text })).toEqual([
      'text on hover',
      'soft on hover',
      'accent on hover',
      'accent-hover on hover',
    ]);
    expect(faultsOf({ ...light, 'on-accent': light.accent, 'accent-panel': light.accent })).toEqual(
      [
        'text on accent-panel',
        'accent on accent-panel',
        'on-accent on accent',
        'on-accent on accent-hover',
      ],
    );
  });

  test('has less than 4.5 for texts, and less than 3 for edges', () => {
    const { light } = OWN;
    const white = { ...light, page: light.ground, hover: light.ground };
    expect(faultsOf({ ...white, soft: colorOf('#767676'), edge: colorOf('#949494') })).toEqual([]);
    expect(faultsOf({ ...white, soft: colorOf('#777777') })).toHaveLength(3);
    expect(faultsOf({ ...white, edge: colorOf('#969696') })).toHaveLength(2);
  });
});
