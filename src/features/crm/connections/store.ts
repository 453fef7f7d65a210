import type { CrmProvider } from '../../../core/vocabularies.ts';
import { statement, type Db, type Tx } from '../../../db/client.ts';
import { Prisma } from '../../../db/generated/client.ts';
import { listed, selectionOf, type RowOf } from '../../../db/rows.ts';

const CONNECTED = { not: 'disconnected' } as const;
/** A run that is under way finds another token in the row, and applies no page any more. */
const WITHOUT_RUN = { syncToken: null, syncLeaseUntil: null } as const;

const SHOWN = [
  'id',
  'provider',
  'status',
  'objection_marker',
  'created_at',
  'last_synced_at',
  'last_error',
  'failure_streak',
  'next_sync_at',
] as const;

/** A connection as admins see it, without its credentials. */
export interface ConnectionRow extends RowOf<'CrmConnection', (typeof SHOWN)[number]> {
  readonly provider: CrmProvider;
  readonly syncing: boolean;
  readonly due: boolean;
  readonly has_credentials: boolean;
}

// Both times are of the database's clock; $2 is `clock.override()`.
const COLUMNS = `${listed(SHOWN)},
  coalesce(sync_lease_until > coalesce($2::timestamptz, now()), false) as syncing,
  coalesce(next_sync_at <= coalesce($2::timestamptz, now()), false) as due,
  credentials_encrypted is not null as has_credentials`;

const LIST = statement<ConnectionRow>(
  'crm.listConnections',
  `select ${COLUMNS}
   from crm_connection
   where team_id = $1
     and status <> 'disconnected'
   order by created_at desc, id desc`,
);

/** Newest first, without disconnected ones. */
export function listConnections(
  db: Db,
  teamId: string,
  now: Date | null,
): Promise<ConnectionRow[]> {
  return db.query(LIST, [teamId, now]);
}

const FIND_LOCKED = statement<ConnectionRow>(
  'crm.findConnectionLocked',
  `select ${COLUMNS}
   from crm_connection
   where team_id = $1
     and id = $3
     and status <> 'disconnected'
   for no key update`,
);

/** Other changes, and the pages of its synchronization, wait until the transaction ends. */
export function findConnectionLocked(
  tx: Tx,
  teamId: string,
  { connectionId, now }: { connectionId: string; now: Date | null },
): Promise<ConnectionRow | null> {
  return tx.queryFirst(FIND_LOCKED, [teamId, now, connectionId]);
}

const SETTINGS = selectionOf('CrmConnection', ['provider', 'objection_marker', 'base_url']);

/** What is needed to try other credentials for a connection. */
export type ConnectionSettings = ReturnType<typeof SETTINGS.toRow>;

/** They never change while the connection exists. */
export async function findSettings(
  db: Db,
  teamId: string,
  connectionId: string,
): Promise<ConnectionSettings | null> {
  const found = await db.prisma.crmConnection.findFirst({
    where: { teamId, id: connectionId, status: CONNECTED },
    select: SETTINGS.select,
  });
  return found && SETTINGS.toRow(found);
}

/** The connection begins anew. It is due at `next`; null: not. */
export async function replaceCredentials(
  tx: Tx,
  teamId: string,
  replaced: {
    readonly connectionId: string;
    readonly credentialsEncrypted: Uint8Array<ArrayBuffer>;
    readonly next: Date | null;
  },
): Promise<void> {
  await tx.prisma.crmConnection.updateMany({
    where: { teamId, id: replaced.connectionId },
    data: {
      credentialsEncrypted: replaced.credentialsEncrypted,
      ...WITHOUT_RUN,
      syncState: Prisma.DbNull,
      lastError: null,
      failureStreak: 0,
      nextSyncAt: replaced.next,
    },
  });
}

/** Without disconnected ones. Needs `lockTeamFor`: then nobody else can add one. */
export function countConnections(tx: Tx, teamId: string): Promise<number> {
  return tx.prisma.crmConnection.count({ where: { teamId, status: CONNECTED } });
}

export interface NewConnection extends ConnectionSettings {
  readonly id: string;
  readonly credentialsEncrypted: Uint8Array<ArrayBuffer>;
  readonly at: Date;
  /** When it is due, by the database's clock. */
  readonly next: Date;
}

/** The connection is due at `next`. */
export async function insertConnection(
  tx: Tx,
  teamId: string,
  { at, next, objection_marker: objectionMarker, base_url: baseUrl, ...connection }: NewConnection,
): Promise<void> {
  await tx.prisma.crmConnection.createMany({
    data: [{ teamId, ...connection, objectionMarker, baseUrl, createdAt: at, nextSyncAt: next }],
  });
}

/** A run that is under way loses the connection. */
export async function pauseConnection(tx: Tx, teamId: string, connectionId: string): Promise<void> {
  await tx.prisma.crmConnection.updateMany({
    where: { teamId, id: connectionId },
    data: { status: 'paused', ...WITHOUT_RUN, nextSyncAt: null },
  });
}

// The round starts again: the CRM may have forgotten the cursor.
const RESUME = statement(
  'crm.resumeConnection',
  `update crm_connection
   set status = 'active',
     next_sync_at = case when credentials_encrypted is not null then $3::timestamptz end,
     sync_state = jsonb_set(sync_state, '{round}', 'null')
   where team_id = $1
     and id = $2`,
);

/** The connection is due at once if it has credentials. */
export function resumeConnection(
  tx: Tx,
  teamId: string,
  { connectionId, at }: { connectionId: string; at: Date },
): void {
  tx.send(RESUME, [teamId, connectionId, at]);
}

// What is overdue already keeps its place before those that are due since a later time.
const MAKE_DUE = statement(
  'crm.makeDue',
  `update crm_connection
   set next_sync_at = least(next_sync_at, $3), sync_requested_at = $3
   where team_id = $1
     and id = $2`,
);

/** The connection is due at once. During a round another one is due at its end. */
export function makeDue(
  tx: Tx,
  teamId: string,
  { connectionId, at }: { connectionId: string; at: Date },
): void {
  tx.send(MAKE_DUE, [teamId, connectionId, at]);
}

/** Forgets the credentials. The lists hide the deals and objections because of the status. */
export async function disconnect(tx: Tx, teamId: string, connectionId: string): Promise<void> {
  await tx.prisma.crmConnection.updateMany({
    where: { teamId, id: connectionId },
    data: {
      status: 'disconnected',
      credentialsEncrypted: null,
      baseUrl: null,
      ...WITHOUT_RUN,
      syncState: Prisma.DbNull,
      nextSyncAt: null,
    },
  });
}
