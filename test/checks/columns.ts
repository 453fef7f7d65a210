// Checks that a statement names the columns of its result. With `*`, a migration that adds a column
// changes what a running process reads: Postgres refuses the prepared statement (0A000), and behind
// a pooler the fields move by one place. Stars further in change nothing that comes out.
import { parseSync, type Node, type SelectStmt } from 'libpg-query';

/** Whether each column of the result is named. Needs `loadParser` of tenancy.ts. */
export function namesItsColumns(sql: string): boolean {
  const { stmts = [] } = parseSync(sql);
  return stmts.every(({ stmt }) => !outputOf(stmt).some(isStar));
}

const WITHOUT_RESULT = [
  'DiscardStmt',
  'TruncateStmt',
  'VacuumStmt',
  'VariableSetStmt',
  'TransactionStmt',
];

/** Returns the columns of the result, as they are written. */
function outputOf(node: Node | undefined): readonly Node[] {
  if (!node) return [];
  if ('SelectStmt' in node) return outputOfSelect(node.SelectStmt);
  if ('InsertStmt' in node) return node.InsertStmt.returningClause?.exprs ?? [];
  if ('UpdateStmt' in node) return node.UpdateStmt.returningClause?.exprs ?? [];
  if ('DeleteStmt' in node) return node.DeleteStmt.returningClause?.exprs ?? [];
  if ('MergeStmt' in node) return node.MergeStmt.returningClause?.exprs ?? [];
  if (WITHOUT_RESULT.some((kind) => kind in node)) return [];
  throw new Error(`not understood: ${Object.keys(node).join()}`);
}

function outputOfSelect({ targetList = [], larg, rarg }: SelectStmt): readonly Node[] {
  const sides = [larg, rarg].flatMap((side) => (side ? outputOfSelect(side) : []));
  return [...targetList, ...sides];
}

/** `*`, `t.*` or `(f()).*`, but not `count(*)`. */
function isStar(node: Node): boolean {
  if (!('ResTarget' in node)) return false;
  const { val } = node.ResTarget;
  if (!val) return false;
  const parts =
    'ColumnRef' in val
      ? val.ColumnRef.fields
      : 'A_Indirection' in val
        ? val.A_Indirection.indirection
        : [];
  return (parts ?? []).some((part) => 'A_Star' in part);
}
