// Which rows a statement reads, locks and writes, by their tables, and how it locks them. Tables in
// functions that it calls are not seen.
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

/** A query of a statement that locks the rows that it selects. */
export interface Locking {
  /** As in SQL, such as `for key share skip locked`. */
  readonly how: string;
  /** It locks at most one row: it has the row's id, or `limit 1`. */
  readonly isOfOne: boolean;
  readonly isOrdered: boolean;
  readonly isLimited: boolean;
}

const STRENGTHS: Readonly<Record<string, string>> = {
  LCS_FORKEYSHARE: 'for key share',
  LCS_FORSHARE: 'for share',
  LCS_FORNOKEYUPDATE: 'for no key update',
  LCS_FORUPDATE: 'for update',
};
const POLICIES: Readonly<Record<string, string>> = {
  LockWaitBlock: '',
  LockWaitSkip: ' skip locked',
  LockWaitError: ' nowait',
};

/** Returns the queries of a statement that lock, in their order. Needs `loadParser`. */
export function readLockings(sql: string): Locking[] {
  return lockingsIn(parseSync(sql), null);
}

/** `each`: it runs once for each row of a query, which may have an order. */
function lockingsIn(part: unknown, each: { readonly isOrdered: boolean } | null): Locking[] {
  if (typeof part !== 'object' || part === null) return [];
  if (Array.isArray(part)) return part.flatMap((one) => lockingsIn(one, each));
  const { lockingClause = [], fromClause, ...rest } = part as Query;
  const own = lockingClause.map(({ LockingClause: clause }): Locking => {
    const isOfOne =
      isOne(rest.limitCount) || conjuncts(rest.whereClause).some(isOfId(namesOf(fromClause)));
    // Who skips what is locked waits for nobody, in whichever order.
    const outer = clause.waitPolicy === 'LockWaitSkip' ? null : each;
    return {
      how: `${STRENGTHS[clause.strength]}${POLICIES[clause.waitPolicy]}`,
      isOfOne: isOfOne && !outer,
      isOrdered: outer ? outer.isOrdered && isOfOne : rest.sortClause !== undefined,
      isLimited: rest.limitCount !== undefined,
    };
  });
  const { drivers, laterals } = subqueriesOf(fromClause);
  const driven = { isOrdered: drivers.some((one) => (one as Query).sortClause !== undefined) };
  return [
    ...own,
    ...drivers.flatMap((one) => lockingsIn(one, each)),
    ...laterals.flatMap((one) => lockingsIn(one, driven)),
    ...Object.values(rest).flatMap((one) => lockingsIn(one, each)),
  ];
}

/** The queries in a FROM: those that stand for themselves, and those that see others' rows. */
function subqueriesOf(from: unknown): { drivers: unknown[]; laterals: unknown[] } {
  const found = { drivers: [] as unknown[], laterals: [] as unknown[] };
  const look = (item: FromItem): void => {
    const { RangeSubselect: query, JoinExpr: join } = item;
    if (query) (query.lateral ? found.laterals : found.drivers).push(query.subquery.SelectStmt);
    if (join) for (const side of [join.larg, join.rarg]) look(side);
  };
  for (const item of (from ?? []) as readonly FromItem[]) look(item);
  return found;
}

interface FromItem {
  readonly RangeSubselect?: {
    readonly lateral?: boolean;
    readonly subquery: { readonly SelectStmt: unknown };
  };
  readonly JoinExpr?: { readonly larg: FromItem; readonly rarg: FromItem };
}

/** What `readLockings` looks at in a query. */
interface Query {
  readonly lockingClause?: readonly {
    readonly LockingClause: { readonly strength: string; readonly waitPolicy: string };
  }[];
  readonly sortClause?: unknown;
  readonly limitCount?: unknown;
  readonly whereClause?: unknown;
  readonly fromClause?: unknown;
}

/** A condition `left = right`. */
interface Equality {
  readonly A_Expr?: {
    readonly kind: string;
    readonly name: readonly { readonly String: { readonly sval: string } }[];
    readonly lexpr: unknown;
    readonly rexpr: unknown;
  };
}

function isOne(limit: unknown): boolean {
  return (
    (limit as { A_Const?: { ival?: { ival?: number } } } | undefined)?.A_Const?.ival?.ival === 1
  );
}

function conjuncts(where: unknown): unknown[] {
  const { BoolExpr: all } = (where ?? {}) as {
    BoolExpr?: { readonly boolop: string; readonly args: readonly unknown[] };
  };
  if (all?.boolop === 'AND_EXPR') return all.args.flatMap(conjuncts);
  return where === undefined ? [] : [where];
}

/** The names that the rows of a FROM have. */
function namesOf(from: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  walk(from, (_kind, node) => {
    const { alias, relname } = node as { alias?: { aliasname?: string }; relname?: string };
    const name = alias?.aliasname ?? relname;
    if (name !== undefined) names.add(name);
  });
  return names;
}

/** Whether a condition says the id, by what is no row of the query's own FROM. */
function isOfId(own: ReadonlySet<string>): (condition: unknown) => boolean {
  return (condition) => {
    const { A_Expr: equality } = condition as Equality;
    if (equality?.kind !== 'AEXPR_OP' || equality.name[0]?.String.sval !== '=') return false;
    const [column = []] = columnsIn(equality.lexpr);
    if (column.at(-1) !== 'id') return false;
    return columnsIn(equality.rexpr).every(
      ([table, ...rest]) => rest.length > 0 && !own.has(table ?? ''),
    );
  };
}

/** The columns that an expression names, by the parts of their names. Not those of sub-selects. */
function columnsIn(expression: unknown): string[][] {
  if (typeof expression !== 'object' || expression === null) return [];
  return Object.entries(expression).flatMap(([kind, part]: [string, unknown]) => {
    if (kind === 'SubLink') return [];
    if (kind !== 'ColumnRef') return columnsIn(part);
    const { fields } = part as { fields: readonly { String?: { sval: string } }[] };
    return [fields.map((field) => field.String?.sval ?? '*')];
  });
}
