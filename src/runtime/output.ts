/**
 * What a process writes besides its log: why it cannot start, what nobody caught, and Node's own
 * warnings. At a terminal and in development it is text for a person. In production each line is
 * JSON like the log, so that what ships the logs can parse every line.
 *
 * One case stays text: V8 prints a trace by itself when it has no memory left.
 */
import { format } from 'node:util';
import type { Logger } from 'pino';
import { createThreadLogger, redact } from './log.ts';

const FOR_PEOPLE: readonly (string | undefined)[] = [undefined, '', 'development', 'test'];

/**
 * Whether lines are JSON. Not only for `production`: a process with a misspelt NODE_ENV runs beside
 * others whose lines are shipped, and says only that.
 */
export function writesJson(): boolean {
  return !FOR_PEOPLE.includes(process.env['NODE_ENV']) && !process.stderr.isTTY;
}

/** Standard error and output are written at once, because the process may end behind the line. */
const faults = createThreadLogger('info', (line) => process.stderr.write(line));
const news = createThreadLogger('info', (line) => process.stdout.write(line));

/** Writes a warning for the operator. The process goes on. */
export function warn(text: string): void {
  if (writesJson()) faults.warn(redact(text));
  else process.stderr.write(`${text}\n`);
}

/** Writes why the process ends. `text` is what a person reads. */
export function writeFault(error: unknown, text: string): void {
  if (!writesJson()) {
    process.stderr.write(`${text}\n`);
    return;
  }
  const { faults: list } = (error ?? {}) as { faults?: unknown };
  faults.fatal({ err: error, ...(Array.isArray(list) && { faults: list }) }, redact(text));
}

/**
 * Makes JSON of what this process would otherwise write as text, unless a person reads it: Node's
 * warnings, errors that nobody caught, and the console, which libraries use.
 */
export function shapeOutput(onUncaught: (error: unknown) => never): void {
  if (!writesJson()) return;
  logWarnings(faults);
  process.on('uncaughtException', onUncaught);
  const write = (target: Logger, level: 'info' | 'warn' | 'error') =>
    function log(...args: unknown[]): void {
      target[level](redact(format(...args)));
    };
  Object.assign(console, {
    log: write(news, 'info'),
    info: write(news, 'info'),
    warn: write(faults, 'warn'),
    error: write(faults, 'error'),
  });
}

/** Hands Node's warnings in this thread to the logger, instead of printing them. */
export function logWarnings(logger: Logger): void {
  // Node prints them in a listener of its own.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => logger.warn({ err: warning }, 'a warning of Node'));
}
