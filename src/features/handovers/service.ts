import type { AppSecrets } from '../../core/encryption.ts';
import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import { notFound, unknownId } from '../../core/problem.ts';
import {
  lockTeamFor,
  readChangeContext,
  type CurrentContext,
  type PlatformChangeContext,
} from '../../db/change-context.ts';
import type { Db, Tx } from '../../db/client.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import { getKey, requireCreator } from '../api-keys/service.ts';
import { lockPresentSecret } from '../webhook-endpoints/service.ts';
import * as rules from './rules.ts';
import * as store from './store.ts';
import type { HandoverRow, ListedKeyRow, ListedRow } from './store.ts';

/** The link `id` holds `sealed`, which the maker's browser has encrypted. */
interface NewLink {
  readonly id: string;
  readonly sealed: Buffer;
}

/** A link that hands a key over. */
export interface NewHandover extends NewLink {
  readonly keyId: string;
}

/** A link that hands over the secret of a webhook endpoint with this SHA-256. */
export interface NewEndpointHandover extends NewLink {
  readonly endpointId: string;
  readonly secretHash: Buffer;
}

/** What a link hands over, and its state. */
interface Derived {
  readonly subject: rules.Subject;
  readonly state: rules.HandoverState;
}

/** A link with its state. */
export interface Handover extends HandoverRow, Derived {}

/**
 * Keeps a sealed key until its link is opened. Repeated with the same id, it changes nothing. Opens
 * a transaction. Throws `not_found` (the key), `conflict`, `validation_error` (field `key_id`).
 */
export async function createHandover(
  db: Db,
  context: ChangeContext,
  { keyId, ...link }: NewHandover,
): Promise<Handover> {
  return addHandover(db, context, {
    ...link,
    subject: { kind: 'key', id: keyId },
    async prepare(tx, { actor }) {
      const createdBy = requireCreator(actor);
      await getKey(tx, context.teamId, keyId, null);
      return createdBy;
    },
  });
}

/** Like {@link createHandover}, by a service for the member whose key it is. */
export async function createHandoverFor(
  db: Db,
  context: PlatformChangeContext,
  { keyId, ...link }: NewHandover,
): Promise<Handover> {
  return addHandover(db, context, {
    ...link,
    subject: { kind: 'key', id: keyId },
    async prepare(tx) {
      const key = await getKey(tx, context.teamId, keyId, null);
      return key.creator_id;
    },
  });
}

/**
 * Like {@link createHandover}, of an endpoint's secret. Throws `not_found` (the endpoint),
 * `conflict`, `validation_error` (field `endpoint_id`, or `secret_hash` if another secret has
 * replaced it).
 */
export async function createEndpointHandover(
  db: Db,
  context: ChangeContext,
  { endpointId, secretHash, ...link }: NewEndpointHandover,
  appSecrets: AppSecrets,
): Promise<Handover> {
  return addHandover(db, context, {
    ...link,
    subject: { kind: 'endpoint', id: endpointId },
    async prepare(tx, { actor }) {
      const createdBy = requireCreator(actor);
      await lockPresentSecret(tx, context.teamId, { endpointId, secretHash }, appSecrets);
      return createdBy;
    },
  });
}

/** A link to add, and what is looked at before it is, under the team's lock. */
interface Addition extends NewLink {
  readonly subject: rules.Subject;
  /** Returns the member who has made it. */
  readonly prepare: (tx: Tx, by: CurrentContext<PlatformChangeContext>) => Promise<string>;
}

async function addHandover(
  db: Db,
  context: PlatformChangeContext,
  wanted: Addition,
): Promise<Handover> {
  const { teamId, at } = context;
  const { id, sealed, subject } = wanted;
  return db.transaction(async (tx) => {
    const [current, made] = await Promise.all([
      lockTeamFor(tx, context),
      store.findHandover(tx, teamId, id),
    ]);
    if (made) {
      rules.requireSame({ ...made, subject: rules.subjectOf(made) }, wanted);
      return toHandover(made, at);
    }
    const createdBy = await wanted.prepare(tx, current);
    rules.requireRoom(teamId, await store.countOpen(tx, teamId, at), subject.kind);
    const expiresAt = rules.expiryOf(at).toISOString();
    const row: HandoverRow = {
      id,
      key_id: subject.kind === 'key' ? subject.id : null,
      endpoint_id: subject.kind === 'endpoint' ? subject.id : null,
      created_by: createdBy,
      created_at: at.toISOString(),
      expires_at: expiresAt,
      opened_at: null,
      sealed,
    };
    await store.insertHandover(tx, teamId, row);
    record(tx, current, {
      audit: {
        action: rules.ACTIONS[subject.kind].created,
        targetId: subject.id,
        details: { handover_id: id, expires_at: expiresAt },
      },
    });
    return toHandover(row, at);
  });
}

