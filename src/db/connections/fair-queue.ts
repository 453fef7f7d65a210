/**
 * A bulkhead: it shares a fixed number of places among teams, so that no team waits for another
 * one's work. A team has at most its share of the places; the rest of its work waits in a queue of
 * the team's own. A place that becomes free goes to the teams round-robin. A queue is bounded in
 * length and in time. Work that finds it full, or waits too long, is refused (`unavailable`).
 *
 * On a distributed database the teams of one node have at most three quarters of the places
 * together, so that a node that does not answer leaves some to the teams of others.
 */
import { systemClock, type Clock } from '../../core/clock.ts';
import type { Limit, ObserveRefusal } from '../../core/limits.ts';
import { overLimit, ProblemError } from '../../core/problem.ts';
import { hungUp, waitsWithoutLimit, type Caller } from '../caller.ts';

/** How the places are shared. */
export interface FairQueueOptions {
  readonly places: number;
  /** The most places that one team has at once. */
  readonly perTeam: number;
  /** The most that may wait in a team's queue; 100 by default. */
  readonly maxWaiting?: number;
  /** How long it may wait there; 5 s by default. */
  readonly maxWaitMs?: number;
  /** Called for what is refused because of its team's queue. */
  readonly observeRefusal?: ObserveRefusal | undefined;
  readonly clock?: Pick<Clock, 'after'>;
}

const MAX_WAITING = 100;
const MAX_WAIT_MS = 5_000;

/** The usual share of a team: half of the places, but at least one. */
export function halfOf(places: number): number {
  return Math.max(1, Math.floor(places / 2));
}

export interface FairQueue {
  /**
   * Takes a place, after waiting for it if need be. Throws `unavailable` if the team's queue is
   * full, and when the caller has hung up. Call `leave` exactly once afterwards, with the same
   * `shares`: the work counts as so many of its team, at most as all that the team may have.
   */
  enter(caller: Caller, shares?: number): Promise<void>;
  leave(caller: Caller, shares?: number): void;
  /** Whether the caller would get a place at once. */
  hasRoom(caller: Caller): boolean;
  /** How many wait, in all queues. */
  waiting(): number;
}

/** A team that has places, or waits for one. */
interface Team {
  readonly id: string | null;
  readonly share: number;
  running: number;
  /** Where its rows were when the first of what runs began. */
  node: string | null;
  readonly queue: Waiting[];
}

interface Waiting {
  readonly shares: number;
  readonly admit: () => void;
}

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { places, perTeam, maxWaiting = MAX_WAITING, maxWaitMs = MAX_WAIT_MS } = options;
  const { clock = systemClock } = options;
  const refusal = (limit: Limit, { share }: Caller): ProblemError => {
    options.observeRefusal?.(limit, share);
    return overLimit(limit, new ProblemError('unavailable'));
  };
  const teams = new Map<string | null, Team>();
  /** Those whose queue is not empty. The one that was served last is at the end. */
  const waiting = new Set<Team>();
  let free = places;
  const perNode = Math.max(1, Math.floor((places * 3) / 4));
  /** What runs for the teams of a node. */
  const ofNodes = new Map<string, number>();

  const teamOf = ({ share: id, node = null }: Caller): Team => {
    const known = teams.get(id);
    if (known?.running === 0) known.node = node;
    if (known) return known;
    const share = id === null ? places : perTeam;
    const team: Team = { id, share, running: 0, node, queue: [] };
    teams.set(id, team);
    return team;
  };
  const mayStart = (
    { running, share, node }: Pick<Team, 'running' | 'share' | 'node'>,
    shares: number,
  ): boolean =>
    free > 0 &&
    running + Math.min(shares, share) <= share &&
    (node === null || (ofNodes.get(node) ?? 0) < perNode);
  const count = (team: Team, shares: number, change: 1 | -1): void => {
    free -= change;
    team.running += change * Math.min(shares, team.share);
    if (team.node === null) return;
    const ofNode = (ofNodes.get(team.node) ?? 0) + change;
    if (ofNode === 0) ofNodes.delete(team.node);
    else ofNodes.set(team.node, ofNode);
  };
  const forget = (team: Team): void => {
    if (team.queue.length > 0) return;
    waiting.delete(team);
    if (team.running === 0) teams.delete(team.id);
  };
  const admitOne = (): boolean => {
    if (free === 0) return false;
    for (const team of waiting) {
      const [next] = team.queue;
      if (!next || !mayStart(team, next.shares)) continue;
      team.queue.shift();
      waiting.delete(team);
      if (team.queue.length > 0) waiting.add(team);
      count(team, next.shares, 1);
      next.admit();
      return true;
    }
    return false;
  };
  /** Behind work for several shares, several may go on. */
  const admitAll = (): void => {
    while (admitOne());
  };
  const waitInQueue = (team: Team, caller: Caller, shares: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const admit = (): void => {
        settle();
        resolve();
      };
      const waiter = { shares, admit };
      const giveUp = (error: ProblemError): void => {
        settle();
        team.queue.splice(team.queue.indexOf(waiter), 1);
        forget(team);
        reject(error);
        admitAll();
      };
      const hangUp = (): void => giveUp(hungUp());
      const { signal } = caller;
      const stopTimer = waitsWithoutLimit(caller)
        ? undefined
        : clock.after(maxWaitMs, () => giveUp(refusal('team_queue_time', caller)));
      const settle = (): void => {
        stopTimer?.();
        signal?.removeEventListener('abort', hangUp);
      };
      signal?.addEventListener('abort', hangUp);
      team.queue.push(waiter);
      waiting.add(team);
    });

  return {
    hasRoom: ({ share, node = null }) =>
      mayStart(teams.get(share) ?? { running: 0, share: places, node }, 1),
    enter: async (caller, shares = 1) => {
      if (caller.signal?.aborted) throw hungUp();
      const team = teamOf(caller);
      if (team.queue.length === 0 && mayStart(team, shares)) {
        count(team, shares, 1);
        return;
      }
      if (!waitsWithoutLimit(caller) && team.queue.length >= maxWaiting)
        throw refusal('team_queue_length', caller);
      await waitInQueue(team, caller, shares);
    },
    leave: (caller, shares = 1) => {
      const team = teamOf(caller);
      count(team, shares, -1);
      forget(team);
      admitAll();
    },
    waiting: () => [...waiting].reduce((sum, { queue }) => sum + queue.length, 0),
  };
}
