// Finds statements that change rows by what they have read of the same table, without a lock. Of
// two at once the second one would go by what the first one has changed meanwhile.
import { parseSync } from 'libpg-query';

/** What is looked at in a node of any kind. */
interface Part {
  readonly relation?: { readonly relname?: string };
  readonly relname?: string;
  readonly alias?: { readonly aliasname?: string };
  readonly lockingClause?: readonly {
    readonly LockingClause: { readonly lockedRels?: readonly Locked[] };
  }[];
}
interface Locked {
  readonly RangeVar: { readonly relname: string };
}

/**
 * Returns the tables that the statement updates and also reads without a lock. What it reads in
 * another part of the same query is locked with it. Needs `loadParser` of tenancy.ts.
 */
export function readUnlocked(text: string): readonly string[] {
  const tree: unknown = parseSync(text);
  const updated = new Set<string>();
  walk(tree, isNothingLocked, (kind, { relation }) => {
    if (kind === 'UpdateStmt' && relation?.relname) updated.add(relation.relname);
  });
  const found = new Set<string>();
  walk(tree, isNothingLocked, (kind, { relname, alias }, isLocked) => {
    if (kind !== 'RangeVar' || !relname || !updated.has(relname)) return;
    if (!isLocked(alias?.aliasname ?? relname)) found.add(relname);
  });
  return [...found];
}

type IsLocked = (name: string) => boolean;
const isNothingLocked: IsLocked = () => false;

/** Visits all nodes, with what the nearest query around them locks, by the names in its FROM. */
function walk(
  node: unknown,
  isLocked: IsLocked,
  visit: (kind: string, part: Part, isLocked: IsLocked) => void,
  kind = '',
): void {
  if (typeof node !== 'object' || node === null) return;
  visit(kind, node as Part, isLocked);
  const own = kind === 'SelectStmt' ? lockedBy(node as Part) : isLocked;
  for (const [name, child] of Object.entries(node)) walk(child, own, visit, name);
}

function lockedBy({ lockingClause = [] }: Part): IsLocked {
  return (name) =>
    lockingClause.some(
      ({ LockingClause: { lockedRels } }) =>
        lockedRels === undefined || lockedRels.some(({ RangeVar }) => RangeVar.relname === name),
    );
}
