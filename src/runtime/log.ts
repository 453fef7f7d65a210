import pino, { type Logger } from 'pino';

/**
 * Log lines are written in batches of this size. One write per line or per few lines costs a
 * quarter of a list request.
 */
const BATCH_BYTES = 32_768;

/**
 * Creates the logger of the process. It writes to standard output in batches, at least once a
 * second; `flushNow` writes the last one. Never pass keys, secrets, emails or bodies to it.
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

/**
 * Replaces emails, keys and secrets in a text. Errors of libraries need this, because they may
 * quote their arguments.
 */
export function redact(text: string): string {
  return text.replace(
    /[^\s<>"'(),;:=]+@[^\s<>"'(),;]+|svck_live_\w+|whsec_[\w+/=-]+/g,
    '[redacted]',
  );
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
    stack: frames.join('\n'),
    ...(cause !== undefined && { cause: toLoggedError(cause) }),
    ...(error instanceof AggregateError && { errors: error.errors.map(toLoggedError) }),
  };
}
