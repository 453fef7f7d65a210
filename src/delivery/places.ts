/**
 * Gives each event its place in the order in which `GET /events?order=asc` reads (why it is safe:
 * features/events/rules.ts). It runs at each tick, beside what deliveries need: it waits for
 * nobody's lock, and a failure of it stops no delivery.
 */
import type { Db } from '../db/client.ts';
import type { Loop } from './loop.ts';
import {
  givePlaces,
  hasUnplaced,
  takeUnplaced,
  type NumberedEvent,
  type UnplacedEvent,
} from './places-store.ts';

/** Takes 10 ms. */
const BATCH = 500;

/** Gives places to a batch of events, and notes whether more wait. Never rejects. */
export async function placeEvents({ options, state }: Loop): Promise<void> {
  try {
    state.hasMoreUnplaced = await placeBatch(options.db, BATCH);
  } catch (error) {
    state.hasMoreUnplaced = false;
    options.logger.warn({ err: error }, 'events could not be given their places yet');
  }
}

/** Gives places to at most `limit` events. Returns whether it took that many. */
export async function placeBatch(db: Db, limit: number): Promise<boolean> {
  if (!(await hasUnplaced(db))) return false;
  return db.transaction(async (tx) => {
    const own = (await takeUnplaced(tx, limit)).filter((event) => event.is_own);
    if (own.length > 0) givePlaces(tx, numbered(own));
    // If another worker has the lock of some, it or the next tick takes them.
    return own.length === limit;
  });
}

function numbered(events: readonly UnplacedEvent[]): NumberedEvent[] {
  const counts = new Map<string, number>();
  return events.map(({ team_id: teamId, id }) => {
    const number = (counts.get(teamId) ?? 0) + 1;
    counts.set(teamId, number);
    return { teamId, id, number };
  });
}
