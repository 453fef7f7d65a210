/**
 * Tells workers after a commit that there is something new. Workers poll every half second, so a
 * lost wake-up costs no more than that.
 *
 * The wake-up is a NOTIFY of its own and never part of a change's transaction: a transaction that
 * notifies holds a lock over the whole database until its commit is on disk, so all commits would
 * stand in one line. Many commits share one NOTIFY.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { statement, type Statement } from './statement.ts';

/** What there is: events or due deliveries for the delivery loop, or jobs for the job runner. */
export type WakeUp = 'deliveries' | 'jobs';

/** The channel of the database's NOTIFY for each kind of wake-up. */
export const WAKE_UP_CHANNELS: Readonly<Record<WakeUp, string>> = {
  deliveries: 'wake_deliveries',
  jobs: 'wake_jobs',
};

/** A process's wake-ups on their way to the workers. */
export interface WakeUps {
  /** Call it after a commit. The wake-up goes out soon. Never throws. */
  add(what: Iterable<WakeUp>): void;
  /** Resolves when the wake-ups that were added have gone out, or are lost. */
  drain(): Promise<void>;
}

/** The first one after a pause goes out at once, later ones together at the end of this time. */
const GATHER_MS = 20;

const NOTIFY = statement(
  'wakeUps.notify',
  `select pg_notify(channel, '')
   from unnest($1::text[]) as channel`,
);

/** `send` runs a statement outside every transaction. */
export function openWakeUps(
  send: (notify: Statement<unknown>, values: readonly unknown[]) => Promise<unknown>,
): WakeUps {
  const waiting = new Set<WakeUp>();
  let sending: Promise<void> | null = null;
  const sendAll = async (): Promise<void> => {
    while (waiting.size > 0) {
      const channels = [...waiting].map((what) => WAKE_UP_CHANNELS[what]);
      waiting.clear();
      // Without a database the wake-up is lost, and workers find out by polling.
      await send(NOTIFY, [channels]).catch(() => undefined);
      await delay(GATHER_MS);
    }
  };
  return {
    add: (what) => {
      for (const each of what) waiting.add(each);
      if (waiting.size === 0) return;
      sending ??= sendAll().finally(() => {
        sending = null;
      });
    },
    drain: async () => {
      await sending;
    },
  };
}
