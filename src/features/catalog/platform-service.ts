import { newId } from '../../core/ids.ts';
import type { Db } from '../../db/client.ts';
import { record } from '../../db/outbox.ts';
import { lockTeam } from '../../db/team-lock.ts';
import { readChangeContext, type PlatformChangeContext } from '../../db/change-context.ts';
import { inOneOrder } from './platform-rules.ts';
import * as store from './platform-store.ts';
import type { EntryFacts } from './rules.ts';

/** Creates or replaces global entries. Opens a transaction. */
export async function saveEntries(db: Db, entries: readonly EntryFacts[]): Promise<void> {
  await db.transaction(async (tx) => store.saveEntries(tx, inOneOrder(entries)));
}

/** Creates or replaces a team's own entries. Opens a transaction. Throws `not_found` (team). */
export async function saveTeamEntries(
  db: Db,
  context: PlatformChangeContext,
  entries: readonly EntryFacts[],
): Promise<void> {
  const { teamId } = context;
  await db.transaction(async (tx) => {
    lockTeam(tx, teamId);
    const current = await readChangeContext(tx, context);
    const ordered = inOneOrder(entries);
    if (ordered.length === 0) return;
    store.saveTeamEntries(tx, teamId, ordered);
    const details = { entry_ids: ordered.map(({ id }) => id) };
    record(tx, current, { audit: { action: 'catalog.saved', targetId: teamId, details } });
  });
}

/** Adds catalog rules that forbid combinations. Opens a transaction. */
export async function saveRules(
  db: Db,
  rules: readonly Omit<store.RuleRow, 'id'>[],
): Promise<void> {
  await db.transaction(async (tx) =>
    store.saveRules(
      tx,
      rules.map((rule) => ({ id: newId('catalogRule'), ...rule })),
    ),
  );
}
