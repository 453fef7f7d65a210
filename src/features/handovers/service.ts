import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import { notFound, unknownId } from '../../core/problem.ts';
import type { Db, Tx } from '../../db/client.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import { lockTeam } from '../../db/team-lock.ts';
import { readChangeContext, type PlatformChangeContext } from '../../db/team-privacy.ts';
import { getKey, requireCreator } from '../api-keys/service.ts';
import * as rules from './rules.ts';
import * as store from './store.ts';
import type { HandoverRow, ListedRow } from './store.ts';

const LIST = 'handovers';

/** The link `id` holds `sealed`, which the maker's browser has encrypted. */
export interface NewHandover {
  readonly id: string;
  readonly keyId: string;
  readonly sealed: Buffer;
}

/** A link with its state. */
export interface Handover extends HandoverRow {
  readonly state: rules.HandoverState;
}

/**
 * Keeps a sealed key until its link is opened. Repeated with the same id, it changes nothing. Opens
 * a transaction. Throws `not_found` (the key), `conflict`, `validation_error` (field `key_id`).
 */
export async function createHandover(
  db: Db,
  context: ChangeContext,
  wanted: NewHandover,
): Promise<Handover> {
  const createdBy = requireCreator(context.actor);
  return db.transaction(async (tx) => {
    lockTeam(tx, context.teamId);
    return addHandover(tx, context, { ...wanted, createdBy });
  });
}

/** Like {@link createHandover}, by a service for the member whose key it is. */
export async function createHandoverFor(
  db: Db,
  context: PlatformChangeContext,
  wanted: NewHandover,
): Promise<Handover> {
  return db.transaction(async (tx) => {
    lockTeam(tx, context.teamId);
    const current = await readChangeContext(tx, context);
    return addHandover(tx, current, { ...wanted, createdBy: null });
  });
}

/** The team must be locked. `createdBy` null: whoever has made the key. */
async function addHandover(
  tx: Tx,
  context: ChangeContext,
  wanted: NewHandover & { readonly createdBy: string | null },
): Promise<Handover> {
  const { teamId, at } = context;
  const { id, keyId, sealed, createdBy } = wanted;
  const made = await store.findHandover(tx, teamId, id);
  if (made) {
    rules.requireSame(made, wanted);
    return toHandover(made, at);
  }
  const key = await getKey(tx, teamId, keyId, null);
  rules.requireRoom(teamId, await store.countOpen(tx, teamId, at));
  const expiresAt = rules.expiryOf(at).toISOString();
  const row: HandoverRow = {
    id,
    key_id: keyId,
    created_by: createdBy ?? key.creator_id,
    created_at: at.toISOString(),
    expires_at: expiresAt,
    opened_at: null,
    sealed,
  };
  await store.insertHandover(tx, teamId, row);
  const details = { handover_id: id, expires_at: expiresAt };
  record(tx, context, { audit: { action: 'api_key.link_created', targetId: keyId, details } });
  return toHandover(row, at);
}

/** A link in a list, with its state. */
export interface ListedHandover extends ListedRow {
  readonly state: rules.HandoverState;
}

/** Lists links in any state, newest first. Throws `validation_error` for a foreign cursor. */
export async function listHandovers(
  db: Db,
  teamId: string,
  query: PageQuery,
  now: Date,
): Promise<Page<ListedHandover>> {
  const page = await readPage(LIST, query, (slice) => store.listHandovers(db, teamId, slice));
  const rows = page.rows.map((row) => ({ ...row, state: rules.stateOf(row, now) }));
  return { ...page, rows };
}

/** Throws `not_found`. */
export async function getHandover(
  db: Db,
  teamId: string,
  id: string,
  now: Date,
): Promise<Handover> {
  const row = await store.findHandover(db, teamId, id);
  if (!row) throw unknownId('handover_id');
  return toHandover(row, now);
}

/**
 * Ends a link that nobody has opened. One that has ended stays as it is. Opens a transaction.
 * Throws `not_found`.
 */
export async function withdrawHandover(
  db: Db,
  context: ChangeContext,
  id: string,
): Promise<Handover> {
  const { teamId, at } = context;
  return db.transaction(async (tx) => {
    const before = await store.findForOpening(tx, teamId, id);
    if (!before) throw unknownId('handover_id');
    const { is_team_active: _, ...row } = before;
    if (toHandover(row, at).state !== 'open') return toHandover(row, at);
    store.withdraw(tx, teamId, id, at);
    record(tx, context, {
      audit: {
        action: 'api_key.link_withdrawn',
        targetId: row.key_id,
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
    store.markOpened(tx, teamId, id, at);
    record(tx, context, {
      audit: { action: 'api_key.link_opened', targetId: row.key_id, details: { handover_id: id } },
    });
    return sealed;
  });
}

function toHandover(row: HandoverRow, now: Date): Handover {
  return { ...row, state: rules.stateOf({ ...row, is_sealed: row.sealed !== null }, now) };
}
