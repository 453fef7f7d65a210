import { ProblemError } from '../core/problem.ts';
import { printableLines } from '../core/terminal.ts';
import { suitHeap } from './heap.ts';
import { shapeOutput, writeFault } from './output.ts';

/** A running part of the service, for instance the API. */
export interface Part {
  /** Tells clients that it will stop, and resolves when they have had time to notice. */
  announceStop?(): Promise<void>;
  /** Lets the work in flight finish, then closes everything. */
  stop(): Promise<void>;
}

/**
 * The terminal sends Ctrl-C to npm and to us, and npm passes it on. A second signal within this
 * time is that copy. A busy machine may let npm wait long; nobody but a terminal sends SIGINT, so a
 * supervisor's second SIGTERM need not wait for that.
 */
const ECHO_MS = { SIGINT: 3_000, SIGTERM: 300 };
/**
 * After its announcement, a stop takes at most this long. Each part has a shorter limit of its own
 * for the work in flight; this one is for a part that hangs.
 */
const STOP_LIMIT_MS = 15_000;

/**
 * Runs a part of the service until SIGTERM or SIGINT, then announces its stop, stops it and exits
 * 0. A second signal exits 1 at once. If `start` rejects, prints the error and exits 1.
 *
 * After a signal during the start, the part is stopped when it has started. With `giveUp`, that
 * function is called instead: it undoes what has been started, and `start` may reject. Only tests
 * set `stopLimitMs`.
 */
export async function runUntilSignal(
  start: () => Promise<Part>,
  giveUp?: () => Promise<void>,
  stopLimitMs = STOP_LIMIT_MS,
): Promise<void> {
  shapeOutput(fail);
  suitHeap();
  let stoppingSince: number | null = null;
  let started: Part | null = null;
  const onSignal = (signal: keyof typeof ECHO_MS): void => {
    if (stoppingSince !== null) {
      if (performance.now() - stoppingSince > ECHO_MS[signal]) process.exit(1);
      return;
    }
    stoppingSince = performance.now();
    const endLimit = limitTime(stopLimitMs);
    const stopped =
      !started && giveUp ? giveUp() : running.then((part) => stop(part, endLimit, stopLimitMs));
    stopped.then(() => process.exit(0), fail);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => onSignal(signal));
  const running = start();
  try {
    started = await running;
  } catch (error) {
    if (stoppingSince === null || !giveUp) fail(error);
  }
}

async function stop(part: Part, endLimit: () => void, stopLimitMs: number): Promise<void> {
  if (part.announceStop) {
    endLimit();
    await part.announceStop();
    limitTime(stopLimitMs);
  }
  await part.stop();
}

/** Ends the process after this time. The function that it returns takes that back. */
function limitTime(ms: number): () => void {
  const timer = setTimeout(() => process.exit(0), ms).unref();
  return () => clearTimeout(timer);
}

/** Writes the error for the operator and ends the process with exit code 1. */
export function fail(error: unknown): never {
  writeFault(error, messageOf(error));
  process.exit(1);
}

/**
 * Returns the message of an error for the operator.
 *
 * Node's error for a host name with several addresses has the reasons inside and no message of its
 * own. A problem has only its code as a message; an operator needs its cause.
 */
export function messageOf(error: unknown): string {
  if (error instanceof ProblemError && error.cause !== undefined) return messageOf(error.cause);
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('\n');
  return printableLines(error instanceof Error ? error.message : String(error));
}
