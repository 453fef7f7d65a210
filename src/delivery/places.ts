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

/**
 * Gives places to at most `limit` events. Returns whether there may be more. A team whose lock
 * another worker has is passed over: that worker may hang, and the team's events be the oldest.
 */
export async function placeBatch(db: Db, limit: number): Promise<boolean> {
  if (!(await hasUnplaced(db))) return false;
  return db.transaction(async (tx) => {
    const others = new Set<string>();
    for (let room = limit; room > 0;) {
      const taken = await takeUnplaced(tx, room, [...others]);
      const own = taken.filter((event) => event.is_own);
      if (own.length > 0) givePlaces(tx, numbered(own));
      if (taken.length < room) return false;
      for (const event of taken) if (!event.is_own) others.add(event.team_id);
      room -= own.length;
    }
    return true;
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
