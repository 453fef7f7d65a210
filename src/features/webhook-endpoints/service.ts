import { databaseTime } from '../../db/database-clock.ts';
import { ENCRYPTED_COLUMNS, type EncryptedColumn } from '../../core/encrypted-columns.ts';
import { decrypt, encrypt, type AppSecrets } from '../../core/encryption.ts';
import { visibleText } from '../../core/endpoint-name.ts';
import {
  requireEventType,
  EVENT_API_VERSION,
  SUBSCRIBABLE_EVENTS,
  type EventType,
} from '../../core/events.ts';
import type { Privacy } from '../../core/privacy.ts';
import { makeWebhookSecret, newId } from '../../core/ids.ts';
import { checkAll, invalidField, notFound, passing, unknownId } from '../../core/problem.ts';
import { earlierSecretsText, readEarlierSecrets } from '../../core/signing-secrets.ts';
import { lockTeamFor, readChangeContext } from '../../db/change-context.ts';
import type { Db, Tx } from '../../db/client.ts';
import { forgetKeptDetails } from '../../db/kept-responses.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import { holdRow, lockRow, type LockedFor } from '../../db/row-lock.ts';
import {
  parseTarget,
  resolveTarget,
  type ParsedTarget,
  type TargetOptions,
} from '../../delivery/target.ts';
import { exampleData, testData } from '../../delivery/envelope.ts';
import { removalJob } from '../webhook-deliveries/service.ts';
import * as rules from './rules.ts';
import * as store from './store.ts';
import type { EndpointRow, FailingEndpointRow } from './store.ts';

/** Lists all endpoints, newest first. */
export function listEndpoints(db: Db, teamId: string): Promise<EndpointRow[]> {
  return store.listEndpoints(db, teamId);
}

/** Lists the endpoints that have been failing since this time or longer, or are paused for it. */
export function listFailingEndpoints(
  db: Db,
  teamId: string,
  until: Date,
): Promise<FailingEndpointRow[]> {
  return store.listFailingEndpoints(db, teamId, until);
}

/**
 * Checks whether deliveries may go to the URL. Resolves its name, unless private targets are
 * allowed, so never call it inside a transaction.
 */
export function checkTarget(url: string, options: TargetOptions): Promise<ParsedTarget> {
  if (options.allowPrivateTargets) return Promise.resolve(parseTarget(url, options));
  return resolveTarget(url, options);
}

/** An endpoint to create. */
export interface NewEndpoint {
  readonly url: string;
  /** The result of `checkTarget` for `url`. */
  readonly target: ParsedTarget;
  readonly events: readonly string[];
  readonly description: string | null;
}

/**
 * Creates an endpoint. Returns it with its secret, which no other operation returns. Opens a
 * transaction. Throws `validation_error` (field `events` or `url`).
 */
export async function createEndpoint(
  db: Db,
  context: ChangeContext,
  wanted: NewEndpoint,
  appSecret: string,
): Promise<{ row: EndpointRow; secret: string }> {
  const { teamId, at } = context;
  const [events, host] = checkAll(
    () => rules.requireSubscribable(wanted.events),
    () => requireTarget(wanted.target),
  );
  return db.transaction(async (tx) => {
    const [current, count] = await Promise.all([
      lockTeamFor(tx, context),
      store.countEndpoints(tx, teamId),
    ]);
    rules.requireRoom(teamId, count);
    const row = {
      id: newId('webhookEndpoint'),
      url: wanted.url,
      events,
      status: 'active',
      api_version: EVENT_API_VERSION,
      description: visibleText(wanted.description),
      created_at: at.toISOString(),
      last_success_at: null,
      earlier_secrets_until: null,
    };
    const secret = makeWebhookSecret();
    const encrypted = encrypt(secret, appSecret, rules.webhookSecretContext(teamId, row.id));
    store.insertEndpoint(tx, teamId, {
      ...row,
      secret_encrypted: encrypted,
      secret_unconfirmed_since: rules.unconfirmedSince(context),
    });
    record(tx, current, {
      audit: { action: 'webhook_endpoint.created', targetId: row.id, details: { host, events } },
    });
    return { row, secret };
  });
}

/** Reads the endpoint and locks it until the transaction ends. Throws `not_found`. */
export async function lockEndpoint(
  tx: Tx,
  teamId: string,
  endpointId: string,
  to: LockedFor,
): Promise<EndpointRow> {
  lockRow(tx, 'webhook_endpoint', { teamId, id: endpointId, to });
  return getEndpoint(tx, teamId, endpointId);
}