/** A link in a list, with its state. */
type Listed<Row extends ListedRow> = Row & Derived;

/**
 * Lists the links to keys in any state, newest first. Throws `validation_error` for a foreign
 * cursor.
 */
export async function listHandovers(
  db: Db,
  teamId: string,
  query: PageQuery,
  now: Date,
): Promise<Page<Listed<ListedKeyRow>>> {
  const page = await readPage('handovers', query, (slice) =>
    store.listHandovers(db, teamId, slice),
  );
  return withState(page, now);
}

/** Like {@link listHandovers}, the links to the secrets of an endpoint. */
export async function listOfEndpoint(
  db: Db,
  teamId: string,
  { endpointId, ...query }: PageQuery & { readonly endpointId: string },
  now: Date,
): Promise<Page<Listed<ListedRow>>> {
  const page = await readPage('endpoint_handovers', query, (slice) =>
    store.listOfEndpoint(db, teamId, endpointId, slice),
  );
  return withState(page, now);
}

function withState<Row extends ListedRow>(page: Page<Row>, now: Date): Page<Listed<Row>> {
  const rows = page.rows.map((row) => ({
    ...row,
    subject: rules.subjectOf(row),
    state: rules.stateOf(row, now),
  }));
  return { ...page, rows };
}

/** A link of one kind. */
export interface Wanted {
  readonly kind: rules.Kind;
  readonly id: string;
}

/** Throws `not_found`. */
export async function getHandover(
  db: Db,
  teamId: string,
  { kind, id }: Wanted,
  now: Date,
): Promise<Handover> {
  const row = await store.findHandover(db, teamId, id);
  if (!row || rules.subjectOf(row).kind !== kind) throw unknownId('handover_id');
  return toHandover(row, now);
}

/**
 * Ends a link that nobody has opened. One that was opened or withdrawn stays as it is. One that has
 * expired keeps its end, and is emptied: where a clock is behind, it could still be opened. Opens a
 * transaction. Throws `not_found`.
 */
export async function withdrawHandover(
  db: Db,
  context: ChangeContext,
  { kind, id }: Wanted,
): Promise<Handover> {
  const { teamId, at } = context;
  return db.transaction(async (tx) => {
    const [before, current] = await Promise.all([
      store.findForOpening(tx, teamId, id),
      readChangeContext(tx, context),
    ]);
    if (!before || rules.subjectOf(before).kind !== kind) throw unknownId('handover_id');
    const { is_team_active: _, ...row } = before;
    const found = toHandover(row, at);
    if (row.sealed === null) return found;
    store.withdraw(tx, teamId, id, at);
    if (found.state !== 'open') return found;
    record(tx, current, {
      audit: {
        action: rules.ACTIONS[kind].withdrawn,
        targetId: found.subject.id,
        details: { handover_id: id },
      },
    });
    return toHandover({ ...row, expires_at: at.toISOString(), sealed: null }, at);
  });
}

/** Who opens a link is not known, only when and by which request. */
export interface Opening {
  readonly teamId: string;
  readonly opener: string;
  readonly requestId: string;
  readonly at: Date;
}

/**
 * Returns what a link holds, once. Opens a transaction. Throws `not_found`, for whatever reason: a
 * caller who has no link must not learn that there is one.
 */
export async function openHandover(
  db: Db,
  { teamId, opener, requestId, at }: Opening,
): Promise<Buffer> {
  const id = rules.idOf(opener);
  if (id === null) throw notFound();
  return db.transaction(async (tx) => {
    const row = await store.findForOpening(tx, teamId, id);
    const sealed = row && row.is_team_active && toHandover(row, at).state === 'open' && row.sealed;
    if (!sealed) throw notFound();
    const actor = { kind: 'system', id: 'link' } as const;
    const context = await readChangeContext(tx, { teamId, actor, requestId, at });
    const subject = rules.subjectOf(row);
    store.markOpened(tx, teamId, id, at);
    record(tx, context, {
      audit: {
        action: rules.ACTIONS[subject.kind].opened,
        targetId: subject.id,
        details: { handover_id: id },
      },
    });
    return sealed;
  });
}

function toHandover(row: HandoverRow, now: Date): Handover {
  const state = rules.stateOf({ ...row, is_sealed: row.sealed !== null }, now);
  return { ...row, subject: rules.subjectOf(row), state };
}
