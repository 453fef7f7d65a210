import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    // Processes, not threads: tests set environments, spawn, and load native timers of their own.
    pool: 'forks',
    maxWorkers: 2,
    // Tests wait for conditions on busy machines. Only a test that hangs reaches these limits.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
    // NODE_ENV and the colours of our own child processes must not depend on the terminal.
    env: { NODE_ENV: 'test', NO_COLOR: '1' },
  },
});