/** Returns one endpoint. Throws `not_found`. */
export async function getEndpoint(
  db: Db,
  teamId: string,
  endpointId: string,
): Promise<EndpointRow> {
  const row = await store.findEndpoint(db, teamId, endpointId);
  if (!row) throw notFound();
  return row;
}

/** A field that is undefined stays as it is, null clears it. */
export interface EndpointChange {
  readonly url?: string | undefined;
  readonly description?: string | null | undefined;
  readonly events?: readonly string[] | undefined;
  readonly status?: string | undefined;
}

/**
 * Changes the given fields. `target` is the result of `checkTarget` for the new `url`, or null
 * without a new one. Opens a transaction. Throws `not_found`, `validation_error` (field `url`,
 * `events` or `status`).
 */
export async function updateEndpoint(
  db: Db,
  context: ChangeContext,
  endpointId: string,
  { target, ...change }: EndpointChange & { readonly target: ParsedTarget | null },
): Promise<EndpointRow> {
  const { teamId } = context;
  const { url } = change;
  const description =
    change.description === undefined ? undefined : visibleText(change.description);
  const [status, events, host] = checkAll(
    () => (change.status === undefined ? undefined : rules.requireSettableStatus(change.status)),
    () => (change.events === undefined ? undefined : rules.requireSubscribable(change.events)),
    () => (target === null ? undefined : requireTarget(target)),
  );
  const named = Object.entries({ url, description, events, status }).filter(
    ([, value]) => value !== undefined,
  );
  if (named.length === 0) return getEndpoint(db, teamId, endpointId);
  return db.transaction(async (tx) => {
    const [before, current] = await Promise.all([
      store.findForUpdate(tx, teamId, endpointId),
      readChangeContext(tx, context),
    ]);
    if (!before) throw notFound();
    const row = { ...before, ...Object.fromEntries(named) };
    const isPause = before.status === 'active' && row.status !== 'active';
    store.updateEndpoint(tx, teamId, row, isPause ? context.at : null);
    if (status === 'active') store.activateEndpoint(tx, teamId, endpointId, context.at);
    record(tx, current, {
      audit: {
        action: 'webhook_endpoint.updated',
        targetId: endpointId,
        details: { fields: named.map(([name]) => name), host, events, status },
      },
    });
    return row;
  });
}

/** A rotation. `graceS` 0: all earlier secrets end at once. */
export interface SecretRotation {
  readonly endpointId: string;
  readonly graceS: number;
}

/**
 * Gives the endpoint a new secret, and returns both. Opens a transaction. Throws `not_found`,
 * `conflict` (an earlier secret is to sign on, and no key opens it), and what
 * {@link readChangeContext} throws: whoever has lost the right meanwhile gets no secret.
 */
export async function rotateSecret(
  db: Db,
  context: ChangeContext,
  { endpointId, graceS }: SecretRotation,
  appSecrets: AppSecrets,
  override: Date | null,
): Promise<{ row: EndpointRow; secret: string }> {
  const { teamId } = context;
  const { webhookSecret, earlierWebhookSecrets } = ENCRYPTED_COLUMNS;
  const open = (column: EncryptedColumn, sealed: Buffer): string =>
    openSealed(sealed, appSecrets, column.context(teamId, endpointId));
  const seal = (column: EncryptedColumn, text: string): Buffer =>
    encrypt(text, appSecrets.current, column.context(teamId, endpointId));
  return db.transaction(async (tx) => {
    const finding = store.findSealedForUpdate(tx, teamId, endpointId);
    const [found, current, now] = await Promise.all([
      finding,
      readChangeContext(tx, context),
      databaseTime(tx, override),
    ]);
    if (!found) throw notFound();
    const { secret_encrypted: sealed, earlier_secrets_encrypted: sealedEarlier, ...row } = found;
    const openAll = () => ({
      current: open(webhookSecret, sealed),
      earlier: sealedEarlier ? readEarlierSecrets(open(earlierWebhookSecrets, sealedEarlier)) : [],
    });
    // Without a grace period nothing is opened, so that what no key opens can be replaced.
    const earlier = graceS === 0 ? [] : rules.earlierAfterRotation(openAll(), { at: now, graceS });
    const earlier_secrets_until = rules.lastEnd(earlier);
    const secret = makeWebhookSecret();
    store.replaceSecrets(tx, teamId, endpointId, {
      secret_encrypted: seal(webhookSecret, secret),
      earlier_secrets_encrypted:
        earlier.length === 0 ? null : seal(earlierWebhookSecrets, earlierSecretsText(earlier)),
      earlier_secrets_until,
      secret_unconfirmed_since: rules.unconfirmedSince(context),
    });
    record(tx, current, {
      audit: {
        action: 'webhook_endpoint.secret_rotated',
        targetId: endpointId,
        details: { grace_s: graceS },
      },
    });
    return { row: { ...row, earlier_secrets_until }, secret };
  });
}

