import { newId } from '../../core/ids.ts';
import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import { notFound, unknownId } from '../../core/problem.ts';
import { readChangeContext } from '../../db/change-context.ts';
import type { Db, Tx } from '../../db/client.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import { lockRow, type LockedFor } from '../../db/row-lock.ts';
import * as rules from './rules.ts';
import * as store from './store.ts';
import type { CaseChange, CaseRow } from './store.ts';

const LIST = 'cases';

/** Team cases, newest first. Throws `validation_error` for a foreign cursor. */
export async function listCases(
  db: Db,
  teamId: string,
  query: PageQuery & { readonly user_id?: string | undefined },
): Promise<Page<CaseRow>> {
  const userId = query.user_id ?? null;
  return readPage(LIST, query, (slice) => store.listCases(db, teamId, { ...slice, userId }));
}

/** Throws `not_found`, also for a private case. */
export async function getCase(db: Db, teamId: string, caseId: string): Promise<CaseRow> {
  const row = await store.findCase(db, teamId, caseId);
  if (!row) throw notFound();
  return row;
}

/**
 * Reads the case and locks it until the transaction ends. Throws `not_found`, also for a private
 * one.
 */
export async function lockCase(
  tx: Tx,
  teamId: string,
  caseId: string,
  to: LockedFor,
): Promise<CaseRow> {
  lockRow(tx, 'training_case', { teamId, id: caseId, to });
  return getCase(tx, teamId, caseId);
}

/**
 * The values of a creation. `user_id`: the person of an active member. `fields` and `external_ref`
 * are objects or null, not any JSON.
 */
export type NewCase = Pick<CaseRow, 'user_id' | 'title' | 'persona_id'> & {
  readonly fields: object | null;
  readonly external_ref: object | null;
};

/**
 * Opens a transaction. Throws `validation_error` (field `fields` or `external_ref`), `not_found`
 * (the person is not an active member).
 */
export async function createCase(
  db: Db,
  context: ChangeContext,
  wanted: NewCase,
): Promise<CaseRow> {
  const { teamId, at } = context;
  rules.requireStorable(wanted);
  return db.transaction(async (tx) => {
    const [isActive, current] = await Promise.all([
      store.lockActiveMember(tx, teamId, wanted.user_id),
      readChangeContext(tx, context),
    ]);
    if (!isActive) throw unknownId('user_id');
    const row: CaseRow = { id: newId('case'), ...wanted, created_at: at.toISOString() };
    store.insertCase(tx, teamId, row);
    const details = { user_id: wanted.user_id, private: false };
    record(tx, current, { audit: { action: 'case.created', targetId: row.id, details } });
    return row;
  });
}

/**
 * Opens a transaction, unless the change is empty. Throws `validation_error` (field `fields` or
 * `external_ref`), `not_found`.
 */
export async function updateCase(
  db: Db,
  context: ChangeContext,
  caseId: string,
  change: CaseChange,
): Promise<CaseRow> {
  const { teamId } = context;
  rules.requireStorable(change);
  const named = Object.entries(change).filter(([, value]) => value !== undefined);
  if (named.length === 0) return getCase(db, teamId, caseId);
  return db.transaction(async (tx) => {
    const [before, current] = await Promise.all([
      store.findCaseForUpdate(tx, teamId, caseId),
      readChangeContext(tx, context),
    ]);
    if (!before || before.private) throw notFound();
    const row = { ...before, ...Object.fromEntries(named) };
    store.updateCase(tx, teamId, row);
    record(tx, current, {
      audit: {
        action: 'case.updated',
        targetId: caseId,
        details: { fields: named.map(([name]) => name) },
      },
    });
    return row;
  });
}

/** Opens a transaction. Throws `not_found`. */
export async function removeCase(db: Db, context: ChangeContext, caseId: string): Promise<void> {
  await db.transaction(async (tx) => {
    const [isRemoved, current] = await Promise.all([
      store.removeCase(tx, context.teamId, caseId),
      readChangeContext(tx, context),
    ]);
    if (!isRemoved) throw notFound();
    record(tx, current, { audit: { action: 'case.deleted', targetId: caseId } });
  });
}
