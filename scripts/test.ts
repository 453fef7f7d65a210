// `npm test` runs the static checks in parallel, then the tests. With arguments (a file, -t NAME …)
// it runs only the tests. `--heavy` runs the suites that want the machine to themselves, `--plain`
// those that hold for both ways to speak with Postgres, with the plain one. Failures
// are named again at the end, because the start of a long output may be lost. The last line is
// `N passed, N failed, N skipped`; a static check that fails counts as one failed.
import '../src/runtime/node-version.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Vitest's JSON report, as far as it is read here. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly FileResult[];
}

interface FileResult {
  readonly name: string;
  readonly status: string;
  /** Why the file did not load. */
  readonly message: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages: readonly string[];
  }[];
}

const root = join(import.meta.dirname, '..');
/** Compiled code, which the many processes that the tests start would otherwise make again. */
const COMPILED = join(root, 'node_modules/.cache/compiled');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
const running = new Set<ChildProcess>();
const failures: string[] = [];

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
  { name: 'types', args: ['node_modules/typescript-native/bin/tsc', '-p', '.'] },
  {
    name: 'types of the admin page',
    args: ['node_modules/typescript-native/bin/tsc', '-p', 'src/admin-ui'],
  },
  { name: 'imports', args: ['test/checks/imports.ts'] },
  { name: 'lines', args: ['test/checks/width.ts'] },
  { name: 'unused code', args: [bin('knip'), '--no-config-hints'] },
];

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    for (const child of running) child.kill(signal);
  });
}

const given = process.argv.slice(2);
const isHeavy = given.includes('--heavy');
const isOnCitus = given.includes('--citus');
const isPlain = given.includes('--plain');
const args = given.filter((arg) => !['--heavy', '--citus', '--plain'].includes(arg));
const failedChecks = given.length > 0 ? 0 : await runChecks();
const tests = await runSuites();
const failed = tests.failed + failedChecks;
if (failed > 0) process.exitCode = 1;
for (const failure of failures) console.log(`✗ ${failure}`);
console.log(`${tests.passed} passed, ${failed} failed, ${tests.skipped} skipped`);

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
  const beside = await runTests(isOnCitus ? 'citus' : 'heavy', []);
  const alone = await runTests(isOnCitus ? 'citusAlone' : 'alone', []);
  const runs = isOnCitus ? [beside, alone] : [beside, alone, await runTests('plainSample', [])];
  const sum = (of: keyof Counts): number => runs.reduce((total, counts) => total + counts[of], 0);
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}

/** The counts come from Vitest's JSON report, because its printed summary may change. */
async function runTests(suites: string, testArgs: readonly string[]): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'test-report-'));
  try {
    const report = join(folder, 'report.json');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const vitest = [
      bin('vitest'),
      'run',
      '--config',
      'test/vitest.config.ts',
      ...reporters,
      ...testArgs,
    ];
    const { code } = await run(vitest, 'show', suites);
    const counts = readCounts(report);
    // Vitest can fail without a failed test: a file does not load, an unhandled error, a crash.
    return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readCounts(report: string): Counts {
  const json = readReport(report);
  if (json === null) return { passed: 0, failed: 1, skipped: 0 };
  failures.push(...json.testResults.flatMap(describeFailures));
  return {
    passed: json.numPassedTests,
    failed: json.numFailedTests,
    skipped: json.numPendingTests + json.numTodoTests,
  };
}

/** null: Vitest wrote none, since it crashed. */
function readReport(report: string): Report | null {
  try {
    return JSON.parse(readFileSync(report, 'utf8')) as Report;
  } catch {
    return null;
  }
}

function describeFailures({ name, status, message, assertionResults }: FileResult): string[] {
  const file = relative(root, name);
  const failed = assertionResults.filter((result) => result.status === 'failed');
  if (failed.length === 0) return status === 'failed' ? [`${file}\n  ${message}`] : [];
  return failed.map(({ fullName, failureMessages }) => {
    const lines = failureMessages.join('\n').split('\n');
    const own = lines.filter((line) => !/^ +at .*\/node_modules\//.test(line));
    return [`${file} > ${fullName}`, ...own].join('\n  ');
  });
}

async function run(
  nodeArgs: readonly string[],
  output: 'show' | 'collect',
  suites = '',
): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, nodeArgs, {
    cwd: root,
    env: {
      ...process.env,
      TEST_SUITES: suites,
      NODE_COMPILE_CACHE: COMPILED,
      ...(suites.startsWith('plain') && { PLAIN_WIRE: '1' }),
    },
    stdio: output === 'show' ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
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
