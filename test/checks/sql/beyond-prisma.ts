// What in a statement one call of Prisma's client cannot say.
import { parseSync } from 'libpg-query';

export type Beyond =
  | 'lock'
  | 'page after a position'
  | 'set'
  | 'several tables'
  | 'upsert'
  | 'expression'
  | 'other tables'
  | 'utility';

/** Kinds of nodes that Prisma's conditions and data do not have. */
const BEYOND: Readonly<Record<string, Beyond>> = {
  A_ArrayExpr: 'expression',
  CaseExpr: 'expression',
  CoalesceExpr: 'expression',
  MinMaxExpr: 'expression',
  SQLValueFunction: 'expression',
  TypeCast: 'expression',
  JoinExpr: 'several tables',
  SubLink: 'several tables',
  RangeSubselect: 'several tables',
  RangeFunction: 'set',
  RowExpr: 'page after a position',
};
/** The first of these that a statement has is its reason. */
const ORDER: readonly Beyond[] = [
  'utility',
  'other tables',
  'lock',
  'page after a position',
  'set',
  'several tables',
  'upsert',
  'expression',
];
const COMPARISONS = new Set(['=', '<>', '<', '>', '<=', '>=']);

/** Returns the main reason for a statement to be SQL; null if it has none. Needs `loadParser`. */
export function beyondPrisma(sql: string): Beyond | null {
  const reasons = new Set<Beyond>();
  const tables = new Set<unknown>();
  visit(parseSync(sql), (kind, node) => {
    const known = BEYOND[kind];
    if (known && !(kind === 'TypeCast' && isOfCount(node))) reasons.add(known);
    if (typeof node['relname'] === 'string') {
      tables.add(node);
      if (node['schemaname'] !== undefined || node['relname'].startsWith('pg_'))
        reasons.add('other tables');
    }
    if (node['lockingClause']) reasons.add('lock');
    if (node['onConflictClause']) reasons.add('upsert');
    if (kind === 'FuncCall' && nameOf(node['funcname']) !== 'count') reasons.add('expression');
    if (kind === 'A_Expr' && isOperation(node)) reasons.add('expression');
    if (/^(?!Select|Insert|Update|Delete)[A-Z]\w+Stmt$/.test(kind)) reasons.add('utility');
  });
  if (tables.size > 1) reasons.add('several tables');
  if (tables.size === 0) reasons.add('utility');
  return ORDER.find((reason) => reasons.has(reason)) ?? null;
}

/** `count(*)::int`, the number that Prisma's `count` gives. */
function isOfCount({ arg }: Part): boolean {
  const { FuncCall: call } = arg as { readonly FuncCall?: Part };
  return call !== undefined && nameOf(call['funcname']) === 'count';
}

type Part = Readonly<Record<string, unknown>>;

function visit(node: unknown, see: (kind: string, node: Part) => void, kind = ''): void {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) see(kind, node as Part);
  for (const [name, part] of Object.entries(node)) visit(part, see, name);
}

function isOperation({ name, kind }: Part): boolean {
  const isList = kind === 'AEXPR_OP_ANY' || kind === 'AEXPR_IN' || kind === 'AEXPR_LIKE';
  return !isList && (kind !== 'AEXPR_OP' || !COMPARISONS.has(nameOf(name)));
}

function nameOf(parts: unknown): string {
  const names: string[] = [];
  visit(parts, (kind, node) => {
    if (kind === 'String' && typeof node['sval'] === 'string') names.push(node['sval']);
  });
  return names.join('.');
}
