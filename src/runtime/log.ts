import { readFileSync } from 'node:fs';
import pino, { type Logger, type LoggerOptions } from 'pino';
import { openLogOutput, type LogOutput } from './log-output.ts';

/** The release, so that lines of two releases side by side can be told apart. */
const { version: RELEASE } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string };

/** The logger of a process. */
export interface ProcessLogger extends Logger {
  /** Writes what is not written yet. */
  flushNow(): void;
  /** Writes a line that a thread of this process has made. */
  write(line: string): void;
}

/** The one output of the process: two would mix their lines. */
let output: LogOutput | null = null;

/** How many lines of this process were dropped because nobody reads its standard output. */
export const countDroppedLines = (): number => output?.dropped() ?? 0;

/**
 * Creates the logger of the process. It writes to standard output in batches, once a second, and a
 * line after a second of silence at once. Never pass keys, secrets, emails or bodies to it.
 */
export function createLogger(level: string): ProcessLogger {
  output ??= openLogOutput({
    onRoom: (dropped) =>
      logger.warn({ dropped }, 'nobody read the log for some time, and lines were dropped'),
  });
  const { write, flushNow } = output;
  const logger = Object.assign(pino(optionsOf(level), { write }), { write, flushNow });
  return logger;
}

/** Creates the logger of a thread. `write` passes each line to the process. */
export function createThreadLogger(level: string, write: (line: string) => void): Logger {
  return pino(optionsOf(level), { write });
}

function optionsOf(level: string): LoggerOptions {
  return {
    level,
    base: { pid: process.pid, release: RELEASE },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: toLoggedError },
  };
}

/**
 * Replaces emails, keys and secrets in a text. Errors of libraries need this, because they may
 * quote their arguments.
 */
export function redact(text: string): string {
  // An address begins only where a word does. Without that, a long word without an @ would be read
  // again from each of its characters.
  return text.replace(
    /(?<![^\s<>"'(),;:=])[^\s<>"'(),;:=]+@[^\s<>"'(),;]+|svck_(?:live|test)_\w+|whsec_[\w+/=-]+/g,
    '[redacted]',
  );
}

/** When stacks were last written; times of performance.now(). The oldest is first. */
const written = new Map<string, number>();
const STACK_AGAIN_MS = 60_000;
const STACKS_REMEMBERED = 200;

/**
 * Whether a stack has not been written within a minute. During an outage each request fails at the
 * same place, and its stack is most of the log.
 */
function isNews(stack: string): boolean {
  const now = performance.now();
  if (now - (written.get(stack) ?? -Infinity) < STACK_AGAIN_MS) return false;
  written.delete(stack);
  written.set(stack, now);
  const [oldest] = written.keys();
  if (written.size > STACKS_REMEMBERED && oldest !== undefined) written.delete(oldest);
  return true;
}

/**
 * Returns the parts of an error that help to find the fault: names, codes, the frames of the stack,
 * and the last line of the message (Prisma puts the arguments before it). pino's own serializer
 * would log every field: the `detail` of a Postgres error quotes whole rows, and errors of undici
 * and Prisma quote the data that was sent.
 */
function toLoggedError(error: unknown): object | string {
  if (!(error instanceof Error)) return redact(String(error));
  const { name, message, stack = '', cause } = error;
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return {
    type: name,
    ...('code' in error && { code: error.code }),
    ...('table' in error && { table: error.table }),
    ...('constraint' in error && { constraint: error.constraint }),
    message: redact(message.trim().split('\n').at(-1) ?? ''),
    ...(isNews(frames.join('\n')) && { stack: frames.join('\n') }),
    ...(cause !== undefined && { cause: toLoggedError(cause) }),
    ...(error instanceof AggregateError && { errors: error.errors.map(toLoggedError) }),
  };
}
