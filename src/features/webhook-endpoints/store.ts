import { statement, type Db, type Tx } from '../../db/client.ts';
import { assigned, listed, parameters, selectionOf, valuesIn, type RowOf } from '../../db/rows.ts';

const SHOWN = [
  'id',
  'url',
  'events',
  'status',
  'api_version',
  'description',
  'created_at',
  'last_success_at',
  // The end of the last earlier secret, which may be over; null if there is none.
  'earlier_secrets_until',
] as const;
const SELECTION = selectionOf('WebhookEndpoint', SHOWN);

/** An endpoint without its secret: only the delivery loop reads secrets. */
export type EndpointRow = RowOf<'WebhookEndpoint', (typeof SHOWN)[number]>;

/** All endpoints of the team, newest first. There are at most 50, so there are no pages. */
export async function listEndpoints(db: Db, teamId: string): Promise<EndpointRow[]> {
  const found = await db.prisma.webhookEndpoint.findMany({
    where: { teamId },
    select: SELECTION.select,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
  return found.map(SELECTION.toRow);
}

const FAILING = selectionOf('WebhookEndpoint', [
  'id',
  'url',
  'description',
  'status',
  'failing_since',
]);

/** An endpoint to which deliveries fail. */
export type FailingEndpointRow = ReturnType<typeof FAILING.toRow>;

/** The endpoints, not paused by hand, whose first failure after a success was by then. */
export async function listFailingEndpoints(
  db: Db,
  teamId: string,
  until: Date,
): Promise<FailingEndpointRow[]> {
  const found = await db.prisma.webhookEndpoint.findMany({
    where: { teamId, status: { not: 'disabled' }, failingSince: { lte: until } },
    select: FAILING.select,
    orderBy: [{ failingSince: 'asc' }, { id: 'asc' }],
  });
  return found.map(FAILING.toRow);
}

/** The endpoint, or null. */
export async function findEndpoint(
  db: Db,
  teamId: string,
  endpointId: string,
): Promise<EndpointRow | null> {
  const found = await db.prisma.webhookEndpoint.findFirst({
    where: { teamId, id: endpointId },
    select: SELECTION.select,
  });
  return found && SELECTION.toRow(found);
}

// A statement, not Prisma: it is sent together with the lock, so it takes no round trip of its own.
const COUNT = statement<{ readonly count: number }>(
  'webhooks.countEndpoints',
  `select count(*)::int
   from webhook_endpoint
   where team_id = $1`,
);

/** Counts the team's endpoints. Needs `lockTeamFor`: then no other creation counts or adds. */
export async function countEndpoints(tx: Tx, teamId: string): Promise<number> {
  return (await tx.queryFirst(COUNT, [teamId]))?.count ?? 0;
}

const INSERTED = [...SHOWN, 'secret_encrypted', 'secret_unconfirmed_since'] as const;

// This is SQL and not Prisma, so that it can be sent together with COMMIT: no answer is needed.
const INSERT_ENDPOINT = statement(
  'webhooks.insertEndpoint',
  `insert into webhook_endpoint (team_id, ${listed(INSERTED)})
   values ($1, ${parameters(INSERTED, 2)})`,
);

/** Inserts an endpoint with its encrypted secret. */
export function insertEndpoint(
  tx: Tx,
  teamId: string,
  row: RowOf<'WebhookEndpoint', (typeof INSERTED)[number]>,
): void {
  tx.send(INSERT_ENDPOINT, [teamId, ...valuesIn(INSERTED, row)]);
}

/** The endpoint, locked until the transaction ends, or null. */
export const findForUpdate = statement<EndpointRow>(
  'webhooks.findForUpdate',
  `select ${listed(SHOWN)}
   from webhook_endpoint
   where team_id = $1 and id = $2
   for no key update`,
).finds<[tx: Tx, teamId: string, endpointId: string]>();

const CHANGEABLE = ['url', 'description', 'events', 'status'] as const;

const UPDATE = statement(
  'webhooks.update',
  `update webhook_endpoint
   set ${assigned(CHANGEABLE, 4)}, paused_at = coalesce($3, paused_at)
   where team_id = $1 and id = $2`,
);

/**
 * Writes all values that a change can set, of an endpoint that the caller has locked. `pausedAt`
 * null: the change does not pause it.
 */
export function updateEndpoint(
  tx: Tx,
  teamId: string,
  row: EndpointRow,
  pausedAt: Date | null,
): void {
  tx.send(UPDATE, [teamId, row.id, pausedAt, ...valuesIn(CHANGEABLE, row)]);
}

/** Clears the failures and makes workers look for deliveries that waited. */
export const activateEndpoint = statement(
  'webhooks.activate',
  `update webhook_endpoint
   set failing_since = null, hourly_failures = '{}', activated_at = $3
   where team_id = $1 and id = $2`,
).sends<[tx: Tx, teamId: string, endpointId: string, at: Date]>();

const SEALED = [
  ...SHOWN,
  'secret_encrypted',
  'earlier_secrets_encrypted',
  'secret_unconfirmed_since',
] as const;

/**
 * An endpoint with its encrypted secrets. `earlier_secrets_encrypted` null: there are none;
 * `secret_unconfirmed_since` null: nobody needs to confirm that the present one is stored.
 */
export type SealedEndpointRow = RowOf<'WebhookEndpoint', (typeof SEALED)[number]>;

/** Locks the endpoint and returns it with its secrets, or null if there is none. */
export const findSealedForUpdate = statement<SealedEndpointRow>(
  'webhooks.findSealed',
  `select ${listed(SEALED)}
   from webhook_endpoint
   where team_id = $1 and id = $2
   for no key update`,
).finds<[tx: Tx, teamId: string, endpointId: string]>();

const SECRETS = [
  'secret_encrypted',
  'earlier_secrets_encrypted',
  'earlier_secrets_until',
  'secret_unconfirmed_since',
] as const;

const REPLACE_SECRETS = statement(
  'webhooks.replaceSecrets',
  `update webhook_endpoint
   set ${assigned(SECRETS, 3)}
   where team_id = $1 and id = $2`,
);

/** Replaces the secrets of an endpoint that the caller has locked. */
export function replaceSecrets(
  tx: Tx,
  teamId: string,
  endpointId: string,
  secrets: Pick<SealedEndpointRow, (typeof SECRETS)[number]>,
): void {
  tx.send(REPLACE_SECRETS, [teamId, endpointId, ...valuesIn(SECRETS, secrets)]);
}

/** Keeps that somebody has stored the present secret of an endpoint that the caller has locked. */
export async function markSecretStored(tx: Tx, teamId: string, endpointId: string): Promise<void> {
  await tx.prisma.webhookEndpoint.updateMany({
    where: { teamId, id: endpointId },
    data: { secretUnconfirmedSince: null },
  });
}

/**
 * Deletes the endpoint's row. Its deliveries belong to no endpoint then. Returns false if there is
 * no such endpoint.
 */
export const removeEndpoint = statement<{ readonly id: string }>(
  'webhooks.remove',
  'delete from webhook_endpoint where team_id = $1 and id = $2 returning id',
).matches<[tx: Tx, teamId: string, endpointId: string]>();

// The event comes together with its delivery, so it needs no fan-out. VALUES, as in db/outbox.ts.
const INSERT_PING = statement(
  'webhooks.insertPing',
  `with ping as (
     insert into event
       (team_id, id, type, data, created_at, fanned_out_at, traceparent, request_id)
     values (
       $1, $3, 'ping', $7, $5, $5, $6, $8
     )
   )
   insert into webhook_delivery
     (team_id, id, endpoint_id, event_id, event_type, created_at, next_try_at, urgent)
   values ($1, $4, $2, $3, 'ping', $5, $5, true)`,
  { wakes: 'deliveries' },
);

/** Queues a `ping` to the endpoint, whatever its status. Needs `holdRow`. */
export function insertPing(
  tx: Tx,
  teamId: string,
  ping: {
    endpointId: string;
    eventId: string;
    deliveryId: string;
    at: Date;
    data: string;
    requestId: string;
  },
): void {
  const { endpointId, eventId, deliveryId, at, data, requestId } = ping;
  const traceparent = tx.trace?.event('ping', eventId) ?? null;
  const values = [teamId, endpointId, eventId, deliveryId, at, traceparent, data, requestId];
  tx.send(INSERT_PING, values);
}
