/**
 * Finds what has an id, of whichever team. All ids of teams' rows follow the team in their keys, so
 * each page of teams is one lookup of a primary key for each of its teams. Rejected: indexes by the
 * id alone, which every write would pay for and only this command would read.
 */
import { statement, type Db, type Statement } from '../db/client.ts';
import { listed, type RowOf } from '../db/rows.ts';

export const REQUEST = [
  'id',
  'team_id',
  'created_at',
  'key_id',
  'method',
  'route',
  'status',
  'duration_ms',
  'error_code',
  'limited_by',
] as const;
export const AUDIT = [
  'id',
  'team_id',
  'created_at',
  'actor_kind',
  'actor_id',
  'action',
  'target_id',
  'request_id',
] as const;
export const EVENT = [
  'id',
  'team_id',
  'type',
  'created_at',
  'request_id',
  'fanned_out_at',
  'place',
] as const;
export const DELIVERY = [
  'id',
  'team_id',
  'endpoint_id',
  'event_id',
  'event_type',
  'status',
  'attempt',
  'created_at',
  'next_try_at',
  'last_attempt_at',
  'response_code',
  'response_ms',
  'error',
  'failed_attempts',
  'urgent',
  'claimed_by',
] as const;

/** A line of the request log, without the caller's network. */
export type RequestRow = RowOf<'RequestLog', (typeof REQUEST)[number]>;
/** An audit entry without its details, which may be personal. */
export type AuditRow = RowOf<'AuditLog', (typeof AUDIT)[number]>;
/** An event without its data. */
export type EventRow = RowOf<'Event', (typeof EVENT)[number]>;
/** A delivery without what the receiver answered. */
export type DeliveryRow = RowOf<'WebhookDelivery', (typeof DELIVERY)[number]>;
/** A team, and what it is recognized by elsewhere. */
export type IdRow = Pick<RowOf<'Event'>, 'team_id' | 'id'>;

// Each is planned with its teams: how many they are decides how they are looked up.
const PLANNED = { isSearch: true } as const;

const FIND_REQUESTS = statement<RequestRow>(
  'trace.findRequests',
  `select ${listed(REQUEST)}
   from request_log
   where team_id = any ($1::text[]) and slot = $2 and id = $3
   limit 10`,
  PLANNED,
);

/** The line of the request log that has this id, which lies in this partition. */
export function findRequests(
  db: Db,
  teamIds: readonly string[],
  { id, slot }: { readonly id: string; readonly slot: number },
): Promise<RequestRow[]> {
  return db.query(FIND_REQUESTS, [teamIds, slot, id]);
}

/** A range of time, both ends included. */
export interface Window {
  readonly from: Date;
  readonly to: Date;
}

const FIND_AUDIT = statement<AuditRow>(
  'trace.findAudit',
  `select ${listed(AUDIT)}
   from audit_log
   where team_id = any ($1::text[])
     and created_at between $2 and $3
     and request_id = $4
   order by created_at, id
   limit $5`,
  PLANNED,
);

/** The audit entries of a request, oldest first. It reads all entries of the window. */
export function findAudit(
  db: Db,
  teamIds: readonly string[],
  {
    requestId,
    window,
    limit,
  }: { readonly requestId: string; readonly window: Window; readonly limit: number },
): Promise<AuditRow[]> {
  return db.query(FIND_AUDIT, [teamIds, window.from, window.to, requestId, limit]);
}

const byIdText = (table: string, columns: string): string =>
  `select ${columns}
   from ${table}
   where team_id = any ($1::text[]) and id = $2
   limit 10`;

/** Returns what finds the rows with an id. Seed files may give several teams the same one. */
const finderBy =
  <Row>(what: Statement<Row>) =>
  (db: Db, teamIds: readonly string[], id: string): Promise<Row[]> =>
    db.query(what, [teamIds, id]);

export const findEvents = finderBy(
  statement<EventRow>('trace.findEvents', byIdText('event', listed(EVENT)), PLANNED),
);

export const findDeliveries = finderBy(
  statement<DeliveryRow>(
    'trace.findDeliveries',
    byIdText('webhook_delivery', listed(DELIVERY)),
    PLANNED,
  ),
);

const idFinder = (name: string, table: string) =>
  finderBy(statement<IdRow>(`trace.${name}`, byIdText(table, 'team_id, id'), PLANNED));

export const findEndpoints = idFinder('findEndpoints', 'webhook_endpoint');
export const findKeys = idFinder('findKeys', 'api_key');
export const findConnections = idFinder('findConnections', 'crm_connection');

// One after the other: on Citus the two are in several places.
const FIND_TEAM_OF_PREFIX = statement<Pick<IdRow, 'team_id'>>(
  'trace.findTeamOfPrefix',
  'select team_id from key_directory where prefix = $1',
);
const FIND_KEY_BY_PREFIX = statement<IdRow>(
  'trace.findKeyByPrefix',
  'select team_id, id from api_key where team_id = $1 and prefix = $2',
);

/** The key with this public part, which is in the whole key and in the log. */
export async function findKeyByPrefix(db: Db, prefix: string): Promise<IdRow[]> {
  const team = await db.queryFirst(FIND_TEAM_OF_PREFIX, [prefix]);
  return team ? db.query(FIND_KEY_BY_PREFIX, [team.team_id, prefix]) : [];
}
