// `npm test` runs the static checks beside the tests of the tier `core`; `--smoke` those of
// `smoke`; `--heavy` the heavy suites, all or those of the areas that are named; `--citus` suites
// on a cluster. With arguments (a file, -t NAME …) only the tests run that they name, in their
// tier. Failures are printed again at the end, because the start of a long output may be lost. The
// last line is `N passed, N failed, N skipped`; a static check that fails counts as one failed.
import '../src/runtime/node-version.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FailedTest, Outcome } from '../test/outcome.ts';
import { ALONE, tierOf } from '../test/tiers.ts';
import { mayRunAgain } from './second-tries.ts';

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly secondTries: readonly FailedTest[];
}

const root = join(import.meta.dirname, '..');
/** Compiled code, which the many processes that the tests start would otherwise make again. */
const COMPILED = join(root, 'node_modules/.cache/compiled');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
const NONE: Counts = { passed: 0, failed: 0, skipped: 0, secondTries: [] };
/** Each with what ends it at a signal. */
const running = new Map<ChildProcess, (signal: NodeJS.Signals) => void>();
const failures: string[] = [];

/**
 * One checker: each of the usual four works out the types of zod and tRPC for itself. Together they
 * need twice the processor time (45 s instead of 20), which the tests beside them want.
 */
const TSC = ['node_modules/typescript-native/bin/tsc', '--checkers', '1', '-p'];
const LINT = [bin('oxlint'), '--disable-nested-config', '--deny-warnings'];

interface Check {
  readonly name: string;
  readonly args: readonly string[];
}

/** All are JavaScript programs, run by this Node, so that they do not depend on PATH. */
const CORE_CHECKS: readonly Check[] = [
  { name: 'format', args: [bin('oxfmt'), '--check', 'src', 'scripts', 'test', 'prisma'] },
  { name: 'lint', args: LINT },
  { name: 'types', args: [...TSC, '.'] },
  { name: 'types of the admin page', args: [...TSC, 'src/admin-ui'] },
  { name: 'imports', args: ['test/checks/imports.ts'] },
  { name: 'lines', args: ['test/checks/width.ts'] },
  { name: 'tiers of tests', args: ['test/checks/tiers.ts'] },
];
const SMOKE_CHECKS: readonly Check[] = [
  { name: 'lint by types', args: [...LINT, '--type-aware'] },
  { name: 'unused code', args: [bin('knip'), '--no-config-hints'] },
];

/** A signal also prevents the runs that would follow. */
let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isStopped = true;
    for (const stop of running.values()) stop(signal);
  });
}

const MODES = ['--smoke', '--heavy', '--citus'] as const;
const given = process.argv.slice(2);
const mode = MODES.find((name) => given.includes(name)) ?? null;
const args = given.filter((arg) => arg !== mode).map(folderOf);
const checks = args.length > 0 ? [] : mode === null ? CORE_CHECKS : [];
// The tests wait now and then, for a lock or a server. The checks compute meanwhile.
const [failedChecks, tests] = await Promise.all([
  runChecks(mode === '--smoke' && args.length === 0 ? SMOKE_CHECKS : checks),
  runProjects(projectsOf()),
]);
const failed = tests.failed + failedChecks;
if (failed > 0) process.exitCode = 1;
for (const failure of failures) console.log(`✗ ${failure}`);
for (const { file, name, error } of tests.secondTries)
  console.log(`second try: ${file} > ${name}\n  ${error}\n  load ${loadavg()[0]?.toFixed(1)}`);
const repeated =
  tests.secondTries.length > 0 ? `, ${tests.secondTries.length} at its second try` : '';
console.log(`${tests.passed} passed, ${failed} failed, ${tests.skipped} skipped${repeated}`);

/** An area (`browser`) is its folder. Other arguments stay as they are. */
function folderOf(arg: string): string {
  return /^[\w-]+$/.test(arg) && existsSync(join(root, 'test', arg)) ? `test/${arg}/` : arg;
}

/** The projects of `test/vitest.config.ts` that run one after the other. */
function projectsOf(): readonly string[] {
  if (mode === '--smoke') return ['smoke'];
  const alone = globSync(ALONE, { cwd: root });
  const files = globSync('test/**/*.test.ts', { cwd: root });
  const named = args
    // What follows `-t` is part of a test's name.
    .filter((arg, index) => !arg.startsWith('-') && !args[index - 1]?.startsWith('-'))
    .flatMap((arg) => files.filter((file) => file.includes(arg)));
  const isNamed = (list: readonly string[]): boolean =>
    named.length === 0 || named.some((file) => list.includes(file));
  if (mode === '--citus') return ['citusAlone', 'citus'];
  const heavy = files.filter((file) => tierOf(root, file) === 'heavy' && !alone.includes(file));
  if (mode === '--heavy')
    return [...(isNamed(alone) ? ['alone'] : []), ...(isNamed(heavy) ? ['heavy'] : [])];
  if (named.length === 0) return ['core'];
  const tiers = named.map((file) => (alone.includes(file) ? 'alone' : tierOf(root, file)));
  return [...new Set(tiers)];
}

/** Resolves with how many failed. Prints the output of a check when it ends, so they do not mix. */
async function runChecks(checked: readonly Check[]): Promise<number> {
  const results = await Promise.all(
    checked.map(async ({ name, args: checkArgs }) => {
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

async function runProjects(projects: readonly string[]): Promise<Counts> {
  let total = NONE;
  for (const project of projects) {
    const { passed, failed: red, skipped, secondTries } = await runProject(project);
    total = {
      passed: total.passed + passed,
      failed: total.failed + red,
      skipped: total.skipped + skipped,
      secondTries: [...total.secondTries, ...secondTries],
    };
  }
  return total;
}

async function runProject(project: string): Promise<Counts> {
  const first = await runVitest(project, ['--passWithNoTests', ...args]);
  const { failedTests } = first;
  if (project === 'smoke' && mayRunAgain(first)) {
    const second = await repeat(project, failedTests);
    if (second.failed === 0 && second.passed >= failedTests.length) {
      const passed = first.passed + failedTests.length;
      return { passed, failed: 0, skipped: first.skipped, secondTries: failedTests };
    }
  }
  failures.push(...first.failures);
  return { ...first, secondTries: [] };
}

/** Runs these tests alone, with one worker. */
function repeat(project: string, failedTests: readonly FailedTest[]): Promise<Outcome> {
  const escape = (name: string): string => name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const names = failedTests.map(({ name }) => `^${escape(name)}$`).join('|');
  const files = new Set(failedTests.map(({ file }) => file));
  return runVitest(project, ['--maxWorkers=1', '-t', names, ...files]);
}

async function runVitest(project: string, vitestArgs: readonly string[]): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'test-outcome-'));
  try {
    const file = join(folder, 'outcome.json');
    const vitest = [bin('vitest'), 'run', '--config', 'test/vitest.config.ts'];
    const { code } = await run([...vitest, '--project', project, ...vitestArgs], 'show', {
      TEST_OUTCOME: file,
    });
    const outcome = readOutcome(file);
    // It can fail without a failed test: a file does not load, an unhandled error, a crash.
    return code !== 0 && outcome.failed === 0
      ? { ...outcome, failed: 1, hasOtherFaults: true }
      : outcome;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readOutcome(file: string): Outcome {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Outcome;
  } catch (error) {
    const fault = `Vitest ended without an outcome: ${String(error)}`;
    const none = { passed: 0, failed: 1, skipped: 0, failedTests: [] };
    return { ...none, failures: [fault], hasOtherFaults: true };
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
