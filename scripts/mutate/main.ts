/**
 * `npm run mutate`: how much the tests would notice. It makes one small mistake at a time in the rules
 * (TypeScript) and in the statements of the stores (SQL), and runs the tests that reach it. A mutant
 * that fails a test is killed; the others are listed, for each is a bug that nobody would see.
 *
 *   1. Every test file runs without a mutant: which mutants and statements does it reach, and how long
 *      does it take? That is kept until the file or a mutated file that it reaches changes.
 *   2. Every mutant runs with the test files that reach it, the fastest first, until one fails. Many
 *      mutants share one run of Vitest (worker.ts) and one instrumented copy of the code
 *      (code-mutants.ts); mutated SQL takes the place of a statement's text on its way to Postgres.
 *   3. Results are kept in .mutate/ and hold until the mutated function or statement, or the tests that
 *      decided, change. Mutants that are no mistake are named in equivalent.json, with the reason.
 *
 * `--only src/core` (a path), `--only sql`, `--only code`; `--sample 50 --seed 7`; `--workers 2`;
 * `--tests 'test/rules/*.test.ts'` tries no others; `--fresh` forgets what was kept. Tests that start processes see no mutants, so they are left out.
 */
import '../../src/node-version.ts';
import { globSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadModule } from 'libpg-query';
import { declarationOf, hash, readCode, readDeclarations, sqlMutants, type Mutant } from './mutants.ts';
import { readEquivalent, readKept, report, writeKept, type Coverage, type Kept, type Result } from './report.ts';
import { openSession, type Ended, type Session } from './session.ts';
import type { Pass } from './worker.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    sample: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '1' },
    tests: { type: 'string', default: 'test/**/*.test.ts' },
    fresh: { type: 'boolean', default: false },
  },
});

/** Tests of processes, which see no mutant; and random requests, which kill one by chance. */
const LEFT_OUT = ['test/{skeleton,races,browser}/**', 'test/contract/fuzz.test.ts'];
const NO_MUTANT: Pass = { code: null, sql: {} };
/** So many mutants run in one process; all of them have their modules in its memory. */
const PASSES_PER_RUN = 12;

await loadModule();
const kept: Kept = options.fresh ? { coverage: {}, results: {} } : readKept();
const code = readCode();
const declarations = readDeclarations();
const support = hash(
  globSync('test/**/*.ts', { exclude: ['**/*.test.ts'] })
    .toSorted()
    .map(read)
    .join('\0'),
);
const testFiles = globSync(options.tests, { exclude: LEFT_OUT }).toSorted();
const workers = Number(options.workers);

const session = await openSession(code.texts, { workers });
try {
  await recordCoverage(session);
  const texts = new Map(testFiles.flatMap((file) => Object.entries(kept.coverage[file]?.statements ?? {})));
  const unused = neverRun(new Set(texts.keys()));
  const all = [...code.mutants, ...sqlMutants(declarations, texts), ...unused];
  const chosen = choose(all);
  await tryMutants(session, chosen);
  const text = report(chosen, kept.results, { equivalent: readEquivalent(), all });
  console.log(text);
} finally {
  await session.close();
}
process.exit(0);

async function recordCoverage({ run }: Session): Promise<void> {
  const isCurrent = (file: string): boolean => {
    const known = kept.coverage[file];
    return (
      known?.hash === hashOfTest(file) && Object.entries(known.sources).every(([source, was]) => was === hashOf(source))
    );
  };
  const open = testFiles.filter((file) => !isCurrent(file));
  for (let at = 0; at < open.length; at += workers) {
    const files = open.slice(at, at + workers);
    const outcomes = await run(Object.fromEntries(files.map((file) => [file, [NO_MUTANT]])));
    for (const file of files) {
      const [outcome] = outcomes[file] ?? [];
      if (outcome?.kind !== 'ended' || outcome.end.failed !== null) {
        const test = outcome?.kind === 'ended' ? outcome.end.failed : 'hung';
        delete kept.coverage[file];
        console.log(`left out, because it fails without a mutant: ${file}: ${test}`);
        continue;
      }
      kept.coverage[file] = coverageOf(file, outcome.end);
      console.log(`${file}: ${Math.round(outcome.end.ms)} ms`);
    }
    writeKept(kept);
  }
}

function coverageOf(file: string, { statements, ms, ...end }: Ended): Coverage {
  const reached = end.reached.flatMap((number) => code.mutants[number]?.id ?? []);
  const stores = Object.keys(statements).flatMap((name) => declarationOf(declarations, name)?.file ?? []);
  const files = new Set([...reached.map((id) => id.split(' › ')[0] ?? ''), ...stores]);
  const sources = Object.fromEntries([...files].map((source) => [source, hashOf(source)]));
  return { hash: hashOfTest(file), sources, reached, statements, ms, isRepeatable: null };
}

/** Statements that no test runs; each counts as one mutant. */
function neverRun(names: ReadonlySet<string>): Mutant[] {
  const used = new Set([...names].map((name) => declarationOf(declarations, name)));
  return declarations
    .filter((declaration) => !used.has(declaration))
    .map(({ file, line, name }) => {
      return {
        id: `${file} › ${name} › never run`,
        file,
        line,
        context: '',
        pass: { code: null, sql: { [name]: '' } },
      };
    });
}

