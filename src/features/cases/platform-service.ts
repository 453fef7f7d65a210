import { ProblemError, unknownId } from '../../core/problem.ts';
import type { Db } from '../../db/client.ts';
import { record } from '../../db/outbox.ts';
import { readChangeContext, type PlatformChangeContext } from '../../db/change-context.ts';
import { isSameCase } from './platform-rules.ts';
import * as store from './platform-store.ts';
import { requireStorable } from './rules.ts';
import type { NewCase } from './service.ts';
import {
  findCaseForUpdate,
  lockActiveMember,
  updateCase as writeCase,
  type CaseChange,
  type StoredCaseRow,
} from './store.ts';

/** The values of a creation. */
export type NewPlatformCase = NewCase & Pick<StoredCaseRow, 'id' | 'private'>;

/**
 * Opens a transaction. Throws `validation_error` (field `fields` or `external_ref`), `not_found`
 * (the person is not an active member), `conflict`.
 */
export async function createCase(
  db: Db,
  context: PlatformChangeContext,
  wanted: NewPlatformCase,
): Promise<StoredCaseRow> {
  const { teamId, at } = context;
  requireStorable(wanted);
  return db.transaction(async (tx) => {
    const [stored, isMember, current] = await Promise.all([
      findCaseForUpdate(tx, teamId, wanted.id),
      lockActiveMember(tx, teamId, wanted.user_id),
      readChangeContext(tx, context),
    ]);
    const row: StoredCaseRow = { ...wanted, created_at: at.toISOString() };
    if (!stored && !isMember) throw unknownId('user_id');
    if (!stored && (await store.insertCase(tx, teamId, row))) {
      const details = { user_id: wanted.user_id, private: wanted.private };
      record(tx, current, { audit: { action: 'case.created', targetId: row.id, details } });
      return row;
    }
    const existing = stored ?? (await findCaseForUpdate(tx, teamId, wanted.id));
    if (existing && isSameCase(existing, row)) return existing;
    throw new ProblemError('conflict', { detail: 'The case exists with other values.' });
  });
}

/**
 * Opens a transaction. Throws `validation_error` (field `fields` or `external_ref`), `not_found`.
 */
export async function updateCase(
  db: Db,
  context: PlatformChangeContext,
  caseId: string,
  change: CaseChange & { readonly private?: boolean | undefined },
): Promise<StoredCaseRow> {
  const { teamId } = context;
  requireStorable(change);
  const named = Object.entries(change).filter(([, value]) => value !== undefined);
  return db.transaction(async (tx) => {
    const [before, current] = await Promise.all([
      findCaseForUpdate(tx, teamId, caseId),
      readChangeContext(tx, context),
    ]);
    if (!before) throw unknownId('case_id');
    const row: StoredCaseRow = { ...before, ...Object.fromEntries(named) };
    if (isSameCase(before, row)) return before;
    writeCase(tx, teamId, row);
    const fields = named.map(([name]) => name);
    record(tx, current, {
      audit: { action: 'case.updated', targetId: caseId, details: { fields } },
    });
    return row;
  });
}

/** Opens a transaction. Throws `not_found`. */
export async function removeCase(
  db: Db,
  context: PlatformChangeContext,
  caseId: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const [isRemoved, current] = await Promise.all([
      store.removeCase(tx, context.teamId, caseId),
      readChangeContext(tx, context),
    ]);
    if (!isRemoved) throw unknownId('case_id');
    record(tx, current, { audit: { action: 'case.deleted', targetId: caseId } });
  });
}
