/**
 * `npm run mutate` shows which small bugs the tests would miss. It makes one small mistake at a
 * time in the rules (TypeScript) and in the statements of the stores (SQL), and runs the tests that
 * reach it. A mutant that fails a test is killed. The others are listed.
 *
 *   1. Every test file runs twice without a mutant: which mutants and statements does each of its
 *      tests reach, and does the file pass in reverse order in the same process? Only then may a
 *      mutant run with a few of its tests. This is kept until the file, or a mutated file that it
 *      reaches, changes.
 *   2. Every mutant runs with the tests that reach it, until one fails or six test files passed.
 *      Files that are fast and likely to fail come first. Many mutants share a process
 *      (worker.ts), one Vitest and one Postgres (session.ts), and one instrumented copy of the
 *      code (code-mutants.ts). Mutated SQL (sql-mutants.ts) replaces a statement's text on its
 *      way to Postgres, so the code under test knows nothing of all this.
 *   3. Results are kept in .mutate/ until the mutated function or statement, or the tests that
 *      decided, change. A run that is interrupted goes on where it was. Mutants that change nothing
 *      are named in equivalent.json, with the reason.
 *
 * Options: `--only src/core` (a path), `--only sql`, `--only code`, `--only reads` (of
 * statements that write nothing), `--only writes`, or a kind and paths together (`--only sql --only
 * src/features/cases`); `--minutes 4` stops then, and the next run goes on; `--sample 50 --seed 7`;
 * `--workers 2`; `--tests 'test/rules/*.test.ts'` tries no others; `--thorough` tries every test
 * file that reaches a mutant; `--fresh` forgets what was kept; `--report` prints what is known.
 * An entry of equivalent.json that names no mutant, or one that a test kills, is an error. So is a
 * test file that fails without a mutant: what only that notices would count as a survivor.
 * Tests that start processes see no mutants, so they are left out.
 */
import '../../src/runtime/node-version.ts';
import { globSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { recordCoverage, tryMutants } from './campaign.ts';
import {
  hash,
  readCode,
  readDeclarations,
  readStatements,
  sqlMutants,
  type Mutant,
} from './mutants.ts';
import { readEquivalent, readKept, report, stale, type Kept } from './report.ts';
import { openSession } from './session.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    sample: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '1' },
    tests: { type: 'string', default: 'test/**/*.test.ts' },
    thorough: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
  },
});

/** What `--only` may name besides paths. */
const KINDS: Readonly<Partial<Record<string, readonly Mutant['kind'][]>>> = {
  code: ['code'],
  sql: ['read', 'write'],
  reads: ['read'],
  writes: ['write'],
};

/** Tests of processes, which see no mutant; random requests, which kill one by chance; and what
 * samples in other files repeat in full. */
const LEFT_OUT = [
  'test/{skeleton,races,browser}/**',
  'test/**/*.heavy.test.ts',
  'test/contract/fuzz.test.ts',
];

const kept: Kept = options.fresh ? { coverage: {}, results: {} } : readKept();
const code = readCode();
const declarations = readDeclarations();
const all = [...code.mutants, ...sqlMutants(declarations, await readStatements(declarations))];
const testFiles = globSync(options.tests, { exclude: LEFT_OUT }).toSorted();

if (!options.report) {
  const workers = Number(options.workers);
  const session = await openSession(code.texts, { workers });
  const endsAtMs = performance.now() + Number(options.minutes ?? Infinity) * 60_000;
  const isThorough = options.thorough;
  const campaign = { session, kept, testFiles, workers, isThorough, endsAtMs };
  try {
    await recordCoverage(campaign, { ids: code.mutants.map(({ id }) => id), declarations });
    await tryMutants(campaign, choose(all));
  } finally {
    await session.close();
  }
}
const equivalent = readEquivalent();
console.log(report(choose(all), kept.results, { equivalent, all }));
process.exit(stale(all, kept.results, equivalent).length > 0 ? 1 : 0);

function choose(mutants: readonly Mutant[]): Mutant[] {
  const { only, seed, sample } = options;
  const kinds = only.flatMap((each) => KINDS[each] ?? []);
  const paths = only.filter((each) => KINDS[each] === undefined);
  const isWanted = ({ kind, file }: Mutant): boolean => {
    if (kinds.length > 0 && !kinds.includes(kind)) return false;
    return paths.length === 0 || paths.some((path) => file.startsWith(path));
  };
  const wanted = mutants.filter(isWanted);
  if (sample === undefined) return wanted;
  const order = (mutant: Mutant): string => hash(seed + mutant.id);
  return wanted.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).slice(0, Number(sample));
}
