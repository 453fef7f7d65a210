import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';

/** Suites that `npm run test:heavy` runs first. They mostly wait, so several run at once. */
const HEAVY = [
  'test/availability/**/*.test.ts',
  'test/browser/**/*.test.ts',
  'test/clients/**/*.test.ts',
  'test/deploy/**/*.test.ts',
  'test/snippets/**/*.test.ts',
];
/** Suites that want the whole machine, one after the other. They come afterwards. */
const ALONE = [
  'test/balancers/**/*.test.ts',
  'test/neighbours/**/*.test.ts',
  'test/races/chaos.test.ts',
];
const ALL_HEAVY = [...HEAVY, ...ALONE];

/** Which suites this run has; `scripts/test.ts` says it. */
const suites = process.env['TEST_SUITES'] ?? 'usual';
const isUsual = suites === 'usual';
const included: Readonly<Record<string, string[]>> = {
  usual: ['test/**/*.test.ts'],
  heavy: HEAVY,
  alone: ALONE,
  allHeavy: ALL_HEAVY,
};

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: included[suites] ?? [],
    exclude: isUsual ? [...configDefaults.exclude, ...ALL_HEAVY] : configDefaults.exclude,
    globalSetup: ['test/global-setup.ts'],
    // Processes, not threads: tests set environments, spawn, and load native timers of their own.
    pool: 'forks',
    // One more than the cores of a small machine: tests also wait.
    maxWorkers: isUsual || suites === 'heavy' ? 3 : 1,
    // Tests wait for conditions on busy machines. Only a test that hangs reaches these limits.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
    // NODE_ENV and the colours of our own child processes must not depend on the terminal.
    env: { NODE_ENV: 'test', NO_COLOR: '1' },
  },
});
