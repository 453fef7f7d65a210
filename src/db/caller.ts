import type { ProblemError } from '../core/problem.ts';
import type { Trace } from '../core/trace.ts';
import { unavailable } from './errors.ts';

/** For whom a statement or a transaction runs. */
export interface Caller {
  /**
   * The name of the share that it uses: the team's id, or a name of the process's own. null: other
   * work of the process, which has no share.
   */
  readonly share: string | null;
  /** The node with the team's rows (`team-nodes.ts`). */
  readonly node?: string | null;
  /** True: work in the background, which may take long and waits as long as it takes. */
  readonly background?: boolean;
  /** Aborts when the caller has hung up. */
  readonly signal?: AbortSignal;
  /** The trace of the work. null: it is not traced. */
  readonly trace?: Trace | null;
}

/** Whether the caller's wait for a place has no time limit, and its queue no bound. */
export function waitsWithoutLimit({ share, background }: Caller): boolean {
  return share === null || background === true;
}

/** The problem of a caller who has hung up. Nobody reads it. */
export function hungUp(): ProblemError {
  return unavailable(new Error('the caller has hung up'));
}
