/**
 * Shares a number of places among owners, so that no owner waits for the work of another one. An
 * owner has at most its share of the places; the rest of its work waits in a queue of its own, in
 * the order in which it came. A place that becomes free goes to the owners in turn.
 */
import { systemClock, type Clock } from './clock.ts';
import { createLine, firstOf, type Leave, type Line } from './line.ts';

export interface FairQueueOptions {
  /** `Infinity`: only the shares of the owners are limited. */
  readonly places: number;
  /** The most places that one owner has at once. */
  readonly perOwner: number;
  /** The most places that the owners of one group have together. */
  readonly perGroup?: number;
  /** The most that may wait in the queue of an owner. */
  readonly maxWaiting?: number;
  /** How long it may wait there. */
  readonly maxWaitMs?: number;
  readonly clock?: Pick<Clock, 'after'>;
}

/** Work that wants a place. */
export interface Work {
  /** null: the process itself, which may have all places. */
  readonly owner: string | null;
  readonly group?: string | null;
  /** How many places it takes; one by default. */
  readonly places?: number;
  /** As how many of its owner it counts, at most as all of them; as `places` by default. */
  readonly ofOwner?: number;
  /** The limits of the queue do not hold for it. */
  readonly isPatient?: boolean;
  /** Called once, when it has its place. `leave` gives the place back. */
  readonly admit: (leave: () => void) => void;
  /** Called instead if the queue is full, or after it has waited for too long. */
  readonly refuse?: (limit: 'length' | 'time') => void;
  /** Whether it no longer wants the place that it would get. */
  readonly isGone?: () => boolean;
}

export interface FairQueue {
  /**
   * Admits or refuses the work, at once or later. The returned function ends it wherever it is: it
   * no longer waits, or gives its place back.
   */
  enter(work: Work): () => void;
  /** Whether work of this owner would be admitted at once. */
  hasRoom(work: Pick<Work, 'owner' | 'group'>): boolean;
  /** How many wait, in all queues. */
  waiting(): number;
}

/** An owner that has places, or waits for one. */
interface Owner {
  readonly name: string | null;
  readonly share: number;
  taken: number;
  readonly queue: Line<Waiting>;
  /** Leaves the line of the owners that wait. */
  leaveLine: Leave;
}

interface Waiting {
  readonly work: Work;
  readonly begin: () => void;
}

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { places, perOwner, perGroup = Infinity } = options;
  const { maxWaiting = Infinity, maxWaitMs = Infinity, clock = systemClock } = options;
  const owners = new Map<string | null, Owner>();
  const groups = new Map<string, number>();
  /** Those that wait. The one that was served last is at the end. */
  const line = createLine<Owner>();
  let free = places;
  let waiting = 0;

  const createOwner = (name: string | null): Owner => ({
    name,
    share: name === null ? places : perOwner,
    taken: 0,
    queue: createLine(),
    leaveLine: () => false,
  });
  const ownerOf = (name: string | null): Owner => {
    const owner = owners.get(name) ?? createOwner(name);
    owners.set(name, owner);
    return owner;
  };
  const forget = (owner: Owner): void => {
    if (owner.taken === 0 && owner.queue.size() === 0) owners.delete(owner.name);
  };
  const shareOf = ({ share }: Owner, { places: wanted = 1, ofOwner = wanted }: Work): number =>
    Math.min(ofOwner, share);
  const fits = (owner: Owner, work: Work): boolean => {
    const { places: wanted = 1, group = null } = work;
    if (wanted > free || owner.taken + shareOf(owner, work) > owner.share) return false;
    return group === null || (groups.get(group) ?? 0) + wanted <= perGroup;
  };
  const count = (owner: Owner, work: Work, change: 1 | -1): void => {
    const { places: wanted = 1, group = null } = work;
    free -= change * wanted;
    owner.taken += change * shareOf(owner, work);
    if (group === null) return;
    const ofGroup = (groups.get(group) ?? 0) + change * wanted;
    if (ofGroup === 0) groups.delete(group);
    else groups.set(group, ofGroup);
  };
  const take = (owner: Owner, work: Work): (() => void) => {
    count(owner, work, 1);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      count(owner, work, -1);
      forget(owner);
      admitAll(owner);
    };
  };
  const admitOne = (candidates: Iterable<Owner>): boolean => {
    for (const owner of candidates) {
      const next = firstOf(owner.queue);
      if (!next || !fits(owner, next.work)) continue;
      owner.queue.shift();
      waiting -= 1;
      owner.leaveLine();
      if (owner.queue.size() > 0) owner.leaveLine = line.join(owner);
      if (next.work.isGone?.()) forget(owner);
      else next.begin();
      return true;
    }
    return false;
  };
  /** Called after work of the owner has left. Behind work for several places, several may go on. */
  const admitAll = (owner: Owner): void => {
    // Without a common limit, nothing has changed for the others.
    const candidates = places === Infinity ? [owner] : line;
    while (waiting > 0 && admitOne(candidates));
  };
  const waitInQueue = (owner: Owner, work: Work): (() => void) => {
    const giveUp = (): void => {
      if (!leaveQueue()) return;
      stopTimer?.();
      waiting -= 1;
      if (owner.queue.size() === 0) owner.leaveLine();
      forget(owner);
      admitAll(owner);
    };
    let end = giveUp;
    const begin = (): void => {
      stopTimer?.();
      end = take(owner, work);
      work.admit(end);
    };
    if (owner.queue.size() === 0) owner.leaveLine = line.join(owner);
    const leaveQueue = owner.queue.join({ work, begin });
    waiting += 1;
    const stopTimer =
      work.isPatient || maxWaitMs === Infinity
        ? undefined
        : clock.after(maxWaitMs, () => {
            giveUp();
            work.refuse?.('time');
          });
    return () => end();
  };

  return {
    enter: (work) => {
      const owner = ownerOf(work.owner);
      if (owner.queue.size() === 0 && fits(owner, work)) {
        const leave = take(owner, work);
        work.admit(leave);
        return leave;
      }
      if (work.isPatient || owner.queue.size() < maxWaiting) return waitInQueue(owner, work);
      forget(owner);
      work.refuse?.('length');
      return () => undefined;
    },
    hasRoom: ({ owner: name, group = null }) => {
      const owner = owners.get(name) ?? createOwner(name);
      return (
        owner.queue.size() === 0 && fits(owner, { owner: name, group, admit: () => undefined })
      );
    },
    waiting: () => waiting,
  };
}