/**
 * Keeps that somebody has stored the secret `shown`. Opens a transaction. Throws `not_found`,
 * `validation_error` (field `secret`: another one has replaced it), `conflict` (no key opens it).
 */
export async function confirmStored(
  db: Db,
  context: ChangeContext,
  { endpointId, shown }: { readonly endpointId: string; readonly shown: string },
  appSecrets: AppSecrets,
): Promise<void> {
  const { teamId } = context;
  await db.transaction(async (tx) => {
    const [found, current] = await Promise.all([
      store.findSealedForUpdate(tx, teamId, endpointId),
      readChangeContext(tx, context),
    ]);
    if (!found) throw unknownId('endpoint_id');
    const boundTo = rules.webhookSecretContext(teamId, endpointId);
    rules.requirePresentSecret(shown, openSealed(found.secret_encrypted, appSecrets, boundTo));
    if (found.secret_unconfirmed_since === null) return;
    await store.markSecretStored(tx, teamId, endpointId);
    record(tx, current, {
      audit: { action: 'webhook_endpoint.secret_stored', targetId: endpointId },
    });
  });
}

/**
 * Deletes the endpoint, and enqueues a job that removes its deliveries. Opens a transaction. Throws
 * `not_found`.
 */
export async function removeEndpoint(
  db: Db,
  context: ChangeContext,
  endpointId: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const removing = store.removeEndpoint(tx, context.teamId, endpointId);
    forgetKeptDetails(tx, context.teamId, [endpointId]);
    const [isRemoved, current] = await Promise.all([removing, readChangeContext(tx, context)]);
    if (!isRemoved) throw notFound();
    record(tx, current, {
      audit: { action: 'webhook_endpoint.deleted', targetId: endpointId },
      jobs: [removalJob({ teamId: context.teamId, endpointId })],
    });
  });
}

/**
 * Queues one `ping`, which is sent as an event of the given type, and returns its delivery. Opens a
 * transaction. Throws `not_found`, `validation_error` (field `event_type`).
 */
export async function testEndpoint(
  db: Db,
  context: ChangeContext,
  { endpointId, eventType }: { readonly endpointId: string; readonly eventType: string },
): Promise<{ readonly id: string; readonly status: 'pending' }> {
  const { teamId, at, requestId } = context;
  const type = requireEventType(eventType, 'event_type');
  return db.transaction(async (tx) => {
    const [isThere, current] = await Promise.all([
      holdRow(tx, 'webhook_endpoint', { teamId, id: endpointId }),
      readChangeContext(tx, context),
    ]);
    if (!isThere) throw notFound();
    const deliveryId = newId('webhookDelivery');
    const data = testData(current.privacy, { teamId, endpointId, type });
    store.insertPing(tx, teamId, {
      endpointId,
      eventId: newId('event'),
      deliveryId,
      at,
      data,
      requestId,
    });
    record(tx, current, {
      audit: {
        action: 'webhook_endpoint.tested',
        targetId: endpointId,
        details: { delivery_id: deliveryId },
      },
    });
    return { id: deliveryId, status: 'pending' };
  });
}

/** What receivers of the team get of each type of event, as an example. */
export function listExamples(
  privacy: Privacy,
  teamId: string,
): { readonly type: EventType; readonly data: Record<string, unknown> }[] {
  return SUBSCRIBABLE_EVENTS.map((type) => ({ type, data: exampleData(privacy, type, teamId) }));
}

/** Throws `conflict` if no key opens it. */
function openSealed(sealed: Buffer, appSecrets: AppSecrets, context: string): string {
  try {
    return decrypt(sealed, appSecrets, context);
  } catch {
    throw rules.secretUnreadable();
  }
}

/** Returns the host, the only part of a URL that audit entries show. */
function requireTarget(target: ParsedTarget): string {
  if (target.ok) return target.url.host;
  const refusal = invalidField('url', target.detail, target.reason);
  throw target.error === 'name_not_resolved' ? passing(refusal) : refusal;
}
