// Which test files run with which mutants, and what came of it.
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { declarationOf, hash, type Declaration, type Mutant } from './mutants.ts';
import { writeKept, type Coverage, type Kept, type Result } from './report.ts';
import type { Outcome, Session } from './session.ts';
import { AT_IMPORT, IN_HOOK, type Ended, type Pass } from './worker.ts';

export interface Campaign {
  readonly session: Session;
  readonly kept: Kept;
  readonly testFiles: readonly string[];
  /** Test files that run beside each other. */
  readonly workers: number;
  /** Tries a mutant with every test file that reaches it. */
  readonly isThorough: boolean;
  /** Begins no more then, as `performance.now()` says. */
  readonly endsAtMs: number;
}

/** So many mutants run in one process. Those with modules of their own need memory for them. */
const PASSES = { kept: 40, fresh: 10 };

/** A mutant survives so many of the likeliest test files, or all of them with `--thorough`. */
const TRIES = 6;
/** What a process and our modules take to begin. */
const PROCESS_MS = 3000;
const MODULES_MS = 1000;

const FIRST: Pass = { code: null, sql: {}, tests: null, isFresh: true };
const AGAIN: Pass = { ...FIRST, isFresh: false };
const REVERSED: Pass = { ...AGAIN, isReversed: true };

/**
 * Runs each new or changed test file without a mutant. `ids`: mutant number → id. Throws after the
 * last one if some fail: mutants that only these notice would count as survivors.
 */
export async function recordCoverage(
  { session, kept, testFiles, workers, endsAtMs }: Campaign,
  known: { readonly ids: readonly string[]; readonly declarations: readonly Declaration[] },
): Promise<void> {
  const red: string[] = [];
  const open = testFiles.filter((file) => !isCurrent(file, kept.coverage[file]));
  for (let at = 0; at < open.length && performance.now() < endsAtMs; at += workers) {
    const files = open.slice(at, at + workers);
    const reverse = await session.run(
      Object.fromEntries(files.map((file) => [file, [FIRST, REVERSED]])),
    );
    const suspects = files.filter(
      (file) => isGood(reverse[file]?.[0]) && !isGood(reverse[file]?.[1]),
    );
    const inOrder =
      suspects.length === 0
        ? {}
        : await session.run(Object.fromEntries(suspects.map((file) => [file, [FIRST, AGAIN]])));
    for (const file of files) {
      const [first, reversed] = reverse[file] ?? [];
      const again = isGood(reversed) ? reversed : inOrder[file]?.[1];
      delete kept.coverage[file];
      if (!isGood(first)) {
        red.push(`${file} ${failureOf(first)}`);
        continue;
      }
      const ms = isGood(again) ? again.end.ms : first.end.ms;
      const tests = durationsOf(first.end, isGood(again) ? again.end : first.end);
      const runs = !isGood(again) ? 'once' : isGood(reversed) ? 'in any order' : 'in order';
      kept.coverage[file] = coverageOf(file, { ...first.end, tests, ms }, { ...known, runs });
      const why =
        runs === 'once' ? failureOf(again) : runs === 'in order' ? failureOf(reversed) : '';
      console.log(`${file}: ${first.end.ms} ms, then ${ms} ms, ${runs} ${why}`);
    }
    writeKept(kept);
  }
  if (red.length === 0) return;
  throw new Error(
    `These test files fail without a mutant. Mend them, or name others by --tests.\n` +
      red.join('\n'),
  );
}

/** The tests in the order of the first run, with what they took in the second, which is warm. */
function durationsOf(first: Ended, second: Ended): Ended['tests'] {
  const warm = new Map(second.tests);
  return first.tests.map(([name, ms]) => [name, warm.get(name) ?? ms]);
}

function failureOf(outcome: Outcome | undefined): string {
  return outcome?.kind === 'ended' ? `(${outcome.end.failed}: ${outcome.end.why})` : '(hung)';
}

