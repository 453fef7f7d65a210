/**
 * A bulkhead: teams share connections by a fair queue (`core/fair-queue.ts`). Work that finds the
 * queue of its team full, or waits there for too long, is refused (`unavailable`).
 *
 * On a distributed database the teams of one node have at most three quarters of the places
 * together, so that a node that does not answer leaves some to the teams of others.
 */
import type { Clock } from '../../core/clock.ts';
import { createFairQueue } from '../../core/fair-queue.ts';
import type { ObserveRefusal } from '../../core/limits.ts';
import { overLimit, ProblemError } from '../../core/problem.ts';
import { hungUp, waitsWithoutLimit, type Caller } from '../caller.ts';

const MAX_WAITING = 100;
const MAX_WAIT_MS = 5_000;

/** The usual share of a team: half of the places, but at least one. */
export function halfOf(places: number): number {
  return Math.max(1, Math.floor(places / 2));
}

export interface TeamPlaces {
  /**
   * Takes a place, after waiting for it if need be, and resolves with what gives it back. Throws
   * `unavailable` if the team's queue is full, and when the caller has hung up. The work counts as
   * `shares` of its team, at most as all that the team may have.
   */
  enter(caller: Caller, shares?: number): Promise<() => void>;
  /** Whether the caller would get a place at once. */
  hasRoom(caller: Caller): boolean;
  /** How many wait, of all teams. */
  waiting(): number;
}

export function createTeamPlaces({
  places,
  perTeam,
  observeRefusal,
  clock,
}: {
  readonly places: number;
  /** The most places that one team has at once. */
  readonly perTeam: number;
  /** Called for what is refused because of its team's queue. */
  readonly observeRefusal: ObserveRefusal | undefined;
  readonly clock: Pick<Clock, 'after'>;
}): TeamPlaces {
  const queue = createFairQueue({
    places,
    perOwner: perTeam,
    perGroup: Math.max(1, Math.floor((places * 3) / 4)),
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    clock,
  });
  const workOf = ({ share, node = null }: Caller) => ({ owner: share, group: node });
  const enter = (
    caller: Caller,
    shares: number,
    { resolve, reject }: PromiseWithResolvers<() => void>,
  ): void => {
    const { share, signal } = caller;
    let isWaiting = true;
    const settle = (): void => {
      isWaiting = false;
      signal?.removeEventListener('abort', hangUp);
    };
    const hangUp = (): void => {
      leave();
      reject(hungUp());
    };
    const leave = queue.enter({
      ...workOf(caller),
      ofOwner: shares,
      isPatient: waitsWithoutLimit(caller),
      admit: (leavePlace) => {
        settle();
        resolve(leavePlace);
      },
      refuse: (reason) => {
        settle();
        const limit = `team_queue_${reason}` as const;
        observeRefusal?.(limit, share);
        reject(overLimit(limit, new ProblemError('unavailable')));
      },
    });
    if (isWaiting) signal?.addEventListener('abort', hangUp, { once: true });
  };
  return {
    enter: async (caller, shares = 1) => {
      if (caller.signal?.aborted) throw hungUp();
      const entering = Promise.withResolvers<() => void>();
      enter(caller, shares, entering);
      return entering.promise;
    },
    hasRoom: (caller) => queue.hasRoom(workOf(caller)),
    waiting: () => queue.waiting(),
  };
}
