import type { Clock } from '../../../core/clock.ts';
import { encrypt } from '../../../core/encryption.ts';
import { newId } from '../../../core/ids.ts';
import { invalidField, ProblemError, unknownId } from '../../../core/problem.ts';
import { lockTeamFor, readChangeContext, type CurrentContext } from '../../../db/change-context.ts';
import type { Db, Tx } from '../../../db/client.ts';
import { databaseTime } from '../../../db/database-clock.ts';
import { record, type ChangeContext } from '../../../db/outbox.ts';
import { isProviderError } from '../providers/errors.ts';
import { serializeCredentials } from '../providers/provider.ts';
import { openProvider, type ProviderName } from '../providers/registry.ts';
import { removalJob, scheduleJob } from '../sync/jobs.ts';
import { credentialsContext, requireRoom } from './rules.ts';
import * as store from './store.ts';
import type { ConnectionRow } from './store.ts';

/** Shorter than a synchronization's timeout: an admin waits for the answer. */
const CHECK_TIMEOUT_MS = 10_000;

/** Newest first, without disconnected ones. */
export function listConnections(db: Db, clock: Clock, teamId: string): Promise<ConnectionRow[]> {
  return store.listConnections(db, teamId, clock.override());
}

/**
 * Who changes a connection. When it is due, workers judge by the database's clock: by that of the
 * process, what is asked for now could be of the future to them.
 */
export interface CrmChange {
  readonly context: ChangeContext;
  readonly clock: Clock;
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
  { context, clock }: CrmChange,
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
    const [current, count, next] = await Promise.all([
      lockTeamFor(tx, context),
      store.countConnections(tx, teamId),
      databaseTime(tx, clock.override()),
    ]);
    requireRoom(teamId, count);
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
      next,
    });
    record(tx, current, {
      audit: { action: 'crm_connection.connected', targetId: id, details: { provider } },
      jobs: [scheduleJob(teamId)],
    });
    return requireConnection(tx, { context, clock }, id);
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
  by: CrmChange,
  { connectionId, provider, credentials }: WantedCredentials,
  { appSecret, allowBaseUrl }: CredentialOptions,
): Promise<ConnectionRow> {
  const { teamId, at } = by.context;
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
  return change(db, by, connectionId, async (tx, { row: { status }, current, at: due }) => {
    const credentialsEncrypted = encrypt(
      storedCredentials,
      appSecret,
      credentialsContext(teamId, connectionId),
    );
    const next = status === 'active' ? due : null;
    await store.replaceCredentials(tx, teamId, { connectionId, credentialsEncrypted, next });
    record(tx, current, {
      audit: {
        action: 'crm_connection.credentials_replaced',
        targetId: connectionId,
        details: { provider },
      },
      jobs: status === 'active' ? [scheduleJob(teamId)] : [],
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
        `The token may not read deals and users${notes}, or the account is closed.`,
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
export function pause(db: Db, by: CrmChange, connectionId: string): Promise<ConnectionRow> {
  return change(db, by, connectionId, async (tx, { row, current }) => {
    if (row.status === 'paused') return;
    await store.pauseConnection(tx, by.context.teamId, connectionId);
    record(tx, current, { audit: { action: 'crm_connection.paused', targetId: connectionId } });
  });
}

/** Opens a transaction; enqueues a synchronization. Throws `not_found`. */
export function resume(db: Db, by: CrmChange, connectionId: string): Promise<ConnectionRow> {
  const { teamId } = by.context;
  return change(db, by, connectionId, async (tx, { row, current, at }) => {
    if (row.status === 'active') return;
    store.resumeConnection(tx, teamId, { connectionId, at });
    record(tx, current, {
      audit: { action: 'crm_connection.resumed', targetId: connectionId },
      jobs: [scheduleJob(teamId)],
    });
  });
}

/**
 * Opens a transaction; enqueues a synchronization. Throws `not_found`, and `conflict` for a
 * connection that is paused or has no credentials.
 */
export function syncNow(db: Db, by: CrmChange, connectionId: string): Promise<ConnectionRow> {
  const { teamId } = by.context;
  return change(db, by, connectionId, async (tx, { row, current, at }) => {
    if (row.status !== 'active')
      throw new ProblemError('conflict', { detail: 'The connection is paused.' });
    if (!row.has_credentials)
      throw new ProblemError('conflict', { detail: 'The connection has no credentials.' });
    store.makeDue(tx, teamId, { connectionId, at });
    record(tx, current, {
      audit: { action: 'crm_connection.sync_requested', targetId: connectionId },
      jobs: [scheduleJob(teamId)],
    });
  });
}

/**
 * Cannot be undone: hides its deals and objections at once, and enqueues a job that removes the
 * rows. Opens a transaction. Throws `not_found`.
 */
export async function disconnect(db: Db, by: CrmChange, connectionId: string): Promise<void> {
  const { context } = by;
  const { teamId } = context;
  await db.transaction(async (tx) => {
    const [{ provider }, current] = await Promise.all([
      requireConnection(tx, by, connectionId),
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

/** A connection that is to be changed. `at`: now, by the database's clock. */
interface Locked {
  readonly row: ConnectionRow;
  readonly current: CurrentContext;
  readonly at: Date;
}

function change(
  db: Db,
  by: CrmChange,
  connectionId: string,
  work: (tx: Tx, locked: Locked) => Promise<void>,
): Promise<ConnectionRow> {
  return db.transaction(async (tx) => {
    const [row, current, at] = await Promise.all([
      requireConnection(tx, by, connectionId),
      readChangeContext(tx, by.context),
      databaseTime(tx, by.clock.override()),
    ]);
    await work(tx, { row, current, at });
    return requireConnection(tx, by, connectionId);
  });
}

async function requireConnection(
  tx: Tx,
  { context: { teamId }, clock }: CrmChange,
  connectionId: string,
): Promise<ConnectionRow> {
  const now = clock.override();
  const row = await store.findConnectionLocked(tx, teamId, { connectionId, now });
  if (!row) throw unknownId('connection_id');
  return row;
}