function isCurrent(file: string, known: Coverage | undefined): boolean {
  const isSame = ([source, was]: [string, string]): boolean => was === hashOf(source);
  return known?.hash === hashOfTest(file) && Object.entries(known.sources).every(isSame);
}

function isGood(outcome: Outcome | undefined): outcome is Outcome & { kind: 'ended' } {
  return outcome?.kind === 'ended' && outcome.end.failed === null;
}

function coverageOf(
  file: string,
  { tests, ms, statements, ...end }: Ended,
  known: { ids: readonly string[]; declarations: readonly Declaration[]; runs: Coverage['runs'] },
): Coverage {
  const reached = Object.entries(end.reached).map(
    ([number, places]) => [known.ids[Number(number)] ?? '', places] as const,
  );
  const stores = Object.keys(statements).flatMap(
    (name) => declarationOf(known.declarations, name)?.file ?? [],
  );
  const files = new Set([...reached.map(([id]) => id.split(' › ')[0] ?? ''), ...stores]);
  const testsMs = tests.reduce((sum, [, testMs]) => sum + testMs, 0);
  return {
    hash: hashOfTest(file),
    sources: Object.fromEntries([...files].map((source) => [source, hashOf(source)])),
    tests,
    setupMs: Math.max(100, ms - testsMs),
    reached: Object.fromEntries(reached),
    statements,
    runs: known.runs,
  };
}

/** A mutant that is to be tried with a test file. */
interface Trial {
  readonly pass: Pass;
  readonly costMs: number;
  /** How many of its kind share a process. */
  readonly limit: number;
}

/** Tries each mutant until a test fails, or none is left that reaches it. */
export async function tryMutants(campaign: Campaign, mutants: readonly Mutant[]): Promise<void> {
  const { session, kept, workers, isThorough, endsAtMs } = campaign;
  const triesMax = isThorough ? Infinity : TRIES;
  const left = new Map<Mutant, Map<string, Trial>>();
  const tried = new Map<Mutant, string[]>();
  const reaching = new Map<Mutant, string[]>();
  for (const mutant of mutants) {
    const trials = trialsOf(campaign, mutant);
    reaching.set(mutant, [...trials.keys()]);
    if (trials.size === 0) {
      decide(kept, mutant, { verdict: 'not covered', by: null, files: [], reaching: [] });
      continue;
    }
    const valid = stillValid(kept, mutant);
    const all = [...trials.keys()];
    const isOpen = !isDecided(kept, mutant, { trials, triesMax });
    if (isOpen) left.set(mutant, trials);
    if (isOpen || valid.length > 0) {
      decide(kept, mutant, {
        verdict: isOpen ? 'open' : 'survived',
        by: null,
        files: valid,
        reaching: all,
      });
    }
    tried.set(mutant, valid);
    for (const file of valid) trials.delete(file);
  }
  const likely = createOdds();
  const count = left.size;
  while (left.size > 0 && performance.now() < endsAtMs) {
    const batches = chooseBatches(left, workers, likely.of);
    const passes = batches.map(
      ({ file, batch }) =>
        [file, batch.flatMap((mutant) => left.get(mutant)?.get(file)?.pass ?? [])] as const,
    );
    const startedAtMs = performance.now();
    const outcomes = await session.run(Object.fromEntries(passes));
    for (const { file, batch } of batches) {
      batch.forEach((mutant, place) => {
        const outcome = outcomes[file]?.[place];
        const trials = left.get(mutant);
        if (!outcome || outcome.kind === 'open' || !trials) return;
        const files = [...(tried.get(mutant) ?? []), file];
        tried.set(mutant, files);
        trials.delete(file);
        likely.learn(file, mutant, !isGood(outcome));
        const isGivenUp = trials.size === 0 || files.length >= triesMax;
        if (isGivenUp || !isGood(outcome)) left.delete(mutant);
        const verdict = isGivenUp ? 'survived' : 'open';
        if (isGood(outcome))
          decide(kept, mutant, { verdict, by: null, files, reaching: reaching.get(mutant) ?? [] });
        else decide(kept, mutant, verdictOf(file, outcome));
      });
    }
    writeKept(kept);
    const seconds = Math.round((performance.now() - startedAtMs) / 1000);
    const ran = batches.map(({ file, batch }) => `${file} ×${batch.length}`);
    console.log(`${count - left.size}/${count} ${ran.join(', ')} (${seconds} s)`);
  }
}

