import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { OutcomeReporter } from './outcome.ts';
import { ALONE, TIER_GLOBS } from './tiers.ts';

/** What `npm run test:citus` runs on a cluster: the suites of plain Postgres, and its own. */
const ON_CITUS = [
  ...['citus', 'commands', 'contract', 'db', 'features', 'races', 'tasks'].map(
    (folder) => `test/${folder}/**/*.test.ts`,
  ),
  'test/seed/*.test.ts',
  'test/processes/{rotate-secret,webhook-workers{,.smoke}}.test.ts',
];
/** They want the whole machine there, too. */
const ALONE_ON_CITUS = ['test/citus/growing.test.ts', 'test/races/chaos.heavy.test.ts'];
/** What a cluster cannot have. */
const NOT_ON_CITUS = [
  // It reads the functions of the database as one server has them.
  'test/contract/tenancy.test.ts',
  // One statement for teams of several shards. There, every request is asked for alone.
  'test/features/batched-authentication.test.ts',
  // The nodes make their own plans for the statements of a function, at each call.
  'test/features/counter-plans*.test.ts',
  // They look at the plans of one server, or count the rows that it reads.
  'test/contract/team-plans*.test.ts',
  'test/features/{announcement,request-log,sandbox,trace}-plans*.test.ts',
  'test/features/{event-looks,person-bounds}*.test.ts',
];
/** They take ten minutes and count what changes rarely, so only `npm run test:citus` has them. */
const ONLY_ON_CITUS = ['test/citus/{counting,growing,requests}.test.ts'];

/**
 * Only a test that hangs reaches the limit. No test of `core` states a time, and the longest takes
 * 8 s on two quiet cores. The others start processes: ten starts in a row take a machine three
 * times slower, with others beside it, over a minute.
 */
const HANGS_AFTER_MS = { core: 60_000, others: 300_000 };

/**
 * Many small files: to load our modules for each of them takes three times as long as its tests. So
 * the files of a worker share a process and its modules. What a file starts ends with it
 * (`test/end-files.ts`).
 */
const SHARED = {
  isolate: false,
  // In the usual space for new objects, the collection of garbage takes 7 % of the time. To
  // optimize Prisma's WebAssembly takes each worker four seconds, which its tests do not win back.
  execArgv: ['--max-semi-space-size=32', '--liftoff-only'],
};

interface Project {
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  readonly setupFiles?: readonly string[];
  readonly maxWorkers?: number;
  readonly isolate?: boolean;
  readonly execArgv?: string[];
  readonly hangsAfterMs?: number;
}

const project = (name: string, { include, exclude = [], ...given }: Project) => ({
  // Projects with limits of their own on workers run one after the other.
  extends: true as const,
  test: {
    name,
    include: [...include],
    exclude: [...configDefaults.exclude, ...exclude],
    maxWorkers: given.maxWorkers ?? 3,
    isolate: given.isolate ?? true,
    execArgv: given.execArgv ?? [],
    testTimeout: given.hangsAfterMs ?? HANGS_AFTER_MS.others,
    hookTimeout: given.hangsAfterMs ?? HANGS_AFTER_MS.others,
    // Hooks that come after a file run in the reverse order.
    setupFiles: [...(given.setupFiles ?? []), 'test/record-locks.ts', 'test/end-files.ts'],
    globalSetup: ['test/global-setup.ts'],
  },
});

const SEEDED = ['test/seed-chance.ts'];

const projects: TestProjectInlineConfiguration[] = [
  // More workers than the cores of a small machine, because tests also wait.
  project('core', {
    ...TIER_GLOBS.core,
    ...SHARED,
    setupFiles: SEEDED,
    maxWorkers: 4,
    hangsAfterMs: HANGS_AFTER_MS.core,
  }),
  project('smoke', { ...TIER_GLOBS.smoke, setupFiles: SEEDED }),
  project('heavy', {
    include: TIER_GLOBS.heavy.include,
    exclude: [...TIER_GLOBS.heavy.exclude, ...ALONE, ...ONLY_ON_CITUS],
  }),
  project('alone', { include: ALONE, maxWorkers: 1 }),
  project('citus', { include: ON_CITUS, exclude: [...ALONE_ON_CITUS, ...NOT_ON_CITUS] }),
  project('citusAlone', { include: ALONE_ON_CITUS, maxWorkers: 1 }),
  // What `npm run night` starts. It is no test.
  project('night', { include: ['test/night/stage.ts'], maxWorkers: 1 }),
];

/** Where `scripts/test.ts` reads what the run came to. */
const outcome = process.env['TEST_OUTCOME'];

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    projects: projects.map((it, index) => ({
      ...it,
      test: { ...it.test, sequence: { groupOrder: index } },
    })),
    // Processes, not threads: tests set environments, spawn, and load native timers of their own.
    pool: 'forks',
    reporters: ['default', ...(outcome ? [new OutcomeReporter(outcome)] : [])],
    tags: [
      {
        name: 'never-repeated',
        description: 'A red test of tenancy, privacy, idempotency or loss is never tried again.',
      },
    ],
    // One second by default, which a busy machine needs for less than a page.
    expect: { poll: { timeout: 30_000 } },
    teardownTimeout: 20_000,
    // NODE_ENV and the colours of our own child processes must not depend on the terminal.
    env: { NODE_ENV: 'test', NO_COLOR: '1' },
  },
});
