import { statement, type Tx } from './client.ts';

/**
 * SQL of a join that keeps the table's row of each given one from being deleted or changed in its
 * key until the transaction ends. It waits for nobody: `own.is_held` is null where somebody else
 * has locked the row. `isRow` compares the whole primary key, so that one row is read.
 */
export function holdUnlessLocked(table: 'webhook_endpoint' | 'api_key', isRow: string): string {
  return `left join lateral (
      select true as is_held
      from ${table}
      where ${isRow}
      limit 1
      for key share skip locked
    ) own on true`;
}

/** The tables whose rows callers change one by one. */
type LockedTable = 'api_key' | 'assignment' | 'member' | 'training_case' | 'webhook_endpoint';

/** What a row is locked for. A removal waits for rows that refer to it; a change does not. */
export type LockedFor = 'change' | 'removal';

const LOCKS = {
  api_key: declareLocks('api_key'),
  assignment: declareLocks('assignment'),
  member: declareLocks('member'),
  training_case: declareLocks('training_case'),
  webhook_endpoint: declareLocks('webhook_endpoint'),
} as const satisfies Record<LockedTable, unknown>;

function declareLocks(table: LockedTable) {
  const text = `select from ${table} where team_id = $1 and id = $2`;
  return {
    change: statement(`db.lockToChange.${table}`, `${text} for no key update`),
    removal: statement(`db.lockToRemove.${table}`, `${text} for update`),
  };
}

/**
 * Locks a row until the transaction ends, if there is one. A statement after it sees what the row
 * became meanwhile. Takes the lock that the removal will need at once: two calls that both raise a
 * weaker one would wait for each other. Costs no round trip of its own.
 */
export function lockRow(
  tx: Tx,
  table: LockedTable,
  { teamId, id, to }: { readonly teamId: string; readonly id: string; readonly to: LockedFor },
): void {
  tx.send(LOCKS[table][to], [teamId, id]);
}

const HOLDS = {
  member: declareHold('member'),
  webhook_endpoint: declareHold('webhook_endpoint'),
} as const;

function declareHold(table: string) {
  return statement<{ readonly id: string }>(
    `db.hold.${table}`,
    `select id from ${table} where team_id = $1 and id = $2 for key share`,
  );
}

/** Keeps a row from being removed until the transaction ends. False if there is none. */
export async function holdRow(
  tx: Tx,
  table: keyof typeof HOLDS,
  { teamId, id }: { readonly teamId: string; readonly id: string },
): Promise<boolean> {
  return (await tx.queryFirst(HOLDS[table], [teamId, id])) !== null;
}
