/**
 * The slots of one worker: how many attempts may be in flight. The worker's loops share them, one
 * loop for each shard; on plain Postgres there is one loop.
 */

/** Launches one attempt of a loop. Returns false if none is ready, or every slot is taken. */
export type Launcher = () => boolean;

/** The functions of endpoint-queues.ts change `taken` and `parked`. */
export interface Slots {
  /** How many there are. */
  readonly count: number;
  /** Attempts in flight that hold a slot. */
  taken: number;
  /** Attempts in flight that have given their slot to others. */
  parked: number;
  /** The loops that launch; the one that had its turn longest ago is first. */
  readonly launchers: Set<Launcher>;
}

const PARKED_PER_SLOT = 20;

/** How many attempts may be parked. */
export function parkedMax({ count }: Slots): number {
  return count * PARKED_PER_SLOT;
}

/** Slots that nobody has taken. */
export function newSlots(count: number): Slots {
  return { count, taken: 0, parked: 0, launchers: new Set() };
}

/** Launches until every slot is taken or no loop has anything ready. Loops take turns. */
export function fillSlots({ launchers }: Slots): void {
  let idle = 0;
  while (idle < launchers.size) {
    const [launch] = launchers;
    if (!launch) return;
    launchers.delete(launch);
    launchers.add(launch);
    idle = launch() ? 0 : idle + 1;
  }
}

/** A loop's part of something that the loops share: at least one. */
export function partOf({ launchers }: Slots, total: number): number {
  return Math.ceil(total / Math.max(1, launchers.size));
}
