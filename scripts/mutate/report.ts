// What is kept between runs (.mutate/), and what people read.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Mutant } from './mutants.ts';
import type { Ended } from './worker.ts';

export interface Result {
  /** Open: more tests are to be tried. */
  readonly verdict: 'killed' | 'timeout' | 'survived' | 'not covered' | 'open';
  /** The test that failed, with its file. */
  readonly by: string | null;
  readonly context: string;
  /** Test files that decided it, with their hashes. */
  readonly tests: Readonly<Record<string, string>>;
  /** Of a mutant that lives: all that reach it, whether they were tried or not. */
  readonly reaching: readonly string[];
}

/** What a test file does without a mutant. A place is an index of `tests`, or see worker.ts. */
export interface Coverage {
  readonly hash: string;
  /** Files with mutants that it reaches, with their hashes. */
  readonly sources: Readonly<Record<string, string>>;
  readonly tests: Ended['tests'];
  /** What it takes beside its tests. */
  readonly setupMs: number;
  /** Mutant id → places. */
  readonly reached: Readonly<Record<string, readonly number[]>>;
  readonly statements: Ended['statements'];
  /** How it passes again in one process. In any order: a test may run without the others. */
  readonly runs: 'once' | 'in order' | 'in any order';
}

export interface Kept {
  coverage: Record<string, Coverage>;
  results: Record<string, Result>;
}

const KEPT = '.mutate/kept.json';
const REPORT = '.mutate/report.md';
const EQUIVALENT = 'scripts/mutate/equivalent.json';

export function readKept(): Kept {
  try {
    return JSON.parse(readFileSync(KEPT, 'utf8')) as Kept;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { coverage: {}, results: {} };
    throw error;
  }
}

export function writeKept(kept: Kept): void {
  mkdirSync(dirname(KEPT), { recursive: true });
  writeFileSync(KEPT, JSON.stringify(kept));
}

/** Mutant id → why nobody could tell it from the original. */
export function readEquivalent(): Record<string, string> {
  return JSON.parse(readFileSync(EQUIVALENT, 'utf8')) as Record<string, string>;
}

/** The report as text; it is written to .mutate/report.md, too. */
export function report(
  mutants: readonly Mutant[],
  results: Readonly<Record<string, Result>>,
  { equivalent, all }: { equivalent: Readonly<Record<string, string>>; all: readonly Mutant[] },
): string {
  const tried = mutants.filter(({ id }) => results[id] && results[id].verdict !== 'open');
  const isKilled = ({ id }: Mutant): boolean => /killed|timeout/.test(results[id]?.verdict ?? '');
  const survivors = tried.filter(
    (mutant) => !isKilled(mutant) && equivalent[mutant.id] === undefined,
  );
  const rows = [...Map.groupBy(tried, ({ file }) => dirname(file)), ['all', tried] as const].map(
    ([folder, own]) => {
      const killed = own.filter(isKilled).length;
      const slow = own.filter(({ id }) => results[id]?.verdict === 'timeout').length;
      const left = own.filter((mutant) => survivors.includes(mutant));
      const uncovered = left.filter(({ id }) => results[id]?.verdict === 'not covered').length;
      const [survived, same] = [left.length - uncovered, own.length - killed - left.length];
      const score = `${((100 * killed) / Math.max(1, killed + left.length)).toFixed(1)} %`;
      return `| ${[folder, killed, slow, survived, uncovered, same, score].join(' | ')} |`;
    },
  );
  const text = [
    '| folder | killed | of these by timeout | survived | not covered | equivalent | score |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
    ...survivors.map(
      ({ id, line, file }) =>
        `${file}:${line} ${results[id]?.verdict}: ${id.slice(file.length + 3)}`,
    ),
    ...stale(all, results, equivalent).map((entry) => `stale in ${EQUIVALENT}: ${entry}`),
  ].join('\n');
  mkdirSync(dirname(REPORT), { recursive: true });
  writeFileSync(REPORT, `${text}\n`);
  return text;
}

/** Entries that name no mutant any more, or one that a test kills. */
export function stale(
  all: readonly Mutant[],
  results: Readonly<Record<string, Result>>,
  equivalent: Readonly<Record<string, string>>,
): string[] {
  const ids = new Set(all.map(({ id }) => id));
  return Object.keys(equivalent).filter(
    (id) => !ids.has(id) || /killed|timeout/.test(results[id]?.verdict ?? ''),
  );
}
