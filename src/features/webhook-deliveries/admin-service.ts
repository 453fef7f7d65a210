/** Deliveries for the team's admins in the app: a list over all endpoints, and one in detail. */
import type { Clock } from '../../core/clock.ts';
import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import { unknownId } from '../../core/problem.ts';
import { toInstants } from '../../core/shapes.ts';
import type { Db } from '../../db/client.ts';
import { attemptsOf } from '../../db/kept-attempts.ts';
import { deliveryHeaders, envelopeText } from '../../delivery/envelope.ts';
import * as store from './admin-store.ts';
import type {
  AdminDeliveryRow,
  AttemptRow,
  DeliveryDetailRow,
  DeliveryFilters,
} from './admin-store.ts';
import {
  listHealth as readHealth,
  readBacklog,
  type Backlog,
  type Health,
} from './health-store.ts';
import { BACKLOG_WITHIN_S, COUNTED_MAX, LATELY_MS, partsShown } from './rules.ts';

const LIST = 'admin_deliveries';

/**
 * Lists deliveries of all endpoints, newest first. A page of a status or a type can hold fewer
 * than its limit, or none, although `next_cursor` leads to others. Throws `validation_error` for a
 * cursor of another list than `list`.
 */
export async function listDeliveries(
  db: Db,
  teamId: string,
  query: DeliveryFilters & PageQuery,
  list = LIST,
): Promise<Page<AdminDeliveryRow>> {
  const { cursor, limit, ...filters } = query;
  return readPage(list, { cursor, limit }, (slice) =>
    store.listDeliveries(db, teamId, slice, toInstants(filters)),
  );
}

/** Returns the health of each of the team's endpoints. */
export async function listHealth(db: Db, clock: Clock, teamId: string): Promise<Health[]> {
  const since = new Date(clock.now().getTime() - LATELY_MS);
  const rows = await readHealth(db, teamId, since);
  return rows.map((row) => ({
    ...row,
    failed: Math.min(row.failed, COUNTED_MAX),
    waiting: Math.min(row.waiting, COUNTED_MAX),
    has_more: (['failed', 'waiting'] as const).filter((name) => row[name] > COUNTED_MAX),
  }));
}

/** Returns what waits at an endpoint; nothing if the team has no such endpoint. */
export async function getBacklog(
  db: Db,
  clock: Clock,
  { teamId, endpointId }: { readonly teamId: string; readonly endpointId: string },
): Promise<Backlog> {
  const rows = await readBacklog(db, teamId, { endpointId, now: clock.now() });
  const countAt = (place: number | null): number =>
    rows.find((row) => row.place === place)?.count ?? 0;
  const groups = [...BACKLOG_WITHIN_S, null];
  const first = countAt(null);
  const retried = groups.map((_, place) => countAt(place));
  const shown = partsShown(retried);
  const sum = retried.reduce((total, count) => total + count, 0);
  return {
    first: Math.min(first, COUNTED_MAX),
    again: groups.map((withinS, place) => ({ withinS, count: shown[place] ?? 0 })),
    hasMore: first > COUNTED_MAX || sum > COUNTED_MAX,
  };
}

/** One delivery with its request and its attempts. */
export interface DeliveryDetail {
  readonly row: DeliveryDetailRow;
  readonly headers: Readonly<Record<string, string>>;
  /** The body that scheduled attempts send. */
  readonly body: string;
  /** Newest first. */
  readonly attempts: readonly AttemptRow[];
}

/**
 * Returns one delivery. The signature is made for each attempt and not stored, so the headers show
 * its form instead. Throws `not_found`.
 */
export async function getDelivery(
  db: Db,
  teamId: string,
  deliveryId: string,
): Promise<DeliveryDetail> {
  const row = await store.findDelivery(db, teamId, deliveryId);
  if (!row) throw unknownId('delivery_id');
  const id = row.event_id;
  const body = envelopeText({
    id,
    type: row.event_type,
    createdAt: row.event_created_at,
    apiVersion: row.api_version,
    teamId,
    data: row.event_data,
  });
  const headers = deliveryHeaders(body, { keys: [], eventId: id, at: new Date(0) });
  return {
    row,
    headers: { ...headers, ...UNKNOWN_HEADERS },
    body,
    attempts: attemptsOf(row).toReversed(),
  };
}

/** Headers that differ between the attempts. They are not kept. */
const UNKNOWN_HEADERS = {
  'svc-signature': 't=<unix_time>,v1=<hex>',
  'webhook-timestamp': '<unix_time>',
  'webhook-signature': 'v1,<base64>',
};
