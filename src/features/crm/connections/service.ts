import { encrypt } from '../../../core/encryption.ts';
import { newId } from '../../../core/ids.ts';
import { invalidField, ProblemError, unknownId } from '../../../core/problem.ts';
import { lockTeamFor, readChangeContext, type CurrentContext } from '../../../db/change-context.ts';
import type { Db, Tx } from '../../../db/client.ts';
import { record, type NewJob, type ChangeContext } from '../../../db/outbox.ts';
import { requireRoomInSandbox } from '../../../db/sandbox-rows.ts';
import { isProviderError } from '../providers/errors.ts';
import { serializeCredentials } from '../providers/provider.ts';
import { openProvider, type ProviderName } from '../providers/registry.ts';
import { removalJob, SCHEDULE_SYNCS } from '../sync/jobs.ts';
import { credentialsContext, requireRoom } from './rules.ts';
import * as store from './store.ts';
import type { ConnectionRow } from './store.ts';

/** Shorter than a synchronization's timeout: an admin waits for the answer. */
const CHECK_TIMEOUT_MS = 10_000;
/** Schedules due connections now instead of at the next minute. */
const SCHEDULE_NOW: NewJob = { task: SCHEDULE_SYNCS, payload: {}, key: SCHEDULE_SYNCS };

/** Newest first, without disconnected ones. */
export function listConnections(db: Db, teamId: string, now: Date): Promise<ConnectionRow[]> {
  return store.listConnections(db, teamId, now);
}

/** What an admin sends to connect a CRM. */
export interface WantedConnection {
  readonly provider: ProviderName;
  /** As the provider's `credentials` shape returned them. */
  readonly credentials: unknown;
  /** null: notes are not read. */
  readonly objectionMarker: string | null;
  /** null: the provider's own address. */
  readonly baseUrl: string | null;
}

/** How credentials are tried and stored. */
export interface CredentialOptions {
  readonly appSecret: string;
  /** Whether a connection may name another address than the provider's own. */
  readonly allowBaseUrl: boolean;
}

/**
 * Asks the CRM whether the credentials are sufficient. Then opens a transaction, stores them
 * encrypted and enqueues the first synchronization. Throws `validation_error`: field `credentials`,
 * `base_url`, or `provider` (the CRM does not answer, or the team has too many connections), and
 * `conflict` (the sandbox is full).
 */
export async function connect(
  db: Db,
  context: ChangeContext,
  wanted: WantedConnection,
  { appSecret, allowBaseUrl }: CredentialOptions,
): Promise<ConnectionRow> {
  const { teamId, at } = context;
  const { provider, objectionMarker, baseUrl } = wanted;
  const storedCredentials = serializeCredentials(wanted.credentials);
  await requireSufficient(
    { teamId, provider, storedCredentials, baseUrl, readsNotes: objectionMarker !== null, at },
    allowBaseUrl,
  );
  const id = newId('crmConnection');
  return db.transaction(async (tx) => {
    const [current, count] = await Promise.all([
      lockTeamFor(tx, context),
      store.countConnections(tx, teamId),
    ]);
    requireRoom(teamId, count);
    await requireRoomInSandbox(tx, teamId, 'crm_connection');
    const credentialsEncrypted = encrypt(
      storedCredentials,
      appSecret,
      credentialsContext(teamId, id),
    );
    await store.insertConnection(tx, teamId, {
      id,
      provider,
      credentialsEncrypted,
      objection_marker: objectionMarker,
      base_url: baseUrl,
      at,
    });
    record(tx, current, {
      audit: { action: 'crm_connection.connected', targetId: id, details: { provider } },
      jobs: [SCHEDULE_NOW],
    });
    return requireConnection(tx, context, id);
  });
}

/** What an admin sends to replace the credentials of a connection. */
export interface WantedCredentials {
  readonly connectionId: string;
  /** That of the connection. */
  readonly provider: ProviderName;
  /** As the provider's `credentials` shape returned them. */
  readonly credentials: unknown;
}

/**
 * Asks the CRM whether other credentials are sufficient. Then opens a transaction, stores them
 * encrypted in the place of the former ones and enqueues a synchronization, unless the connection
 * is paused. Throws `not_found`, and `validation_error` like `connect`, with the field `provider`
 * also for that of another CRM.
 */
export async function replaceCredentials(
  db: Db,
  context: ChangeContext,
  { connectionId, provider, credentials }: WantedCredentials,
  { appSecret, allowBaseUrl }: CredentialOptions,
): Promise<ConnectionRow> {
  const { teamId, at } = context;
  const settings = await store.findSettings(db, teamId, connectionId);
  if (!settings) throw unknownId('connection_id');
  if (settings.provider !== provider)
    throw invalidField('provider', `The connection is one of ${settings.provider}.`);
  const storedCredentials = serializeCredentials(credentials);
  const { base_url: baseUrl, objection_marker: marker } = settings;
  await requireSufficient(
    { teamId, provider, storedCredentials, baseUrl, readsNotes: marker !== null, at },
    allowBaseUrl,
  );
  return change(db, context, connectionId, async (tx, { status }, current) => {
    const credentialsEncrypted = encrypt(
      storedCredentials,
      appSecret,
      credentialsContext(teamId, connectionId),
    );
    const next = status === 'active' ? at : null;
    await store.replaceCredentials(tx, teamId, { connectionId, credentialsEncrypted, next });
    record(tx, current, {
      audit: {
        action: 'crm_connection.credentials_replaced',
        targetId: connectionId,
        details: { provider },
      },
      jobs: status === 'active' ? [SCHEDULE_NOW] : [],
    });
  });
}

