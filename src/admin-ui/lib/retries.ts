/** Which calls are made once more by themselves: those that may end differently the next time. */
import { problemOf } from './problem.ts';

const TRIES = 2;
const READS: readonly string[] = ['network', 'unavailable'];
/** `conflict`: the first try is still running. */
const CHANGES: readonly string[] = [...READS, 'conflict'];
const LOOKS = 3;

/** After so many failures, whether to read it again. */
export function retriesRead(failures: number, error: unknown): boolean {
  return failures < TRIES && READS.includes(problemOf(error).code);
}

/** The same for a change that is the same one when it is sent again: see `once.ts`. */
export function retriesChange(failures: number, error: unknown): boolean {
  return failures < TRIES && CHANGES.includes(problemOf(error).code);
}

/** The same for what comes a few seconds after what leads to it, such as a call in the log. */
export function retriesMissing(failures: number, error: unknown): boolean {
  return failures < LOOKS && problemOf(error).code === 'not_found';
}

/**
 * Whether an error may be due to the session: it has ended, it is another team's since another tab
 * signed in there, or somebody has changed the role or the rights, or removed the sandbox.
 */
export function concernsSession(error: unknown, isSandbox: boolean): boolean {
  const { code } = problemOf(error);
  return code === 'unauthorized' || code === 'forbidden' || (code === 'not_found' && isSandbox);
}
