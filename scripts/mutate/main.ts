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
 * Options: `--only src/core` (a path), `--only sql`, `--only code`, or a kind and paths together
 * (`--only sql --only src/features/cases`); `--sample 50 --seed 7`;
 * `--workers 2`; `--tests 'test/rules/*.test.ts'` tries no others; `--thorough` tries every test
 * file that reaches a mutant; `--fresh` forgets what was kept; `--report` prints what is known.
 * Tests that start processes see no mutants, so they are left out.
 */
import '../../src/runtime/node-version.ts';
import { globSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadModule } from 'libpg-query';
import { recordCoverage, tryMutants } from './campaign.ts';
import { hash, neverRun, readCode, readDeclarations, sqlMutants, type Mutant } from './mutants.ts';
import { readEquivalent, readKept, report, type Kept } from './report.ts';
import { openSession } from './session.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '1' },
    tests: { type: 'string', default: 'test/**/*.test.ts' },
    thorough: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
  },
});

/** Tests of processes, which see no mutant; and random requests, which kill one by chance. */
const LEFT_OUT = ['test/{skeleton,races,browser}/**', 'test/contract/fuzz.test.ts'];

await loadModule();
const kept: Kept = options.fresh ? { coverage: {}, results: {} } : readKept();
const code = readCode();
const declarations = readDeclarations();
const testFiles = globSync(options.tests, { exclude: LEFT_OUT }).toSorted();

if (!options.report) {
  const workers = Number(options.workers);
  const session = await openSession(code.texts, { workers });
  const campaign = { session, kept, testFiles, workers, isThorough: options.thorough };
  try {
    await recordCoverage(campaign, { ids: code.mutants.map(({ id }) => id), declarations });
    await tryMutants(campaign, choose(allMutants()));
  } finally {
    await session.close();
  }
}
const all = allMutants();
console.log(report(choose(all), kept.results, { equivalent: readEquivalent(), all }));
process.exit(0);

function allMutants(): Mutant[] {
  const statements = testFiles.flatMap((file) =>
    Object.entries(kept.coverage[file]?.statements ?? {}),
  );
  const texts = new Map(statements.map(([name, { text }]) => [name, text]));
  return [
    ...code.mutants,
    ...sqlMutants(declarations, texts),
    ...neverRun(declarations, texts.keys()),
  ];
}

function choose(mutants: readonly Mutant[]): Mutant[] {
  const { only, seed, sample } = options;
  const paths = only.filter((each) => each !== 'sql' && each !== 'code');
  const isWanted = ({ on, file }: Mutant): boolean => {
    if (only.includes(on.code === null ? 'code' : 'sql')) return false;
    return paths.length === 0 || paths.some((path) => file.startsWith(path));
  };
  const wanted = mutants.filter(isWanted);
  if (sample === undefined) return wanted;
  const order = (mutant: Mutant): string => hash(seed + mutant.id);
  return wanted.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).slice(0, Number(sample));
}
