// What runs the tests for `npm run mutate` (the code, by Stryker) and `npm run mutate:sql`.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const ofSql = {
  include: ['test/**/*.test.ts'],
  globalSetup: ['test/global-setup.ts'],
  setupFiles: ['test/seed-chance.ts', 'scripts/mutate/replaced-statements.ts', 'test/end-files.ts'],
};
const ofCode = { include: ['test/rules/**/*.test.ts'], setupFiles: ['test/seed-chance.ts'] };

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    ...(process.env['MUTATED'] === 'sql' ? ofSql : ofCode),
    pool: 'forks',
    // A mutant often makes a test wait.
    testTimeout: 20_000,
    hookTimeout: 40_000,
    expect: { poll: { timeout: 15_000 } },
    env: { NODE_ENV: 'test', NO_COLOR: '1' },
  },
});