async function requireSufficient(
  connection: Parameters<typeof openProvider>[1],
  allowBaseUrl: boolean,
): Promise<void> {
  const client = await openProvider({ timeoutMs: CHECK_TIMEOUT_MS, allowBaseUrl }, connection);
  try {
    await client.check();
  } catch (error) {
    if (!isProviderError(error)) throw error;
    const { reason } = error;
    if (reason === 'unauthorized')
      throw invalidField('credentials', 'The CRM does not accept the token.', 'token_rejected');
    if (reason === 'forbidden') {
      const notes = connection.readsNotes ? ' and notes' : '';
      throw invalidField(
        'credentials',
        `The token may not read deals and users${notes}.`,
        'token_insufficient',
      );
    }
    throw invalidField(
      'provider',
      `The CRM could not be asked (${reason}). Nothing was stored; try again.`,
      'crm_unreachable',
    );
  } finally {
    client.close();
  }
}

/** Hides its deals and objections until it is resumed. Opens a transaction. Throws `not_found`. */
export function pause(
  db: Db,
  context: ChangeContext,
  connectionId: string,
): Promise<ConnectionRow> {
  return change(db, context, connectionId, async (tx, row, current) => {
    if (row.status === 'paused') return;
    await store.pauseConnection(tx, context.teamId, connectionId);
    record(tx, current, { audit: { action: 'crm_connection.paused', targetId: connectionId } });
  });
}

/** Opens a transaction; enqueues a synchronization. Throws `not_found`. */
export function resume(
  db: Db,
  context: ChangeContext,
  connectionId: string,
): Promise<ConnectionRow> {
  return change(db, context, connectionId, async (tx, row, current) => {
    if (row.status === 'active') return;
    store.resumeConnection(tx, context.teamId, { connectionId, at: context.at });
    record(tx, current, {
      audit: { action: 'crm_connection.resumed', targetId: connectionId },
      jobs: [SCHEDULE_NOW],
    });
  });
}

/**
 * Opens a transaction; enqueues a synchronization. Throws `not_found`, and `conflict` for a
 * connection that is paused or has no credentials.
 */
export function syncNow(
  db: Db,
  context: ChangeContext,
  connectionId: string,
): Promise<ConnectionRow> {
  return change(db, context, connectionId, async (tx, row, current) => {
    if (row.status !== 'active')
      throw new ProblemError('conflict', { detail: 'The connection is paused.' });
    if (!row.has_credentials)
      throw new ProblemError('conflict', { detail: 'The connection has no credentials.' });
    await store.makeDue(tx, context.teamId, { connectionId, at: context.at });
    record(tx, current, {
      audit: { action: 'crm_connection.sync_requested', targetId: connectionId },
      jobs: [SCHEDULE_NOW],
    });
  });
}

/**
 * Cannot be undone: hides its deals and objections at once, and enqueues a job that removes the
 * rows. Opens a transaction. Throws `not_found`.
 */
export async function disconnect(
  db: Db,
  context: ChangeContext,
  connectionId: string,
): Promise<void> {
  const { teamId } = context;
  await db.transaction(async (tx) => {
    const [{ provider }, current] = await Promise.all([
      requireConnection(tx, context, connectionId),
      readChangeContext(tx, context),
    ]);
    await store.disconnect(tx, teamId, connectionId);
    record(tx, current, {
      audit: {
        action: 'crm_connection.disconnected',
        targetId: connectionId,
        details: { provider },
      },
      jobs: [removalJob({ teamId, connectionId })],
    });
  });
}

function change(
  db: Db,
  context: ChangeContext,
  connectionId: string,
  work: (tx: Tx, row: ConnectionRow, current: CurrentContext) => Promise<void>,
): Promise<ConnectionRow> {
  return db.transaction(async (tx) => {
    const [row, current] = await Promise.all([
      requireConnection(tx, context, connectionId),
      readChangeContext(tx, context),
    ]);
    await work(tx, row, current);
    return requireConnection(tx, context, connectionId);
  });
}

async function requireConnection(
  tx: Tx,
  { teamId, at }: ChangeContext,
  connectionId: string,
): Promise<ConnectionRow> {
  const row = await store.findConnectionLocked(tx, teamId, { connectionId, now: at });
  if (!row) throw unknownId('connection_id');
  return row;
}
