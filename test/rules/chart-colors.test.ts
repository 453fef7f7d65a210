// The colours of charts, as people see them who tell some colours apart badly or not at all.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const CSS = readFileSync(new URL('../../src/admin-ui/style.css', import.meta.url), 'utf8');
type Rgb = readonly [number, number, number];
type Matrix = readonly [Rgb, Rgb, Rgb];

/** Full dichromacy: Machado, Oliveira and Fernandes 2009, for linear RGB. */
const EYES: Readonly<Record<string, Matrix>> = {
  'every cone': [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  'no long cones': [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  'no medium cones': [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  'no short cones': [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
/** In OKLab, where 0.02 is what eyes just notice side by side. Parts of a bar are small. */
const DIFFERENT = 0.12;

/** The colours of the parts of a chart by their tones, in the light theme and in the dark one. */
function tonesOf(theme: 'light' | 'dark'): [tone: string, color: string][] {
  return [...CSS.matchAll(/^\.part\.(\w+),\n\.key\.\w+ \{\n {2}background: ([^;]+);/gm)].map(
    ([, tone = '', color = '']) => {
      const [, name] = /^var\(--(\w+)\)$/.exec(color) ?? [];
      const [, light = '', dark = ''] =
        new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(CSS) ?? [];
      return [tone, name === undefined ? color : theme === 'light' ? light : dark];
    },
  );
}

function linearOf(color: string): Rgb {
  const digits = color.length === 4 ? color.replaceAll(/[\da-f]/g, '$&$&') : color;
  const part = (from: number): number => {
    const value = Number.parseInt(digits.slice(from, from + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(1), part(3), part(5)];
}

const times = (matrix: Matrix, [r, g, b]: Rgb): Rgb => {
  const [x, y, z] = matrix.map(([p, q, s]) => p * r + q * g + s * b);
  return [x ?? 0, y ?? 0, z ?? 0];
};

/** https://bottosson.github.io/posts/oklab/ */
function okLabOf(color: Rgb): Rgb {
  const [l, m, s] = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    color,
  ).map(Math.cbrt);
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    [l ?? 0, m ?? 0, s ?? 0],
  );
}

test.each(['light', 'dark'] as const)('are told apart by everybody in the %s theme', (theme) => {
  const tones = tonesOf(theme);
  expect(tones.map(([tone]) => tone)).toEqual(['main', 'warn', 'soft', 'bad']);
  for (const [eye, matrix] of Object.entries(EYES)) {
    const seen = tones.map(
      ([tone, color]) => [tone, okLabOf(times(matrix, linearOf(color)))] as const,
    );
    const alike = seen.flatMap(([one, a], place) =>
      seen.slice(place + 1).flatMap(([other, b]) => {
        const distance = Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
        return distance < DIFFERENT ? [`${one} and ${other}: ${distance}`] : [];
      }),
    );
    expect([eye, alike]).toEqual([eye, []]);
  }
});
