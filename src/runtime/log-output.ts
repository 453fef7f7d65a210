/**
 * Writes the lines of the log to standard output, in batches, and never waits for its reader. A
 * reader that hangs, for instance a log shipper without a network, must neither stop the service
 * nor keep it from stopping. Lines wait in memory meanwhile. When that is full, new lines are
 * dropped and counted: those before tell how it began.
 *
 * A destination of pino does not do that: its writes to a full pipe block a thread of Node, which
 * an exit waits for, and its last flush repeats a failed write for ever.
 */
import { fstatSync, writeSync } from 'node:fs';
import { systemClock, type Cancel, type Clock } from '../core/clock.ts';
import { createLine } from '../core/line.ts';

export interface LogOutput {
  /** Takes a line, with its line break. */
  readonly write: (line: string) => void;
  /**
   * Writes what waits. If the reader takes nothing, gives up after a second and drops it. For the
   * end of the process.
   */
  readonly flushNow: () => void;
  /** How many lines have been dropped. */
  readonly dropped: () => number;
}

export interface LogOutputOptions {
  /** Called when lines are taken again, with how many were dropped since the last call. */
  readonly onRoom: (dropped: number) => void;
  readonly clock?: Pick<Clock, 'monotonicMs' | 'after'>;
  /** Writes to standard output, by default. Returns how many bytes were taken. */
  readonly writeBytes?: (bytes: Uint8Array) => number;
}

const STANDARD_OUTPUT = 1;
/**
 * Lines are written in batches of this size. One write per line or per few lines costs a quarter of
 * a list request.
 */
const BATCH_LENGTH = 32_768;
/** Lines are written once in this time, a line after as long a silence at once. */
const FLUSH_MS = 1_000;
/** So much waits for a reader: some 30,000 lines, which is half a minute of a busy process. */
const WAITING_MAX_LENGTH = 8 * 1_048_576;
/** A full pipe is tried again after this time. It holds 64 KB, so it takes 6 MB a second. */
const FULL_AGAIN_MS = 10;
/** Any other failure is tried again after this time: no reader, or no space. */
const FAILED_AGAIN_MS = 1_000;
/** The end of the process waits this long for a reader. */
const FLUSH_LIMIT_MS = 1_000;

/** Opens the output. What still waits when the process ends is flushed then. */
export function openLogOutput({
  onRoom,
  clock = systemClock,
  writeBytes = openStandardOutput(),
}: LogOutputOptions): LogOutput {
  const waiting = createBatches();
  const writeAll = createWriter(waiting, writeBytes);
  let timer: Cancel | null = null;
  let flushedAt = -Infinity;
  let isBlocked = false;
  let dropped = 0;
  let reported = 0;

  const flush = (): void => {
    timer?.();
    timer = null;
    flushedAt = clock.monotonicMs();
    const error = writeAll();
    isBlocked = error !== null;
    if (error !== null) {
      timer = clock.after(isFull(error) ? FULL_AGAIN_MS : FAILED_AGAIN_MS, flush);
      return;
    }
    const lost = dropped - reported;
    reported = dropped;
    if (lost > 0) onRoom(lost);
  };
  const untilFlush = (): number => Math.max(0, flushedAt + FLUSH_MS - clock.monotonicMs());
  let hasGivenUp = false;
  const flushNow = (): void => {
    // A second flush of the same end does not wait again.
    const giveUpAt = clock.monotonicMs() + (hasGivenUp ? 0 : FLUSH_LIMIT_MS);
    let error = writeAll();
    while (error !== null && isFull(error) && clock.monotonicMs() < giveUpAt) {
      sleep(FULL_AGAIN_MS);
      error = writeAll();
    }
    if (error === null) return;
    hasGivenUp = true;
    waiting.clear();
  };
  process.on('exit', flushNow);
  return {
    write: (line) => {
      if (waiting.length() + line.length > WAITING_MAX_LENGTH) {
        dropped += 1;
        return;
      }
      waiting.add(line);
      if (!isBlocked && waiting.length() >= BATCH_LENGTH) flush();
      else timer ??= clock.after(untilFlush(), flush);
    },
    flushNow,
    dropped: () => dropped,
  };
}

interface Batches {
  add(line: string): void;
  /** Takes the oldest batch out, of any length. Returns null if there is none. */
  next(): string | null;
  length(): number;
  clear(): void;
}

function createBatches(): Batches {
  let full = createLine<string>();
  let last = '';
  let length = 0;
  return {
    add: (line) => {
      last += line;
      length += line.length;
      if (last.length < BATCH_LENGTH) return;
      full.join(last);
      last = '';
    },
    next: () => {
      const batch = full.shift() ?? last;
      if (batch === last) last = '';
      length -= batch.length;
      return batch === '' ? null : batch;
    },
    length: () => length,
    clear: () => {
      full = createLine();
      last = '';
      length = 0;
    },
  };
}

/**
 * Returns what writes all that waits, in order. It returns the error if not all of it
 * could be written; the next call goes on with the byte after the last one that was taken.
 */
function createWriter(
  waiting: Batches,
  writeBytes: (bytes: Uint8Array) => number,
): () => NodeJS.ErrnoException | null {
  let rest = Buffer.alloc(0);
  return () => {
    try {
      for (;;) {
        if (rest.length === 0) rest = Buffer.from(waiting.next() ?? '');
        if (rest.length === 0) return null;
        rest = rest.subarray(writeBytes(rest));
      }
    } catch (error) {
      return error as NodeJS.ErrnoException;
    }
  };
}

function openStandardOutput(): (bytes: Uint8Array) => number {
  if (isPipe(STANDARD_OUTPUT)) neverBlock();
  return (bytes) => writeSync(STANDARD_OUTPUT, bytes);
}

function isPipe(fd: number): boolean {
  const stat = fstatSync(fd);
  return stat.isFIFO() || stat.isSocket();
}

/**
 * Makes writes to a full pipe fail instead of wait. Node has no function for that, but its own
 * stream for standard output, which is made when it is first named, does it to a pipe.
 */
function neverBlock(): void {
  void process.stdout;
}

function isFull({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAGAIN';
}

/** Stops this thread. Only for the end of the process, when nothing else is left to do. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
