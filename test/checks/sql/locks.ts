// Which rows a statement reads, locks and writes, by their tables. Tables in functions that it
// calls are not seen.
import { parseSync, type LockingClause, type Node } from 'libpg-query';

export interface Access {
  /** Of these it keeps the rows that it selects locked. */
  readonly locks: ReadonlySet<string>;
  /** Of these it also waits for the rows that somebody else has locked. */
  readonly waits: ReadonlySet<string>;
  readonly inserts: ReadonlySet<string>;
  /** Updates, deletions and conflicts, which wait for locked rows, too. */
  readonly changes: ReadonlySet<string>;
  /** Whatever it names, what it writes included. */
  readonly names: ReadonlySet<string>;
}

/** Reads a statement. Needs `loadParser` of tenancy.ts. */
export function readAccess(sql: string): Access {
  const access = {
    locks: new Set<string>(),
    waits: new Set<string>(),
    inserts: new Set<string>(),
    changes: new Set<string>(),
    names: new Set<string>(),
  };
  walk(parseSync(sql), (kind, node) => {
    const { relation, relname, onConflictClause, fromClause, lockingClause } = node;
    if (typeof relname === 'string') access.names.add(relname);
    const table = relation?.relname;
    if (table !== undefined) {
      if (kind === 'InsertStmt' || kind === 'MergeStmt') access.inserts.add(table);
      if (kind !== 'InsertStmt' || onConflictClause?.action === 'ONCONFLICT_UPDATE')
        access.changes.add(table);
    }
    for (const clause of lockingClause ?? []) {
      if (!('LockingClause' in clause)) continue;
      for (const locked of lockedBy(clause.LockingClause, fromClause ?? [])) {
        access.locks.add(locked);
        if (clause.LockingClause.waitPolicy === 'LockWaitBlock') access.waits.add(locked);
      }
    }
  });
  return access;
}

/** What is looked at in a node of any kind. */
interface Part {
  readonly relation?: { readonly relname?: string };
  readonly relname?: unknown;
  readonly onConflictClause?: { readonly action?: string };
  readonly fromClause?: readonly Node[];
  readonly lockingClause?: readonly Node[];
}

function walk(node: unknown, visit: (kind: string, node: Part) => void, kind = ''): void {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) visit(kind, node as Part);
  for (const [name, part] of Object.entries(node)) walk(part, visit, name);
}

/** The tables that the clause locks: those that it names, or all of FROM. */
function lockedBy({ lockedRels }: LockingClause, from: readonly Node[]): string[] {
  const tables: { readonly alias: string; readonly table: string }[] = [];
  walk(from, (_kind, node) => {
    if (typeof node.relname !== 'string') return;
    const { alias } = node as { readonly alias?: { readonly aliasname?: string } };
    tables.push({ alias: alias?.aliasname ?? node.relname, table: node.relname });
  });
  const names = (lockedRels ?? []).map((node) => ('RangeVar' in node ? node.RangeVar.relname : ''));
  return tables.flatMap(({ alias, table }) =>
    names.length === 0 || names.includes(alias) ? [table] : [],
  );
}
