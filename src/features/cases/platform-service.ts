import { notFound, ProblemError } from '../../core/problem.ts';
import type { Db } from '../../db/client.ts';
import { record } from '../../db/outbox.ts';
import { readOccasion, type PlatformOccasion } from '../../db/team-privacy.ts';
import { isSameCase } from './platform-rules.ts';
import * as store from './platform-store.ts';
import type { PlatformCaseRow } from './platform-store.ts';
import { requireStorable } from './rules.ts';
import { lockActiveMember, type CaseChange } from './store.ts';

export type NewPlatformCase = Omit<PlatformCaseRow, 'created_at' | 'fields' | 'external_ref'> & {
  readonly fields: object | null;
  readonly external_ref: object | null;
};

/** Opens a transaction. Throws `validation_error` (field `fields` or `external_ref`), `not_found` (no active member is that person), `conflict`. */
export async function createCase(
  db: Db,
  occasion: PlatformOccasion,
  wanted: NewPlatformCase,
): Promise<PlatformCaseRow> {
  const { teamId, at } = occasion;
  requireStorable(wanted);
  return db.transaction(async (tx) => {
    const [now, stored, isMember] = await Promise.all([
      readOccasion(tx, occasion),
      store.findCaseForUpdate(tx, teamId, wanted.id),
      lockActiveMember(tx, teamId, wanted.user_id),
    ]);
    const row: PlatformCaseRow = { ...wanted, created_at: at.toISOString() };
    if (!stored && !isMember) throw notFound();
    if (!stored && (await store.insertCase(tx, teamId, row))) {
      const details = { user_id: wanted.user_id, private: wanted.private };
      record(tx, now, { audit: { action: 'case.created', targetId: row.id, details } });
      return row;
    }
    const existing = stored ?? (await store.findCaseForUpdate(tx, teamId, wanted.id));
    if (existing && isSameCase(existing, row)) return existing;
    throw new ProblemError('conflict', { detail: 'The case exists with other values.' });
  });
}

/** Opens a transaction. Throws `validation_error` (field `fields` or `external_ref`), `not_found`. */
export async function updateCase(
  db: Db,
  occasion: PlatformOccasion,
  caseId: string,
  change: CaseChange & { readonly private?: boolean | undefined },
): Promise<PlatformCaseRow> {
  const { teamId } = occasion;
  requireStorable(change);
  const named = Object.entries(change).filter(([, value]) => value !== undefined);
  return db.transaction(async (tx) => {
    const [now, before] = await Promise.all([readOccasion(tx, occasion), store.findCaseForUpdate(tx, teamId, caseId)]);
    if (!before) throw notFound();
    const row: PlatformCaseRow = { ...before, ...Object.fromEntries(named) };
    if (isSameCase(before, row)) return before;
    store.updateCase(tx, teamId, row);
    const fields = named.map(([name]) => name);
    record(tx, now, { audit: { action: 'case.updated', targetId: caseId, details: { fields } } });
    return row;
  });
}

/** Opens a transaction. Throws `not_found`. */
export async function removeCase(db: Db, occasion: PlatformOccasion, caseId: string): Promise<void> {
  await db.transaction(async (tx) => {
    const [now, isRemoved] = await Promise.all([
      readOccasion(tx, occasion),
      store.removeCase(tx, occasion.teamId, caseId),
    ]);
    if (!isRemoved) throw notFound();
    record(tx, now, { audit: { action: 'case.deleted', targetId: caseId } });
  });
}
