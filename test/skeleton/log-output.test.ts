// When a process writes the lines of its log. A process that is killed loses those that wait.
import { afterEach, expect, test, vi } from 'vitest';
import { openLogOutput } from '../../src/runtime/log-output.ts';
import { steppedClock } from '../support/clocks.ts';

/** An output to a reader that may be `full`. It does not write at the end of this process. */
function open() {
  const clock = steppedClock(new Date());
  const reader = { isFull: false, text: '' };
  const told: number[] = [];
  const atExit = vi.spyOn(process, 'on').mockReturnValueOnce(process);
  const output = openLogOutput({
    clock,
    onRoom: (dropped) => told.push(dropped),
    writeBytes: (bytes) => {
      if (reader.isFull) throw Object.assign(new Error('full'), { code: 'EAGAIN' });
      reader.text += Buffer.from(bytes).toString();
      return bytes.length;
    },
  });
  expect(atExit).toHaveBeenCalledExactlyOnceWith('exit', output.flushNow);
  return { ...output, clock, reader, told };
}

afterEach(() => vi.restoreAllMocks());

test('a line after a second of silence is written in the next turn of the event loop', () => {
  const { write, clock, reader } = open();
  write('first\n');
  clock.advance(0);
  expect(reader.text).toBe('first\n');
  clock.advance(1_000);
  write('later\n');
  clock.advance(0);
  expect(reader.text).toBe('first\nlater\n');
});

test('lines within a second of a write are written together at its end', () => {
  const { write, clock, reader } = open();
  write('first\n');
  clock.advance(0);
  write('second\n');
  write('third\n');
  clock.advance(999);
  expect(reader.text).toBe('first\n');
  clock.advance(1);
  expect(reader.text).toBe('first\nsecond\nthird\n');
});

test('the end of the process writes what waits', () => {
  const { write, flushNow, clock, reader } = open();
  write('first\n');
  clock.advance(0);
  write('second\n');
  flushNow();
  expect(reader.text).toBe('first\nsecond\n');
});

test('lines beyond 8 MB are dropped while the reader takes none, and counted afterwards', () => {
  const { write, dropped, clock, reader, told } = open();
  const line = `${'x'.repeat(1_048_575)}\n`;
  reader.isFull = true;
  // The first line is on its way to the reader, the others wait.
  for (let count = 0; count < 11; count += 1) write(line);
  expect([dropped(), told, reader.text.length]).toEqual([2, [], 0]);
  reader.isFull = false;
  clock.advance(10);
  expect([told, reader.text.length]).toEqual([[2], 9 * 1_048_576]);
});
