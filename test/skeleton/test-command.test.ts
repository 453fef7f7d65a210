// `npm test FILE` runs the file, or says which command does.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const run = (...args: string[]) =>
  spawnSync(process.execPath, ['scripts/test.ts', ...args], { encoding: 'utf8' });

test.each(['test/deploy/alerts.test.ts', 'test/balancers', 'rolling-restart'])(
  'names the command that runs %s',
  (file) => {
    const { status, stdout } = run(file);
    expect(status).toBe(1);
    expect(stdout).toContain(`✗ ${file}: run it with "npm run test:heavy -- ${file}"`);
    expect(stdout.trim()).toMatch(/\n0 passed, 1 failed, 0 skipped$/);
  },
);

test('does not take the name of a test for a file', () => {
  const { status, stdout } = run('test/rules/line.test.ts', '-t', 'browser');
  expect(stdout).not.toContain('test:heavy');
  expect(status).toBe(0);
});
