/**
 * Tells workers after a commit that there is something new. Workers poll every half second, so a
 * lost wake-up costs no more than that.
 *
 * The wake-up is a NOTIFY of its own and never part of a change's transaction: a transaction that
 * notifies holds a lock over the whole database until its commit is on disk, so all commits would
 * stand in one line. Many commits share one NOTIFY.
 */
import type { Clock } from '../../core/clock.ts';
import { statement, type Statement, type WakeUp } from '../statement.ts';

/** The channels of the database's NOTIFY: for the delivery loop, and for the job runner. */
export const WAKE_UP_CHANNELS = { deliveries: 'wake_deliveries', jobs: 'wake_jobs' } as const;

/** The payload where there are events and nothing else, which are found with fewer statements. */
export const ONLY_EVENTS = 'events';

interface Message {
  readonly channel: string;
  readonly payload: string;
}

const MESSAGES: Readonly<Record<WakeUp, Message>> = {
  events: { channel: WAKE_UP_CHANNELS.deliveries, payload: ONLY_EVENTS },
  deliveries: { channel: WAKE_UP_CHANNELS.deliveries, payload: '' },
  jobs: { channel: WAKE_UP_CHANNELS.jobs, payload: '' },
};

/** Runs the statement outside every transaction. */
type Send = (notify: Statement<unknown>, values: readonly unknown[]) => Promise<unknown>;

/** A process's wake-ups on their way to the workers. */
export interface WakeUps {
  /** Call it after a commit. The wake-up goes out soon. Never throws. */
  add(what: Iterable<WakeUp>): void;
  /**
   * Call it as soon as COMMIT is on its way, with what sends a statement behind it on the same
   * connection. So workers are woken without waiting for the answer to the COMMIT. The promise ends
   * with that statement and never rejects. null: wake-ups have just gone out, so call `add` after
   * the commit. If the commit fails, workers are woken for nothing.
   */
  follow(what: ReadonlySet<WakeUp>, send: Send): Promise<void> | null;
  /** Resolves when the wake-ups that were added have gone out, or are lost. */
  drain(): Promise<void>;
}

/** The first one after a pause goes out at once, later ones together at the end of this time. */
const GATHER_MS = 20;

// It does not wait for the disk: nothing is written, but Postgres would hold the lock until then,
// and listeners would hear of it later.
const NOTIFY = statement(
  'wakeUps.notify',
  `select set_config('synchronous_commit', 'off', true), pg_notify(channel, payload)
   from unnest($1::text[], $2::text[]) as message (channel, payload)`,
);

/** `send` takes a connection of its own. */
export function openWakeUps(send: Send, clock: Pick<Clock, 'wait'>): WakeUps {
  const waiting = new Set<WakeUp>();
  let sending: Promise<void> | null = null;
  /** Never rejects: without a database the wake-up is lost, and workers find out by polling. */
  const notify = async (what: Iterable<WakeUp>, by: Send): Promise<void> => {
    const all = new Set(what);
    // Whoever looks for due deliveries looks for events, too.
    if (all.has('deliveries')) all.delete('events');
    const messages = Array.from(all, (each) => MESSAGES[each]);
    const channels = messages.map(({ channel }) => channel);
    const payloads = messages.map(({ payload }) => payload);
    await by(NOTIFY, [channels, payloads]).catch(() => undefined);
  };
  const sendAll = async (first: Promise<void>): Promise<void> => {
    let sent = first;
    for (;;) {
      await sent;
      await clock.wait(GATHER_MS);
      if (waiting.size === 0) break;
      const what = [...waiting];
      waiting.clear();
      sent = notify(what, send);
    }
    sending = null;
  };
  return {
    add: (what) => {
      if (sending) for (const each of what) waiting.add(each);
      else {
        const first = [...what];
        if (first.length > 0) sending = sendAll(notify(first, send));
      }
    },
    follow: (what, behind) => {
      if (sending || what.size === 0) return null;
      const told = notify(what, behind);
      sending = sendAll(told);
      return told;
    },
    drain: async () => {
      await sending;
    },
  };
}
