import pino, { type Logger } from 'pino';

/** Lines leave in batches of this size: a write each, or each few, is a quarter of what a list request costs. */
const BATCH_BYTES = 32_768;

/**
 * The process's logger. Lines leave in batches, at the latest after a second, because one write a request is a good part of a request's cost.
 * What must never be logged (keys, secrets, emails, bodies) is never handed to it.
 */
export function createLogger(level: string): Logger & { flushNow(): void } {
  const destination = pino.destination({
    fd: 1,
    sync: false,
    minLength: BATCH_BYTES,
    maxWrite: 2 * BATCH_BYTES,
    periodicFlush: 1000,
  });
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: toLoggedError },
  };
  const logger = pino(options, destination);
  return Object.assign(logger, { flushNow: () => destination.flushSync() });
}

/** The text without what looks like an address, a key or a secret: errors of libraries quote what they were given. */
export function redact(text: string): string {
  return text.replace(
    /[^\s<>"'(),;:=]+@[^\s<>"'(),;]+|svck_live_\w+|whsec_[\w+/=-]+/g,
    '[redacted]',
  );
}

/**
 * pino's own serializer takes every field of an error: Postgres' `detail` quotes whole rows, undici's and Prisma's errors what was sent. So only what
 * finds the fault is kept: names, codes, the message's last line (Prisma puts the arguments before it), the frames of the stack.
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
    stack: frames.join('\n'),
    ...(cause !== undefined && { cause: toLoggedError(cause) }),
    ...(error instanceof AggregateError && { errors: error.errors.map(toLoggedError) }),
  };
}
