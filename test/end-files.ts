// A setup file of Vitest. Several files share a process, so each ends what it started, and leaves
// the process as it was.
import { deepStrictEqual, strictEqual } from 'node:assert';
import { afterAll, vi } from 'vitest';
import { endFile } from './support/at-end.ts';

const environment = { ...process.env };

afterAll(async () => {
  await endFile();
  deepStrictEqual({ ...process.env }, environment, 'a test has changed the environment');
  strictEqual(vi.isFakeTimers(), false, 'a test has left the clock of the process stopped');
});
