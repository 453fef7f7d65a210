// Sets the figures of a run beside the last ones that were kept, and draws them. Each figure is a
// ratio within one run, or it has its unit beside it.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { atLeast, atMost, verdictOn, type Curve, type Figure } from './report.ts';

const KEPT = new URL('./results.json', import.meta.url);
const PLOT = new URL('./results.svg', import.meta.url);
/** Two runs of the same code differ by less, on a machine that does nothing else. */
const NOISE = 0.1;

/** What was kept, by the names of figures and curves, each with the day of its measurement. */
interface Kept {
  readonly figures: Readonly<Record<string, KeptFigure>>;
  readonly curves: Readonly<Record<string, Curve & { readonly day: string }>>;
}

interface KeptFigure {
  readonly value: number;
  readonly day: string;
  readonly better: 'more' | 'less';
  readonly limit: number;
}

const NOTHING: Kept = { figures: {}, curves: {} };

/** Prints the table and names what became worse. With `save`, keeps the figures and the plot. */
export async function reportResults(
  figures: readonly Figure[],
  curves: readonly Curve[],
  { save }: { readonly save: boolean },
): Promise<void> {
  const file = await readFile(KEPT, 'utf8').catch(() => null);
  const kept = file === null ? NOTHING : (JSON.parse(file) as Kept);
  const rows = figures.map((figure) => {
    const last = kept.figures[figure.name];
    return { ...figure, last: last?.value ?? null, worse: last ? worseBy(figure, last.value) : 0 };
  });
  const width = Math.max(...rows.map(({ name }) => name.length));
  console.log(`\n${'All figures'.padEnd(width)}${['last', 'now'].map(cell).join('')}`);
  for (const { name, value, target, last, worse } of rows) {
    const cells = [last === null ? '' : last.toFixed(2), value.toFixed(2)].map(cell).join('');
    const change = worse > NOISE ? `   WORSE by ${(worse * 100).toFixed(0)} %` : '';
    console.log(`${name.padEnd(width)}${cells}   ${verdictOn({ value, target })}${change}`);
  }
  if (rows.some(({ last }) => last !== null) && rows.every(({ worse }) => worse <= NOISE))
    console.log('Nothing became worse than the last figures by more than the noise.');
  if (!save) return;
  const day = new Date().toISOString().slice(0, 10);
  const now: Kept = {
    figures: { ...kept.figures, ...toFigures(figures, day) },
    curves: { ...kept.curves, ...toCurves(curves, day) },
  };
  await writeFile(KEPT, `${JSON.stringify(now, null, 2)}\n`);
  await writeFile(PLOT, plot(now, kept));
  console.log(`Kept in ${fileURLToPath(KEPT)} and ${fileURLToPath(PLOT)}.`);
}

const cell = (text: string): string => text.padStart(10);

/** The share by which a figure is worse than before: 0.2 for a fifth. Negative if it is better. */
function worseBy({ value, target }: Figure, before: number): number {
  return target.better === 'more' ? before / value - 1 : value / before - 1;
}

const ROW = 22;
const LABELS = 560;
const BARS = 400;
/** The right end stands for a figure that is twice as good as its target. */
const END = 2;
const CURVES_IN_A_ROW = 3;
const CURVE_WIDTH = 340;
const CURVE_HEIGHT = 200;

function toFigures(figures: readonly Figure[], day: string): Kept['figures'] {
  return Object.fromEntries(
    figures.map(({ name, value, target: { better, limit } }) => [
      name,
      { value, day, better, limit },
    ]),
  );
}

function toCurves(curves: readonly Curve[], day: string): Kept['curves'] {
  return Object.fromEntries(curves.map((one) => [`${one.of}: ${one.name}`, { ...one, day }]));
}

/** A bar for each figure: how far it is from its target. The mark is the last figure. */
function plot(now: Kept, before: Kept): string {
  const rows = Object.entries(now.figures);
  const curves = Object.values(now.curves);
  const placeOf = ({ better, limit }: KeptFigure, value: number): number => {
    const share = better === 'more' ? value / limit : limit / value;
    return LABELS + (BARS * Math.min(END, share)) / END;
  };
  const lines = rows.flatMap(([name, figure], number) => {
    const y = ROW * (number + 1);
    const target = figure.better === 'more' ? atLeast(figure.limit) : atMost(figure.limit);
    const color = target.isMet(figure.value) ? '#2a7d4f' : '#b3541e';
    const bar = placeOf(figure, figure.value) - LABELS;
    const last = before.figures[name];
    const mark = last ? placeOf(figure, last.value) : null;
    return [
      `<text x="${LABELS - 10}" y="${y + 15}" text-anchor="end">${escape(name)}</text>`,
      `<rect x="${LABELS}" y="${y + 4}" width="${bar.toFixed(1)}" height="14" fill="${color}"/>`,
      mark === null ? '' : `<path d="M${mark.toFixed(1)} ${y + 1}v20" stroke="#222"/>`,
      `<text x="${LABELS + BARS + 10}" y="${y + 15}">${figure.value.toFixed(2)}</text>`,
    ];
  });
  const end = ROW * (rows.length + 2);
  const height = end + CURVE_HEIGHT * Math.ceil(curves.length / CURVES_IN_A_ROW);
  const goal = LABELS + BARS / END;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${LABELS + BARS + 80}" height="${height}"`,
    '  font-family="sans-serif" font-size="12">',
    '<rect width="100%" height="100%" fill="#fff"/>',
    `<text x="${goal}" y="15" text-anchor="middle">target</text>`,
    ...lines.filter((line) => line !== ''),
    `<path d="M${goal} ${ROW}V${end - ROW}" stroke="#222" stroke-dasharray="4 3"/>`,
    ...curves.map((curve, place) => plotCurve(curve, place, end)),
    '</svg>',
    '',
  ].join('\n');
}

/**
 * A curve over the logarithm of what grows. Its lower edge is zero, its upper one twice the first
 * figure, or the largest: what stays flat runs through the middle.
 */
function plotCurve({ name, of, points }: Curve, place: number, top: number): string {
  const left = CURVE_WIDTH * (place % CURVES_IN_A_ROW) + 30;
  const bottom = top + CURVE_HEIGHT * (Math.floor(place / CURVES_IN_A_ROW) + 1) - 40;
  const [from = 1, first = NaN] = points[0] ?? [];
  const [to = 1] = points.at(-1) ?? [];
  const most = Math.max(2 * first, ...points.map(([, value]) => value));
  const at = points.map(([size, value]): readonly [x: number, y: number, text: string] => [
    left + (CURVE_WIDTH - 80) * (Math.log(size / from) / Math.log(to / from)),
    bottom - (value / most) * (CURVE_HEIGHT - 80),
    value.toFixed(value < 20 ? 2 : 0),
  ]);
  const line = at.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L');
  return [
    `<text x="${left}" y="${bottom - CURVE_HEIGHT + 65}">${escape(name)}</text>`,
    `<path d="M${left} ${bottom}h${CURVE_WIDTH - 80}" stroke="#999"/>`,
    `<path d="M${line}" fill="none" stroke="#2a5f9e" stroke-width="2"/>`,
    ...at.map(
      ([x, y, text]) => `<text x="${x.toFixed(1)}" y="${(y - 8).toFixed(1)}">${text}</text>`,
    ),
    `<text x="${left}" y="${bottom + 16}">${label(from)} to ${label(to)} ${escape(of)}</text>`,
  ].join('\n');
}

const label = (size: number): string => size.toLocaleString('en');

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