function verdictOf(file: string, outcome: Outcome): Verdict {
  const isEnded = outcome.kind === 'ended';
  const verdict = isEnded && !outcome.end.timedOut ? 'killed' : 'timeout';
  return {
    verdict,
    by: `${file}: ${isEnded ? outcome.end.failed : 'hung'}`,
    files: [file],
    reaching: [],
  };
}

/** The test files that reach a mutant, with the tests that do. */
function trialsOf(
  { kept, testFiles, isThorough }: Campaign,
  { id, on }: Mutant,
): Map<string, Trial> {
  const trials = new Map<string, Trial>();
  for (const file of testFiles) {
    const known = kept.coverage[file];
    if (!known) continue;
    const { reached, statements, tests, setupMs, runs } = known;
    const places =
      on.code === null
        ? Object.keys(on.sql).flatMap((name) => statements[name]?.places ?? [])
        : (reached[id] ?? []);
    if (places.length === 0) continue;
    const isFresh = places.includes(AT_IMPORT) || runs === 'once';
    // What a hook prepared with it, the tests that run it themselves are the likeliest to notice.
    const isWhole =
      isFresh || places.every((place) => place < 0) || (isThorough && places.includes(IN_HOOK));
    const last = Math.max(...places);
    const isReaching = (place: number): boolean =>
      runs === 'in order' ? place <= last : places.includes(place);
    const ran = isWhole ? tests : tests.filter((_test, place) => isReaching(place));
    const pass = { ...on, tests: isWhole ? null : ran.map(([name]) => name), isFresh };
    const testsMs = ran.reduce((sum, [, ms]) => sum + ms, 0);
    const limit = runs === 'once' ? 1 : isFresh ? PASSES.fresh : PASSES.kept;
    trials.set(file, { pass, costMs: setupMs + testsMs + (isFresh ? MODULES_MS : 0), limit });
  }
  return trials;
}

type Odds = (file: string, mutant: Mutant) => number;

/**
 * How likely a test file kills a mutant: at first by its name, or by what it did with all mutants;
 * then by what it did with others of the same source file.
 */
function createOdds(): {
  of: Odds;
  learn: (file: string, mutant: Mutant, isKilled: boolean) => void;
} {
  const seen = new Map<string, { tries: number; kills: number }>();
  const get = (key: string) => {
    const known = seen.get(key) ?? { tries: 0, kills: 0 };
    seen.set(key, known);
    return known;
  };
  return {
    of: (file, mutant) => {
      const [anywhere, here] = [get(file), get(`${file} ${mutant.file}`)];
      const first = isNamesake(file, mutant.file)
        ? 0.75
        : (anywhere.kills + 1) / (anywhere.tries + 8);
      return (here.kills + 4 * first) / (here.tries + 4);
    },
    learn: (file, mutant, isKilled) => {
      for (const known of [get(file), get(`${file} ${mutant.file}`)]) {
        known.tries += 1;
        known.kills += isKilled ? 1 : 0;
      }
    },
  };
}

/** Such as test/features/platform-cases.test.ts and src/features/cases/store.ts. */
function isNamesake(testFile: string, source: string): boolean {
  const words = new Set(basename(testFile, '.test.ts').split('-').map(stem));
  const path = source.replace(/\.ts$/, '').split(/[/-]/).map(stem);
  return path.some((word) => !COMMON.has(word) && words.has(word));
}

const COMMON: ReadonlySet<string> = new Set(
  'src core feature rule store platform admin service http'.split(' '),
);

/** Without the plural. */
function stem(word: string): string {
  return word.replace(/(?<=...)s$/, '');
}

