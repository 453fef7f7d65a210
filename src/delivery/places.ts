/**
 * Gives each event its place in the order in which `GET /events?order=asc` reads (why it is safe:
 * features/events/rules.ts). It begins at each tick and runs beside the rounds: it waits for
 * nobody's lock, and deliveries wait for neither a failure of it nor its look at all events, which
 * is slow behind an old transaction (look.ts). To begin that one late, too, would place an older
 * event behind a newer one, which a reader who begins behind the older one would not see.
 */
import type { Db } from '../db/client.ts';
import { runBeside } from './beside.ts';
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

/** Begins to give places to all events that wait for one, unless it has begun. */
export function placeEvents(loop: Loop): void {
  runBeside(loop, 'place', async (db) => {
    while (loop.state.mode === 'running' && (await placeBatch(db, BATCH)));
  });
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
