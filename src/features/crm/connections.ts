/** CRM connections, as a team's admins manage them in the app (specification, general rule 5). */
import { encrypt } from '../../core/encryption.ts';
import { newId } from '../../core/ids.ts';
import { invalidField, notFound, ProblemError } from '../../core/problem.ts';
import type { Db, Tx } from '../../db/client.ts';
import { record, type NewJob, type ChangeContext } from '../../db/outbox.ts';
import * as store from './connection-store.ts';
import { isProviderError } from './provider.ts';
import { openProvider, PROVIDER_TIMEOUT_MS, type ProviderName, type ProviderSettings } from './providers.ts';
import { CONNECTIONS_MAX, credentialsContext } from './rules.ts';
import type { ConnectionRow } from './store.ts';
import { REMOVE_CONNECTION, SCHEDULE_SYNCS, type ConnectionKey } from './sync-store.ts';

/** Somebody waits for the answer: less than a synchronization waits for. */
const CHECK_TIMEOUT_MS = PROVIDER_TIMEOUT_MS / 2;
/** Looks at once for what is due. */
const SCHEDULE_NOW: NewJob = { task: SCHEDULE_SYNCS, payload: {}, key: SCHEDULE_SYNCS };

/** Newest first, without disconnected ones. */
export function listConnections(db: Db, teamId: string, now: Date): Promise<ConnectionRow[]> {
  return store.listConnections(db, teamId, now);
}

export interface WantedConnection {
  readonly provider: ProviderName;
  readonly token: string;
  readonly objectionMarker: string | null;
  readonly baseUrl: string | null;
}

/**
 * Asks the provider whether the token suffices, and only then opens a transaction, which stores it encrypted and enqueues the first synchronization. Throws
 * `validation_error` (field `credentials`, `base_url`, or `provider`, also when that cannot be asked).
 */
export async function connect(
  db: Db,
  occasion: ChangeContext,
  wanted: WantedConnection,
  { appSecret, allowBaseUrl }: { appSecret: string; allowBaseUrl: boolean },
): Promise<ConnectionRow> {
  const { teamId, at } = occasion;
  const { provider, token, objectionMarker, baseUrl } = wanted;
  if (baseUrl !== null && !allowBaseUrl) throw invalidField('base_url', 'Only for development and tests.');
  await requireSufficient(wanted, { timeoutMs: CHECK_TIMEOUT_MS, allowBaseUrl });
  const id = newId('crmConnection');
  return db.transaction(async (tx) => {
    if ((await store.countConnectionsLocked(tx, teamId)) >= CONNECTIONS_MAX)
      throw invalidField('provider', `A team has at most ${CONNECTIONS_MAX} CRM connections.`);
    const credentialsEncrypted = encrypt(token, appSecret, credentialsContext(teamId, id));
    store.insertConnection(tx, teamId, { id, provider, credentialsEncrypted, objectionMarker, baseUrl, at });
    record(tx, occasion, {
      audit: { action: 'crm_connection.connected', targetId: id, details: { provider } },
      jobs: [SCHEDULE_NOW],
    });
    return requireConnection(tx, occasion, id);
  });
}

async function requireSufficient(
  { provider, token, baseUrl, objectionMarker }: WantedConnection,
  settings: ProviderSettings,
): Promise<void> {
  const opened = await openProvider(settings, { provider, token, baseUrl, readsNotes: objectionMarker !== null });
  try {
    await opened.check();
  } catch (error) {
    if (!isProviderError(error)) throw error;
    if (error.reason === 'unauthorized') throw invalidField('credentials', 'The CRM does not accept the token.');
    if (error.reason === 'forbidden')
      throw invalidField(
        'credentials',
        `The token may not read deals and users${objectionMarker === null ? '' : ' and notes'}.`,
      );
    throw invalidField('provider', `The CRM could not be asked (${error.reason}). Nothing was stored; try again.`);
  } finally {
    opened.close();
  }
}

/** Its deals and objections leave the lists until it is resumed. Opens a transaction. Throws `not_found`. */
export function pause(db: Db, occasion: ChangeContext, connectionId: string): Promise<ConnectionRow> {
  return change(db, occasion, connectionId, (tx, row) => {
    if (row.status === 'paused') return;
    store.pauseConnection(tx, occasion.teamId, connectionId);
    record(tx, occasion, { audit: { action: 'crm_connection.paused', targetId: connectionId } });
  });
}

/** Opens a transaction; enqueues a synchronization. Throws `not_found`. */
export function resume(db: Db, occasion: ChangeContext, connectionId: string): Promise<ConnectionRow> {
  return change(db, occasion, connectionId, (tx, row) => {
    if (row.status === 'active') return;
    store.resumeConnection(tx, occasion.teamId, { connectionId, at: occasion.at });
    record(tx, occasion, {
      audit: { action: 'crm_connection.resumed', targetId: connectionId },
      jobs: [SCHEDULE_NOW],
    });
  });
}

/** Opens a transaction; enqueues a synchronization. Throws `not_found`, `conflict` for a connection that cannot be synchronized. */
export function syncNow(db: Db, occasion: ChangeContext, connectionId: string): Promise<ConnectionRow> {
  return change(db, occasion, connectionId, (tx, row) => {
    if (row.status !== 'active') throw new ProblemError('conflict', { detail: 'The connection is paused.' });
    if (!row.has_credentials) throw new ProblemError('conflict', { detail: 'The connection has no credentials.' });
    store.makeDue(tx, occasion.teamId, { connectionId, at: occasion.at });
    record(tx, occasion, {
      audit: { action: 'crm_connection.sync_requested', targetId: connectionId },
      jobs: [SCHEDULE_NOW],
    });
  });
}

/** For good: deals and objections leave the lists at once, a job removes the rows. Opens a transaction. Throws `not_found`. */
export async function disconnect(db: Db, occasion: ChangeContext, connectionId: string): Promise<void> {
  const { teamId } = occasion;
  await db.transaction(async (tx) => {
    const { provider } = await requireConnection(tx, occasion, connectionId);
    store.disconnect(tx, teamId, connectionId);
    record(tx, occasion, {
      audit: { action: 'crm_connection.disconnected', targetId: connectionId, details: { provider } },
      jobs: [
        {
          task: REMOVE_CONNECTION,
          payload: { teamId, connectionId },
          key: `${REMOVE_CONNECTION}:${teamId}:${connectionId}`,
        },
      ],
    });
  });
}

/** Removes the rows of a disconnected connection, a batch a transaction, and the connection at last. */
export async function removeRows(db: Db, { teamId, connectionId }: ConnectionKey): Promise<void> {
  while (!(await store.removeDeals(db, teamId, connectionId)));
  await store.removeConnection(db, teamId, connectionId);
}

type LockedRow = Awaited<ReturnType<typeof requireConnection>>;

function change(
  db: Db,
  occasion: ChangeContext,
  connectionId: string,
  work: (tx: Tx, row: LockedRow) => void,
): Promise<ConnectionRow> {
  return db.transaction(async (tx) => {
    work(tx, await requireConnection(tx, occasion, connectionId));
    return requireConnection(tx, occasion, connectionId);
  });
}

async function requireConnection(tx: Tx, { teamId, at }: ChangeContext, connectionId: string) {
  const row = await store.findConnectionLocked(tx, teamId, { connectionId, now: at });
  if (!row) throw notFound();
  return row;
}