function choose(all: readonly Mutant[]): Mutant[] {
  const { only } = options;
  const isWanted = ({ pass, file }: Mutant): boolean => {
    if (only === 'sql') return pass.code === null;
    return only === 'code' ? pass.code !== null : file.startsWith(only);
  };
  const wanted = all.filter(isWanted);
  if (!options.sample) return wanted;
  const order = (mutant: Mutant): string => hash(options.seed + mutant.id);
  return wanted.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).slice(0, Number(options.sample));
}

async function tryMutants(session: Session, mutants: readonly Mutant[]): Promise<void> {
  const candidates = candidatesOf(mutants);
  for (const mutant of mutants) {
    if (isDecided(mutant, candidates.get(mutant) ?? [])) candidates.delete(mutant);
    else if (candidates.get(mutant)?.length === 0) decide(mutant, 'not covered', null, []);
  }
  const left = new Map([...candidates].filter(([, files]) => files.length > 0));
  const tried = new Map<Mutant, string[]>();
  const startedWith = left.size;
  while (left.size > 0) {
    const groups = [...Map.groupBy(left.keys(), (mutant) => left.get(mutant)?.[0] ?? '')];
    const largest = groups.toSorted(([, a], [, b]) => b.length - a.length).slice(0, workers);
    const batches = await runBatches(session, largest);
    for (const { file, batch, outcomes } of batches) {
      batch.forEach((mutant, place) => {
        const outcome = outcomes[place];
        if (!outcome || outcome.kind === 'open') return;
        const files = [...(tried.get(mutant) ?? []), file];
        tried.set(mutant, files);
        const remaining = (left.get(mutant) ?? []).slice(1);
        left.set(mutant, remaining);
        const isKilled = outcome.kind === 'hung' || outcome.end.failed !== null;
        if (!isKilled && remaining.length > 0) return;
        left.delete(mutant);
        if (!isKilled) return decide(mutant, 'survived', null, files);
        const isSlow = outcome.kind === 'hung' || outcome.end.timedOut;
        const test = outcome.kind === 'hung' ? 'hung' : outcome.end.failed;
        decide(mutant, isSlow ? 'timeout' : 'killed', `${file}: ${test}`, [file]);
      });
    }
    writeKept(kept);
    console.log(
      `${startedWith - left.size}/${startedWith} ${batches.map(({ file, batch }) => `${file} ×${batch.length}`).join(', ')}`,
    );
  }
}

/**
 * One batch for each test file. The first batch of a file ends with a pass without a mutant: when that fails, the
 * file cannot run twice in a process, so only the first pass of the batch counts, and later batches have one each.
 */
async function runBatches({ run }: Session, groups: readonly (readonly [string, readonly Mutant[]])[]) {
  const batches = groups.map(([file, waiting]) => {
    const isRepeatable = kept.coverage[file]?.isRepeatable ?? null;
    const batch = waiting.slice(0, isRepeatable === false ? 1 : PASSES_PER_RUN);
    return { file, batch, isChecked: isRepeatable === null && batch.length > 1 };
  });
  const passesOf = ({ batch, isChecked }: (typeof batches)[number]): Pass[] => [
    ...batch.map(({ pass }) => pass),
    ...(isChecked ? [NO_MUTANT] : []),
  ];
  const outcomes = await run(Object.fromEntries(batches.map((each) => [each.file, passesOf(each)])));
  return batches.map(({ file, batch, isChecked }) => {
    const list = outcomes[file] ?? [];
    const check = isChecked ? list[batch.length] : undefined;
    const known = kept.coverage[file];
    if (!check || check.kind === 'open' || !known) return { file, batch, outcomes: list };
    const isRepeatable = check.kind === 'ended' && check.end.failed === null;
    kept.coverage[file] = { ...known, isRepeatable };
    return { file, batch: isRepeatable ? batch : batch.slice(0, 1), outcomes: list };
  });
}

/** The test files that reach each mutant: those first that are fast and reach little else. */
function candidatesOf(mutants: readonly Mutant[]): Map<Mutant, string[]> {
  const files = testFiles.flatMap((file) => {
    const known = kept.coverage[file];
    return known ? [{ file, known, reached: new Set(known.reached) }] : [];
  });
  const cost = ({ ms, reached }: Coverage): number => ms * (1 + reached.length / 200);
  files.sort((a, b) => cost(a.known) - cost(b.known));
  const reaches = ({ id, pass }: Mutant, { known, reached }: (typeof files)[number]): boolean =>
    pass.code === null ? Object.keys(pass.sql).some((name) => known.statements[name] !== undefined) : reached.has(id);
  return new Map(
    mutants.map((mutant) => [mutant, files.filter((each) => reaches(mutant, each)).map(({ file }) => file)]),
  );
}

/** A killed mutant stays so while its killer stays; a survivor, while no test that reaches it is new or changed. */
function isDecided({ id, context }: Mutant, reaching: readonly string[]): boolean {
  const known = kept.results[id];
  if (known?.context !== context) return false;
  const isKilled = known.verdict === 'killed' || known.verdict === 'timeout';
  const files = isKilled ? Object.keys(known.tests) : reaching;
  return files.length > 0 && files.every((file) => known.tests[file] === hashOfTest(file));
}

function decide(
  { id, context }: Mutant,
  verdict: Result['verdict'],
  by: string | null,
  files: readonly string[],
): void {
  const tests = Object.fromEntries(files.map((file) => [file, hashOfTest(file)]));
  kept.results[id] = { verdict, by, context, tests };
}

function hashOfTest(file: string): string {
  return hash(support + hashOf(file));
}

function hashOf(file: string): string {
  return hash(read(file));
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
