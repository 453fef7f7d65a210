// `npm test FILE` runs the file, or says which command does.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

const run = (...args: string[]) =>
  spawnSync(process.execPath, ['scripts/test.ts', ...args], { encoding: 'utf8' });
const runUntil = (seconds: number, file: string) =>
  spawnSync(process.execPath, ['scripts/test.ts', file], {
    encoding: 'utf8',
    env: { ...process.env, TEST_UNTIL: String(seconds) },
  });

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

test('begins no test when the time is over, and names the file', () => {
  const file = 'test/rules/line.test.ts';
  const { status, stdout } = runUntil(1, file);
  const [named, counts] = stdout.trim().split('\n').slice(-2);
  expect(named).toBe(`- not run to its end, the time was over: ${file}`);
  expect(counts).toMatch(/^0 passed, 0 failed, \d+ skipped$/);
  expect(status).toBe(0);
});

test.each([600, 10 * 365 * 86_400])('runs every test while there are %i seconds', (seconds) => {
  const { status, stdout } = runUntil(Date.now() / 1_000 + seconds, 'test/rules/line.test.ts');
  expect(stdout).not.toContain('not run to its end');
  expect(stdout.trim()).toMatch(/\n[1-9]\d* passed, 0 failed, 0 skipped$/);
  expect(status).toBe(0);
});

test('fails when the end of the time is no number', () => {
  const { status, stdout } = runUntil(NaN, 'test/rules/line.test.ts');
  expect(stdout.trim()).toMatch(/\n0 passed, 1 failed, 0 skipped$/);
  expect(status).toBe(1);
});

test('starts nothing more after a signal, and ends what runs', async () => {
  const child = spawn(process.execPath, ['scripts/test.ts'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const output = text(child.stdout);
  // When a quick check has ended, the compiler runs, which would only end its work at this signal.
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([1, null]);
  expect(await output).toContain('✗ types of the admin page (');
  expect((await output).trim()).toMatch(/\n0 passed, \d failed, 0 skipped$/);
});
