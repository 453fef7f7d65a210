import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';

/** Suites that want the whole machine, one after the other. Only `npm run test:heavy` runs them. */
const HEAVY = [
  'test/availability/**/*.test.ts',
  'test/balancers/**/*.test.ts',
  'test/browser/**/*.test.ts',
  'test/deploy/**/*.test.ts',
  'test/neighbours/**/*.test.ts',
  'test/snippets/**/*.test.ts',
  'test/races/chaos.test.ts',
];
const isHeavy = process.env['TEST_HEAVY'] === '1';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: isHeavy ? HEAVY : ['test/**/*.test.ts'],
    exclude: isHeavy ? configDefaults.exclude : [...configDefaults.exclude, ...HEAVY],
    globalSetup: ['test/global-setup.ts'],
    // Processes, not threads: tests set environments, spawn, and load native timers of their own.
    pool: 'forks',
    // One more than the cores of a small machine: tests also wait.
    maxWorkers: isHeavy ? 1 : 3,
    // Tests wait for conditions on busy machines. Only a test that hangs reaches these limits.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
    // NODE_ENV and the colours of our own child processes must not depend on the terminal.
    env: { NODE_ENV: 'test', NO_COLOR: '1' },
  },
});
