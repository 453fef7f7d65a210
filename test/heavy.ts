// Which suites only `npm run test:heavy` runs.

/** Suites that `npm run test:heavy` runs last. They mostly wait, so several run at once. */
export const HEAVY = [
  'test/availability/**/*.test.ts',
  'test/browser/**/*.test.ts',
  'test/citus/**/*.test.ts',
  'test/clients/**/*.test.ts',
  'test/deploy/**/*.test.ts',
  'test/night/**/*.test.ts',
  'test/processes/**/*.test.ts',
  'test/snippets/**/*.test.ts',
];
/** Suites that want the whole machine, one after the other. They come first. */
export const ALONE = [
  'test/balancers/**/*.test.ts',
  'test/neighbours/**/*.test.ts',
  'test/races/chaos.test.ts',
];
