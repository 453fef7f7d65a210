/**
 * Limits how many bytes of large bodies are in memory while they arrive: in the process, and for
 * each owner. Only bytes that have arrived take room; an announced length takes none.
 *
 * A body that finds no room is no longer read from its client until there is some. Smaller bodies
 * do not wait behind it. The oldest body of an owner, and of all owners, never waits, even beyond
 * the limit: so one of them always completes.
 *
 * While a body waits, the bodies that hold the room are refused if they are slow. Otherwise a
 * client that sends nothing would keep the others out. The refusal is 503 `unavailable` with
 * `Retry-After` and not 408, because the request may be repeated as it is, and clients know how.
 */
import type { Cancel, Clock } from '../../core/clock.ts';
import { createLine, firstOf, type Leave, type Line } from '../../core/line.ts';
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
  /** Takes room for more bytes. False: there is none yet, and `go` is called when there is. */
  readonly take: (bytes: number, go: () => void) => boolean;
  /** Gives everything back. */
  readonly leave: () => void;
}

export type BodyRoom = (body: ArrivingBody) => BodyPlace;

/** A body that holds room, or waits for more. */
interface Holder {
  readonly body: ArrivingBody;
  readonly share: Share;
  held: number;
  readonly beganAt: number;
  /** How long it has waited for room, for which its client is not to blame. */
  waitedMs: number;
  wanted: Wanted | null;
}

interface Wanted {
  readonly bytes: number;
  readonly since: number;
  readonly go: () => void;
  readonly leaveLine: Leave;
}

/** What one owner holds. */
interface Share {
  held: number;
  readonly holders: Line<Holder>;
}

export function createBodyRoom(
  { totalMaxBytes, ownerMaxBytes }: BodyRoomLimits,
  clock: Pick<Clock, 'monotonicMs' | 'every'>,
): BodyRoom {
  const shares = new Map<string, Share>();
  // In the order in which they began to hold room.
  const holders = createLine<Holder>();
  const waiting = createLine<Holder>();
  let total = 0;
  let endChecks: Cancel | null = null;

  const add = (holder: Holder, bytes: number): void => {
    holder.held += bytes;
    holder.share.held += bytes;
    total += bytes;
  };
  const fitsShare = (holder: Holder, bytes: number): boolean =>
    holder.share.held + bytes <= ownerMaxBytes || firstOf(holder.share.holders) === holder;
  const fits = (holder: Holder, bytes: number): boolean =>
    firstOf(holders) === holder || (total + bytes <= totalMaxBytes && fitsShare(holder, bytes));
  const endWait = (holder: Holder, { since, leaveLine }: Wanted): void => {
    leaveLine();
    holder.waitedMs += clock.monotonicMs() - since;
    holder.wanted = null;
    if (waiting.size() > 0) return;
    endChecks?.();
    endChecks = null;
  };
  const letIn = (): void => {
    for (const holder of waiting) {
      const { wanted } = holder;
      if (wanted === null || !fits(holder, wanted.bytes)) continue;
      endWait(holder, wanted);
      add(holder, wanted.bytes);
      wanted.go();
    }
  };
  const isSlow = ({ body, beganAt, waitedMs, wanted }: Holder): boolean => {
    const ms = clock.monotonicMs() - beganAt - waitedMs;
    return wanted === null && ms > FIRST_MS && body.received() < ms * BYTES_PER_MS;
  };
  const refuseSlow = (): void => {
    const inTheWay = new Set<Line<Holder>>();
    for (const holder of waiting) {
      const isShareFull = holder.wanted !== null && !fitsShare(holder, holder.wanted.bytes);
      inTheWay.add(isShareFull ? holder.share.holders : holders);
    }
    for (const line of inTheWay)
      for (const holder of line)
        if (isSlow(holder))
          holder.body.refuse(overLimit('body_speed', new ProblemError('unavailable')));
  };
  const begin = (body: ArrivingBody, beganAt: number): { holder: Holder; end: () => void } => {
    const share = shares.get(body.owner) ?? { held: 0, holders: createLine() };
    shares.set(body.owner, share);
    const holder: Holder = { body, share, held: 0, beganAt, waitedMs: 0, wanted: null };
    const leaves = [holders.join(holder), share.holders.join(holder)];
    const end = (): void => {
      for (const leave of leaves) leave();
      if (holder.wanted !== null) endWait(holder, holder.wanted);
      add(holder, -holder.held);
      if (share.holders.size() === 0) shares.delete(body.owner);
      letIn();
    };
    return { holder, end };
  };
  return (body) => {
    const beganAt = clock.monotonicMs();
    let begun: ReturnType<typeof begin> | null = null;
    return {
      take: (bytes, go) => {
        begun ??= begin(body, beganAt);
        const { holder } = begun;
        if (fits(holder, bytes)) {
          add(holder, bytes);
          return true;
        }
        holder.wanted = { bytes, since: clock.monotonicMs(), go, leaveLine: waiting.join(holder) };
        endChecks ??= clock.every(CHECK_EVERY_MS, refuseSlow);
        refuseSlow();
        return false;
      },
      leave: () => {
        begun?.end();
        begun = null;
      },
    };
  };
}
