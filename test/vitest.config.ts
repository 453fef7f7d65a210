import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ALONE, HEAVY } from './heavy.ts';
import { OutcomeReporter } from './outcome.ts';

/** What `npm run test:citus` runs on a cluster: the suites of plain Postgres, and its own. */
const ON_CITUS = [
  ...['citus', 'contract', 'db', 'features', 'races', 'tasks'].map(
    (folder) => `test/${folder}/**/*.test.ts`,
  ),
  'test/seed/*.test.ts',
  'test/processes/{announce,operator,rotate-secret,trace,webhook-workers}.test.ts',
];
/** They want the whole machine there, too. */
const ALONE_ON_CITUS = ['test/citus/growing.test.ts', 'test/races/chaos.test.ts'];
/** What a cluster cannot have. */
const NOT_ON_CITUS = [
  // It judges the functions of the migrations. Those of triggers go with `--distribute`.
  'test/contract/tenancy.test.ts',
  // One statement for teams of several shards. There, every request is asked for alone.
  'test/features/batched-authentication.test.ts',
  // The nodes make their own plans for the statements of a function, at each call.
  'test/features/counter-plans.test.ts',
  // It looks at the plans of one server.
  'test/contract/team-plans.test.ts',
  // They count the rows that one server reads.
  'test/features/announcement-plans.test.ts',
  'test/features/event-looks.test.ts',
  'test/features/person-bounds.test.ts',
  'test/features/request-log-plans.test.ts',
  'test/features/sandbox-plans.test.ts',
  'test/features/trace-plans.test.ts',
];
/** They take ten minutes and count what changes rarely, so only `npm run test:citus` has them. */
const ONLY_ON_CITUS = ['test/citus/{counting,growing,requests}.test.ts'];
/** What holds for both wires (`src/db/wire/README.md`); `npm run test:plain` runs it. */
const PLAIN = ['test/contract/**/*.test.ts', 'test/db/**/*.test.ts'];
/** As much of it as `npm run test:heavy` has, so that the plain wire cannot rot. */
const PLAIN_SAMPLE = [
  'test/contract/{endpoints,idempotency,changes}.test.ts',
  'test/db/{changed-columns,prepared-query,transaction,transactions,watchdog}.test.ts',
];
const ALL_HEAVY = [...HEAVY, ...ALONE];

/** Which suites this run has; `scripts/test.ts` says it. */
const suites = process.env['TEST_SUITES'] ?? 'usual';
const included: Readonly<Record<string, string[]>> = {
  usual: ['test/**/*.test.ts'],
  heavy: HEAVY,
  alone: ALONE,
  allHeavy: ALL_HEAVY,
  citus: ON_CITUS,
  citusAlone: ALONE_ON_CITUS,
  allOnCitus: [...ON_CITUS, ...ALONE_ON_CITUS],
  plain: PLAIN,
  plainSample: PLAIN_SAMPLE,
  // What `npm run night` starts. It is no test.
  night: ['test/night/stage.ts'],
};

const excluded: Readonly<Record<string, string[]>> = {
  usual: ALL_HEAVY,
  heavy: ONLY_ON_CITUS,
  citus: [...ALONE_ON_CITUS, ...NOT_ON_CITUS],
  allOnCitus: NOT_ON_CITUS,
};
/**
 * The first suites, in the order in which they begin. What must never happen comes first, because
 * the time may be over before the last ones. Then the longest: Vitest would begin with the largest
 * files, so some of these would end alone. `night`, `nightly`, `quickstart` and `alertmanager`
 * mostly wait, so they stand between others that compute. `compose` and `kubernetes` use the layers
 * that `image` builds.
 */
const FIRST_SUITES = [
  'failover standby hosts poolers lifecycle start webhook-workers rotate-secret',
  'night snippets image nightly compose kubernetes admin-every-page docs alerts quickstart',
  'operator trace alertmanager generators admin-tasks admin-refusals admin-fresh',
  'twins-a twins-b crm-interrupted worst-bodies twins-sandbox silence',
].flatMap((names) => names.split(' '));

class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const nameOf = ({ moduleId }: TestSpecification): string => basename(moduleId, '.test.ts');
    const first = FIRST_SUITES.flatMap((name) => sorted.filter((file) => nameOf(file) === name));
    return [...first, ...sorted.filter((file) => !first.includes(file))];
  }
}

/** Where `scripts/test.ts` reads what the run came to. */
const outcome = process.env['TEST_OUTCOME'];
/** No test begins later, if it is set: seconds since 1970, as `.ci/run` says. */
const until = process.env['TEST_UNTIL'];
const deadline = until ? new Date(Number(until) * 1_000) : null;
if (deadline && Number.isNaN(deadline.getTime()))
  throw new Error(`TEST_UNTIL must be seconds since 1970, not ${until}`);
/**
 * Many small files: to load our modules for each of them takes three times as long as its tests. So
 * the files of a worker share a process and its modules. What a file starts ends with it
 * (`test/end-files.ts`).
 */
const SHARED_PROCESSES = ['usual', 'plain', 'plainSample'];
/** More than the cores of a small machine, because tests also wait. */
const WORKERS: Readonly<Record<string, number>> = {
  usual: 4,
  alone: 1,
  allHeavy: 1,
  citusAlone: 1,
};

/**
 * Tests wait for conditions on busy machines, where a process may take a minute to start. Only a
 * test that hangs reaches the limit.
 */
const HANGS_AFTER_MS = 300_000;

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: included[suites] ?? [],
    exclude: [...configDefaults.exclude, ...(excluded[suites] ?? [])],
    globalSetup: ['test/global-setup.ts'],
    // Hooks that come after a file run in the reverse order.
    setupFiles: ['test/record-locks.ts', 'test/end-files.ts'],
    // Processes, not threads: tests set environments, spawn, and load native timers of their own.
    pool: 'forks',
    isolate: !SHARED_PROCESSES.includes(suites),
    reporters: ['default', ...(outcome ? [new OutcomeReporter(outcome, deadline)] : [])],
    sequence: { sequencer: InOrder },
    maxWorkers: WORKERS[suites] ?? 3,
    testTimeout: HANGS_AFTER_MS,
    hookTimeout: HANGS_AFTER_MS,
    // One second by default, which a busy machine needs for less than a page.
    expect: { poll: { timeout: 30_000 } },
    teardownTimeout: 20_000,
    // NODE_ENV and the colours of our own child processes must not depend on the terminal.
    env: { NODE_ENV: 'test', NO_COLOR: '1' },
  },
});
