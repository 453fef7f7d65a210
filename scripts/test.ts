// `npm test` runs the static checks beside the tests. With arguments (a file, -t NAME …)
// it runs only the tests. `--heavy` runs the suites that want the machine to themselves, `--plain`
// those that hold for both ways to speak with Postgres, with the plain one. Failures
// are named again at the end, because the start of a long output may be lost. The last line is
// `N passed, N failed, N skipped`; a static check that fails counts as one failed. With TEST_UNTIL
// (seconds since 1970) no test begins later; the files that this leaves out are named.
import '../src/runtime/node-version.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { ALONE, HEAVY } from '../test/heavy.ts';
import type { Outcome } from '../test/outcome.ts';

type Counts = Pick<Outcome, 'passed' | 'failed' | 'skipped'>;

const root = join(import.meta.dirname, '..');
/** Compiled code, which the many processes that the tests start would otherwise make again. */
const COMPILED = join(root, 'node_modules/.cache/compiled');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
const NONE: Counts = { passed: 0, failed: 0, skipped: 0 };
/** Each with what ends it at a signal. */
const running = new Map<ChildProcess, (signal: NodeJS.Signals) => void>();
const failures: string[] = [];
/** Files that ended before all of their tests had begun, because the time was over. */
const unfinished: string[] = [];

/**
 * One checker: each of the usual four works out the types of zod and tRPC for itself. Together they
 * need twice the processor time (45 s instead of 20), which the tests beside them want.
 */
const TSC = ['node_modules/typescript-native/bin/tsc', '--checkers', '1', '-p'];

/** All are JavaScript programs, run by this Node, so that they do not depend on PATH. */
const checks: ReadonlyArray<{ name: string; args: readonly string[] }> = [
  {
    name: 'format',
    args: [bin('oxfmt'), '--check', 'src', 'scripts', 'test', 'prisma'],
  },
  {
    name: 'lint',
    args: [bin('oxlint'), '--disable-nested-config', '--deny-warnings'],
  },
  { name: 'types', args: [...TSC, '.'] },
  { name: 'types of the admin page', args: [...TSC, 'src/admin-ui'] },
  { name: 'imports', args: ['test/checks/imports.ts'] },
  { name: 'lines', args: ['test/checks/width.ts'] },
  { name: 'unused code', args: [bin('knip'), '--no-config-hints'] },
];

/** Whoever stops the command wants none of the runs that would follow. */
let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isStopped = true;
    for (const stop of running.values()) stop(signal);
  });
}

const given = process.argv.slice(2);
const isHeavy = given.includes('--heavy');
const isOnCitus = given.includes('--citus');
const isPlain = given.includes('--plain');
const args = given.filter((arg) => !['--heavy', '--citus', '--plain'].includes(arg));
const misplaced = isHeavy || isOnCitus || isPlain ? [] : args.filter(isOnlyHeavy);
for (const arg of misplaced) failures.push(`${arg}: run it with "npm run test:heavy -- ${arg}"`);
// The tests wait now and then, for a clock or a server. The checks compute meanwhile.
const [failedChecks, tests] = await Promise.all([
  given.length > 0 ? 0 : runChecks(),
  misplaced.length > 0 ? NONE : runSuites(),
]);
const failed = tests.failed + failedChecks + misplaced.length;
if (failed > 0) process.exitCode = 1;
for (const file of unfinished) console.log(`- not run to its end, the time was over: ${file}`);
for (const failure of failures) console.log(`✗ ${failure}`);
console.log(`${tests.passed} passed, ${failed} failed, ${tests.skipped} skipped`);

/** Whether the argument names files, and `npm test` runs none of them. */
function isOnlyHeavy(arg: string, index: number): boolean {
  // What follows `-t` is part of a test's name.
  if (arg.startsWith('-') || args[index - 1]?.startsWith('-')) return false;
  const named = globSync('test/**/*.test.ts', { cwd: root }).filter((file) => file.includes(arg));
  return (
    named.length > 0 &&
    named.every((file) => [...HEAVY, ...ALONE].some((glob) => matchesGlob(file, glob)))
  );
}

/** Resolves with how many failed. Prints the output of a check when it ends, so they do not mix. */
async function runChecks(): Promise<number> {
  const results = await Promise.all(
    checks.map(async ({ name, args: checkArgs }) => {
      const startedAt = performance.now();
      const { code, output } = await run(checkArgs, 'collect');
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      const line = `${name} (${seconds} s)`;
      console.log(code === 0 ? `✓ ${line}` : `✗ ${line}\n${output.trim()}`);
      return code;
    }),
  );
  return results.filter((code) => code !== 0).length;
}

/** The heavy suites, and those on Citus, are several runs, unless some are named. */
async function runSuites(): Promise<Counts> {
  if (isPlain) return runTests('plain', args);
  if (!isHeavy && !isOnCitus) return runTests('usual', args);
  if (args.length > 0) return runTests(isOnCitus ? 'allOnCitus' : 'allHeavy', args);
  // What must never happen comes first: the time may be over before the last ones (`TEST_UNTIL`).
  const alone = await runTests(isOnCitus ? 'citusAlone' : 'alone', []);
  const sample = isOnCitus ? NONE : await runTests('plainSample', []);
  const runs = [alone, sample, await runTests(isOnCitus ? 'citus' : 'heavy', [])];
  const sum = (of: keyof Counts): number => runs.reduce((total, counts) => total + counts[of], 0);
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}

async function runTests(suites: string, testArgs: readonly string[]): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'test-outcome-'));
  try {
    const file = join(folder, 'outcome.json');
    const vitest = [bin('vitest'), 'run', '--config', 'test/vitest.config.ts', ...testArgs];
    const { code } = await run(vitest, 'show', {
      TEST_SUITES: suites,
      TEST_OUTCOME: file,
      ...(suites.startsWith('plain') && { PLAIN_WIRE: '1' }),
      TEST_BUNDLES: given.length === 0 ? '1' : '0',
    });
    const outcome = readOutcome(file);
    failures.push(...outcome.failures);
    unfinished.push(...outcome.unfinished);
    // Vitest fails when the time is over, too.
    const isExpected = outcome.unfinished.length > 0 && outcome.failures.length === 0;
    // It can fail without a failed test: a file does not load, an unhandled error, a crash.
    const hasFailed = code !== 0 && outcome.failed === 0 && !isExpected;
    return hasFailed ? { ...outcome, failed: 1 } : outcome;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readOutcome(file: string): Outcome {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Outcome;
  } catch (error) {
    const failures = [`Vitest ended without an outcome: ${String(error)}`];
    return { passed: 0, failed: 1, skipped: 0, failures, unfinished: [] };
  }
}

async function run(
  nodeArgs: readonly string[],
  output: 'show' | 'collect',
  settings: Readonly<Record<string, string>> = {},
): Promise<{ code: number; output: string }> {
  if (isStopped) return { code: 1, output: 'stopped' };
  const child = spawn(process.execPath, nodeArgs, {
    cwd: root,
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: COMPILED,
      ...settings,
    },
    stdio: output === 'show' ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  });
  // A check has nothing to put away, and the compiler would end its work before it obeys.
  running.set(child, (signal) => child.kill(output === 'collect' ? 'SIGKILL' : signal));
  const chunks: string[] = [];
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  const code = await new Promise<number>((done) => {
    child.once('error', (error) => {
      chunks.push(error.message);
      done(1);
    });
    child.once('close', (status) => done(status ?? 1));
  });
  running.delete(child);
  return { code, output: chunks.join('') };
}
