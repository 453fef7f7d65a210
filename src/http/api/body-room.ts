/**
 * Limits how many bytes of large bodies are in memory while they arrive: in the process, and for
 * each owner. A body takes room for its whole length as soon as more of it has come than a small
 * body has; an announced length alone takes none. A body that finds no room is no longer read from
 * its client until there is some.
 *
 * While a body waits, the bodies that hold the room are refused if they are slow. Otherwise a
 * client that sends nothing would keep the others out. The refusal is 503 `unavailable` with
 * `Retry-After` and not 408, because the request may be repeated as it is, and clients know how.
 */
import type { Cancel, Clock } from '../../core/clock.ts';
import { createFairQueue } from '../../core/fair-queue.ts';
import { createLine, type Leave } from '../../core/line.ts';
import { overLimit, ProblemError } from '../../core/problem.ts';

export interface BodyRoomLimits {
  readonly totalMaxBytes: number;
  readonly ownerMaxBytes: number;
}

/** The least speed of a body while others wait, once its first second is over. */
const BYTES_PER_MS = 512;
const FIRST_MS = 1_000;
/** How often the speed is checked while a body waits. */
const CHECK_EVERY_MS = 100;

/** A body that arrives. */
export interface ArrivingBody {
  /** A team, or a service of the host application. */
  readonly owner: string;
  /** How many bytes have come so far. */
  readonly received: () => number;
  /** Ends the body. It leaves later, and may be refused again until then. */
  readonly refuse: (error: ProblemError) => void;
}

/** What one body holds. */
export interface BodyPlace {
  /** Calls `go` when there is room for so many bytes, at once or later. Call it once. */
  readonly enter: (bytes: number, go: () => void) => void;
  /** Gives everything back. */
  readonly leave: () => void;
}

export type BodyRoom = (body: ArrivingBody) => BodyPlace;

/** A body that holds room, or waits for it. */
interface Large {
  readonly body: ArrivingBody;
  readonly bytes: number;
  /** When it began, had it not waited: its client is not to blame for the wait. */
  readonly beganAt: number;
}

export function createBodyRoom(
  { totalMaxBytes, ownerMaxBytes }: BodyRoomLimits,
  clock: Pick<Clock, 'monotonicMs' | 'every'>,
): BodyRoom {
  const queue = createFairQueue({ places: totalMaxBytes, perOwner: ownerMaxBytes });
  const admitted = createLine<Large>();
  const waiting = createLine<Large>();
  let endChecks: Cancel | null = null;

  const isSlow = ({ body, beganAt }: Large): boolean => {
    const ms = clock.monotonicMs() - beganAt;
    return ms > FIRST_MS && body.received() < ms * BYTES_PER_MS;
  };
  /** The owners that keep their own bodies waiting; null: all of the room is taken. */
  const findInTheWay = (): ReadonlySet<string> | null => {
    const held = new Map<string, number>();
    for (const { body, bytes } of admitted)
      held.set(body.owner, (held.get(body.owner) ?? 0) + bytes);
    const owners = new Set<string>();
    for (const { body, bytes } of waiting) {
      // Those behind the first one of their owner wait for that one.
      if (owners.has(body.owner)) continue;
      if ((held.get(body.owner) ?? 0) + bytes <= ownerMaxBytes) return null;
      owners.add(body.owner);
    }
    return owners;
  };
  const refuseSlow = (): void => {
    const owners = findInTheWay();
    for (const large of admitted)
      if ((owners === null || owners.has(large.body.owner)) && isSlow(large))
        large.body.refuse(overLimit('body_speed', new ProblemError('unavailable')));
  };
  const enter = (large: Large, go: () => void): (() => void) => {
    const since = clock.monotonicMs();
    let leaveLine: Leave | null = null;
    const endWait = (): void => {
      leaveLine?.();
      if (waiting.size() > 0) return;
      endChecks?.();
      endChecks = null;
    };
    const admit = (): void => {
      endWait();
      const waitedMs = clock.monotonicMs() - since;
      leaveLine = admitted.join({ ...large, beganAt: large.beganAt + waitedMs });
      go();
    };
    const { body, bytes } = large;
    const leaveQueue = queue.enter({ owner: body.owner, places: bytes, admit });
    if (leaveLine === null) {
      leaveLine = waiting.join(large);
      endChecks ??= clock.every(CHECK_EVERY_MS, refuseSlow);
      refuseSlow();
    }
    return () => {
      endWait();
      leaveQueue();
    };
  };
  return (body) => {
    const beganAt = clock.monotonicMs();
    let leave: (() => void) | null = null;
    return {
      enter: (bytes, go) => {
        leave = enter({ body, bytes, beganAt }, go);
      },
      leave: () => leave?.(),
    };
  };
}
