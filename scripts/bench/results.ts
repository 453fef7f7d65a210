// Sets the figures of a run beside the last ones that were kept, and draws them. Each figure is a
// ratio within one run, or it has its unit beside it.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { verdictOn, type Figure } from './report.ts';

const KEPT = new URL('./results.json', import.meta.url);
const PLOT = new URL('./results.svg', import.meta.url);
/** Two runs of the same code differ by less, on a machine that does nothing else. */
const NOISE = 0.1;

/** Name of a figure → what was measured, and on which day. */
type Kept = Record<string, { readonly value: number; readonly day: string }>;

/** Prints the table and names what became worse. With `save`, keeps the figures and the plot. */
export async function reportResults(
  figures: readonly Figure[],
  { save }: { readonly save: boolean },
): Promise<void> {
  const kept = JSON.parse(await readFile(KEPT, 'utf8').catch(() => '{}')) as Kept;
  const rows = figures.map((figure) => {
    const last = kept[figure.name];
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
  const now: Kept = Object.fromEntries(figures.map(({ name, value }) => [name, { value, day }]));
  await writeFile(KEPT, `${JSON.stringify({ ...kept, ...now }, null, 2)}\n`);
  await writeFile(PLOT, plot(rows));
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

interface Row extends Figure {
  readonly last: number | null;
}

/** A bar for each figure: how far it is from its target. The mark is the last figure. */
function plot(rows: readonly Row[]): string {
  const placeOf = ({ target }: Figure, value: number): number => {
    const share = target.better === 'more' ? value / target.limit : target.limit / value;
    return LABELS + (BARS * Math.min(END, share)) / END;
  };
  const lines = rows.flatMap((row, number) => {
    const y = ROW * (number + 1);
    const color = row.target.isMet(row.value) ? '#2a7d4f' : '#b3541e';
    const bar = placeOf(row, row.value) - LABELS;
    const mark = row.last === null ? null : placeOf(row, row.last);
    return [
      `<text x="${LABELS - 10}" y="${y + 15}" text-anchor="end">${escape(row.name)}</text>`,
      `<rect x="${LABELS}" y="${y + 4}" width="${bar.toFixed(1)}" height="14" fill="${color}"/>`,
      mark === null ? '' : `<path d="M${mark.toFixed(1)} ${y + 1}v20" stroke="#222"/>`,
      `<text x="${LABELS + BARS + 10}" y="${y + 15}">${row.value.toFixed(2)}</text>`,
    ];
  });
  const height = ROW * (rows.length + 2);
  const goal = LABELS + BARS / END;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${LABELS + BARS + 80}" height="${height}"`,
    '  font-family="sans-serif" font-size="12">',
    '<rect width="100%" height="100%" fill="#fff"/>',
    `<text x="${goal}" y="15" text-anchor="middle">target</text>`,
    ...lines.filter((line) => line !== ''),
    `<path d="M${goal} ${ROW}V${height - ROW}" stroke="#222" stroke-dasharray="4 3"/>`,
    '</svg>',
    '',
  ].join('\n');
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
