import { statement, type Db, type Tx } from '../../../db/client.ts';
import { lockTeam } from '../../../db/team-lock.ts';
import type { ProviderName } from '../providers/registry.ts';

/** A connection as admins see it, without its credentials. */
export interface ConnectionRow {
  readonly id: string;
  readonly provider: ProviderName;
  readonly status: string;
  readonly objection_marker: string | null;
  readonly created_at: string;
  readonly last_synced_at: string | null;
  readonly last_error: string | null;
  readonly failure_streak: number;
  readonly next_sync_at: string | null;
  readonly syncing: boolean;
  readonly has_credentials: boolean;
}

const COLUMNS = `id, provider, status, objection_marker, created_at, last_synced_at, last_error,
  failure_streak, next_sync_at, coalesce(sync_lease_until > $2, false) as syncing,
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
export function listConnections(db: Db, teamId: string, now: Date): Promise<ConnectionRow[]> {
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
  { connectionId, now }: { connectionId: string; now: Date },
): Promise<ConnectionRow | null> {
  return tx.queryFirst(FIND_LOCKED, [teamId, now, connectionId]);
}

/** What is needed to try other credentials for a connection. */
export interface ConnectionSettings {
  readonly provider: ProviderName;
  readonly objection_marker: string | null;
  readonly base_url: string | null;
}

const FIND_SETTINGS = statement<ConnectionSettings>(
  'crm.findConnectionSettings',
  `select provider, objection_marker, base_url
   from crm_connection
   where team_id = $1
     and id = $2
     and status <> 'disconnected'`,
);

/** They never change while the connection exists. */
export async function findSettings(
  db: Db,
  teamId: string,
  connectionId: string,
): Promise<ConnectionSettings | null> {
  const [row] = await db.query(FIND_SETTINGS, [teamId, connectionId]);
  return row ?? null;
}

const REPLACE_CREDENTIALS = statement(
  'crm.replaceCredentials',
  `update crm_connection
   set credentials_encrypted = $3, sync_state = null, sync_token = null, sync_lease_until = null,
     last_error = null, failure_streak = 0,
     next_sync_at = case when status = 'active' then $4::timestamptz end
   where team_id = $1
     and id = $2`,
);

/** The connection begins anew. It is due at once unless it is paused. */
export function replaceCredentials(
  tx: Tx,
  teamId: string,
  replaced: {
    readonly connectionId: string;
    readonly credentialsEncrypted: Buffer;
    readonly at: Date;
  },
): void {
  const { connectionId, credentialsEncrypted, at } = replaced;
  tx.send(REPLACE_CREDENTIALS, [teamId, connectionId, credentialsEncrypted, at]);
}

const COUNT = statement<{ count: number }>(
  'crm.countConnections',
  `select count(*)::int as count
   from crm_connection
   where team_id = $1
     and status <> 'disconnected'`,
);

/** Without disconnected ones. Nobody else can add one until the transaction ends. */
export async function countConnectionsLocked(tx: Tx, teamId: string): Promise<number> {
  lockTeam(tx, teamId);
  const [row] = await tx.query(COUNT, [teamId]);
  return row?.count ?? 0;
}

export interface NewConnection {
  readonly id: string;
  readonly provider: ProviderName;
  readonly credentialsEncrypted: Buffer;
  readonly objectionMarker: string | null;
  readonly baseUrl: string | null;
  readonly at: Date;
}

const INSERT = statement(
  'crm.insertConnection',
  `insert into crm_connection (
     team_id, id, provider, credentials_encrypted, objection_marker, base_url,
     created_at, next_sync_at
   )
   values ($1, $2, $3, $4, $5, $6, $7, $7)`,
);

/** The connection is due at once. */
export function insertConnection(tx: Tx, teamId: string, connection: NewConnection): void {
  const { id, provider, credentialsEncrypted, objectionMarker, baseUrl, at } = connection;
  tx.send(INSERT, [teamId, id, provider, credentialsEncrypted, objectionMarker, baseUrl, at]);
}

const PAUSE = statement(
  'crm.pauseConnection',
  `update crm_connection
   set status = 'paused', sync_token = null, sync_lease_until = null, next_sync_at = null
   where team_id = $1
     and id = $2`,
);

/** A run that is under way loses the connection. */
export function pauseConnection(tx: Tx, teamId: string, connectionId: string): void {
  tx.send(PAUSE, [teamId, connectionId]);
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

const MAKE_DUE = statement(
  'crm.makeConnectionDue',
  `update crm_connection
   set next_sync_at = $3, sync_requested_at = $3
   where team_id = $1 and id = $2`,
);

/** The connection is due at once. During a round another one is due at its end. */
export function makeDue(
  tx: Tx,
  teamId: string,
  { connectionId, at }: { connectionId: string; at: Date },
): void {
  tx.send(MAKE_DUE, [teamId, connectionId, at]);
}

const DISCONNECT = statement(
  'crm.disconnect',
  `update crm_connection
   set status = 'disconnected', credentials_encrypted = null, base_url = null, sync_state = null,
     sync_token = null, sync_lease_until = null, next_sync_at = null
   where team_id = $1
     and id = $2`,
);

/** Forgets the credentials. The lists hide the deals and objections because of the status. */
export function disconnect(tx: Tx, teamId: string, connectionId: string): void {
  tx.send(DISCONNECT, [teamId, connectionId]);
}
