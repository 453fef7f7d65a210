import pino, { type Logger } from 'pino';

/**
 * The process's logger. Lines leave in batches, at the latest after a second, because one write a request is a good part of a request's cost.
 * What must never be logged (keys, secrets, emails, bodies) is never handed to it.
 */
export function createLogger(level: string): Logger & { flushNow(): void } {
  const destination = pino.destination({ fd: 1, sync: false, minLength: 4096, periodicFlush: 1000 });
  const logger = pino({ level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  return Object.assign(logger, { flushNow: () => destination.flushSync() });
}
