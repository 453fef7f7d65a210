// What a row keeps when an INSERT with ON CONFLICT finds it.
import { parseSync, type Node } from 'libpg-query';

interface Insert {
  readonly cols?: readonly Node[];
  readonly onConflictClause?: {
    readonly action?: string;
    readonly infer?: { readonly indexElems?: readonly Node[] };
    readonly targetList?: readonly Node[];
  };
}

/**
 * Returns the columns that the statement writes into a new row and leaves in one that it finds, but
 * for its key. Needs `loadParser` of tenancy.ts.
 */
export function keptColumns(text: string): readonly string[] {
  const kept: string[] = [];
  const visit = (node: unknown, kind: string): void => {
    if (typeof node !== 'object' || node === null) return;
    if (kind === 'InsertStmt') kept.push(...keptBy(node as Insert));
    for (const [name, child] of Object.entries(node)) visit(child, name);
  };
  visit(parseSync(text), '');
  return kept;
}

function keptBy({ cols, onConflictClause: conflict }: Insert): readonly string[] {
  if (conflict?.action !== 'ONCONFLICT_UPDATE') return [];
  const given = new Set([...namesOf(conflict.infer?.indexElems), ...namesOf(conflict.targetList)]);
  return namesOf(cols).filter((name) => !given.has(name));
}

function namesOf(nodes: readonly Node[] = []): string[] {
  return nodes.flatMap((node) => {
    if ('ResTarget' in node) return node.ResTarget.name ?? [];
    return 'IndexElem' in node ? (node.IndexElem.name ?? []) : [];
  });
}
