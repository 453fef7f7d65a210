// `npm test FILE` runs the file in its tier. The last line counts.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

const run = (...args: string[]) =>
  spawnSync(process.execPath, ['scripts/test.ts', ...args], { encoding: 'utf8' });

test('runs a file, without the static checks, and counts', () => {
  const { status, stdout } = run('test/rules/line.test.ts', '-t', 'browser');
  expect(stdout).not.toContain('format (');
  expect(stdout.trim()).toMatch(/\n0 passed, 0 failed, [1-9]\d* skipped$/);
  expect(status).toBe(0);
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
