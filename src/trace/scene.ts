/** Reads what decides about the events and deliveries of one team. */
import type { Db } from '../db/client.ts';
import type { DeliveryRow, EventRow } from './find-store.ts';
import type { Scene } from './reasons.ts';
import { LIMITS } from './rules.ts';
import * as state from './state-store.ts';

/** What is asked about. */
interface Subjects {
  readonly now: Date;
  readonly distributed: boolean;
  readonly workers: readonly number[];
  readonly events: readonly EventRow[];
  readonly deliveries: readonly DeliveryRow[];
}

/** The state around these events and deliveries of the team. */
export async function readScene(
  db: Db,
  teamId: string,
  { now, distributed, workers, events, deliveries }: Subjects,
): Promise<Scene> {
  const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);
  const [team, endpoints, inHand] = await Promise.all([
    state.findTeam(db, teamId),
    state.listEndpoints(db, teamId, LIMITS.endpoints),
    state.countInHand(db, teamId, workers),
  ]);
  const paused = endpoints.filter(({ status }) => status !== 'active');
  const waiting = events.filter((event) => event.fanned_out_at === null);
  const [pauses, olderEvents, locks] = await Promise.all([
    Promise.all(paused.map(async ({ id }) => [id, await state.findPause(db, teamId, id)] as const)),
    Promise.all(
      waiting.map(
        async (event) => [event.id, await state.countOlderEvents(db, event.created_at)] as const,
      ),
    ),
    distributed
      ? []
      : Promise.all([
          state.findLockers(db, 'event', teamId, idsOf(events)),
          state.findLockers(db, 'delivery', teamId, idsOf(deliveries)),
          state.findLockers(db, 'endpoint', teamId, idsOf(endpoints)),
        ]),
  ]);
  return {
    now,
    workers: new Set(workers),
    team,
    endpoints,
    inHand,
    pauses: new Map(pauses.flatMap(([id, pause]) => (pause ? [[id, pause] as const] : []))),
    locks: new Map(locks.flat().map((lock) => [lock.id, lock] as const)),
    olderEvents: new Map(olderEvents),
  };
}