/** For each worker a test file, and the mutants for which it is the best choice, or nearly so. */
function chooseBatches(
  left: ReadonlyMap<Mutant, ReadonlyMap<string, Trial>>,
  workers: number,
  odds: Odds,
) {
  const groups = new Map<
    string,
    { file: string; limit: number; batch: Mutant[]; kills: number; costMs: number }
  >();
  for (const [mutant, trials] of left) {
    const worth = [...trials].map(([file, trial]) => ({
      file,
      trial,
      worth: odds(file, mutant) / trial.costMs,
    }));
    const best = Math.max(...worth.map((each) => each.worth));
    for (const { file, trial, worth: own } of worth) {
      if (own < best * 0.6) continue;
      const key = `${file} ${trial.pass.isFresh}`;
      const group = groups.get(key) ?? {
        file,
        limit: trial.limit,
        batch: [],
        kills: 0,
        costMs: PROCESS_MS,
      };
      if (group.batch.push(mutant) <= trial.limit) {
        group.kills += odds(file, mutant);
        group.costMs += trial.costMs;
      }
      groups.set(key, group);
    }
  }
  const chosen: { file: string; batch: Mutant[] }[] = [];
  const taken = new Set<Mutant>();
  for (const { file, limit, batch } of [...groups.values()].toSorted(
    (a, b) => b.kills / b.costMs - a.kills / a.costMs,
  )) {
    if (chosen.length === workers) break;
    if (chosen.some((each) => each.file === file)) continue;
    const own = batch.filter((mutant) => !taken.has(mutant)).slice(0, limit);
    for (const mutant of own) taken.add(mutant);
    if (own.length > 0) chosen.push({ file, batch: own });
  }
  return chosen;
}

/** Killed: while the killer stays. Survived: until a test that reaches it is new or changed. */
function isDecided(
  kept: Kept,
  mutant: Mutant,
  { trials, triesMax }: { readonly trials: ReadonlyMap<string, Trial>; readonly triesMax: number },
): boolean {
  const known = kept.results[mutant.id];
  if (known?.verdict === 'killed' || known?.verdict === 'timeout') {
    const isSame = ([file, was]: [string, string]): boolean => was === hashOfTest(file);
    return known.context === mutant.context && Object.entries(known.tests).every(isSame);
  }
  const valid = new Set(stillValid(kept, mutant));
  const untried = [...trials.keys()].filter((file) => !valid.has(file));
  return (
    untried.length === 0 ||
    (valid.size >= triesMax && untried.every((file) => known?.reaching.includes(file)))
  );
}

/** Test files that are known not to kill it. */
function stillValid(kept: Kept, { id, context }: Mutant): string[] {
  const known = kept.results[id];
  if (known?.context !== context || !/survived|open/.test(known.verdict)) return [];
  return Object.entries(known.tests).flatMap(([file, was]) =>
    was === hashOfTest(file) ? file : [],
  );
}

interface Verdict extends Pick<Result, 'verdict' | 'by' | 'reaching'> {
  readonly files: readonly string[];
}

function decide(
  kept: Kept,
  { id, context }: Mutant,
  { verdict, by, files, reaching }: Verdict,
): void {
  const tests = Object.fromEntries(files.map((file) => [file, hashOfTest(file)]));
  kept.results[id] = { verdict, by, context, tests, reaching };
}

/** Of all that test files share; a change there makes every one of them count as changed. */
const support = hash(
  globSync('test/**/*.ts', { exclude: ['**/*.test.ts'] })
    .toSorted()
    .map(read)
    .join('\0'),
);

function hashOfTest(file: string): string {
  return hash(support + hashOf(file));
}

const hashes = new Map<string, string>();

/** Files do not change during a campaign, as far as it is concerned. */
function hashOf(file: string): string {
  const known = hashes.get(file) ?? hash(read(file));
  hashes.set(file, known);
  return known;
}

/** Nothing for a file that is gone. */
function read(file: string): string {
  return globSync(file).length > 0 ? readFileSync(file, 'utf8') : '';
}
