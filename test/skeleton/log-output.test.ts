// When a process writes the lines of its log. A process that is killed loses those that wait.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MODULE = join(import.meta.dirname, '../../src/runtime/log-output.ts');

/** Resolves with what a process has written that runs `code`, where `log` takes a line. */
function written(code: string): string {
  const script = `
    const { openLogOutput } = await import(${JSON.stringify(MODULE)});
    const output = openLogOutput({ onRoom: () => undefined });
    const log = (line) => output.write(line + '\\n');
    const pause = (ms) => new Promise((done) => setTimeout(done, ms));
    const die = () => process.kill(process.pid, 'SIGKILL');
    ${code}`;
  const flags = ['--input-type=module', '--eval', script];
  return spawnSync(process.execPath, flags, { encoding: 'utf8' }).stdout;
}

test('a line that comes after silence is written at once, whatever the time until the next', () => {
  expect(written(`log('first'); await pause(50); die();`)).toBe('first\n');
  const later = `log('first'); await pause(2_000); log('later'); await pause(50); die();`;
  expect(written(later)).toBe('first\nlater\n');
});

test('lines that follow wait for each other', () => {
  const busy = `log('first'); await pause(50); log('second'); log('third'); die();`;
  expect(written(busy)).toBe('first\n');
  const end = `log('first'); await pause(50); log('second'); process.exit();`;
  expect(written(end)).toBe('first\nsecond\n');
});
