// Which columns of a statement's result can be null, as far as its text and the tables say.
import {
  parseSync,
  type A_Expr,
  type FuncCall,
  type JoinExpr,
  type Node,
  type RangeVar,
  type SelectStmt,
  type SubLink,
  type WithClause,
} from 'libpg-query';
import { namesOf } from './values.ts';

/** `unknown`: it depends on a parameter, or on a function that is not read. */
export type Nullness = 'never' | 'maybe' | 'unknown';

export interface ResultColumn {
  readonly name: string;
  readonly nulls: Nullness;
}

/** Each table's columns in order, and whether they are NOT NULL. */
export type TableColumns = ReadonlyMap<string, ReadonlyMap<string, boolean>>;

interface Range {
  readonly name: string;
  /** null: its columns are not known. */
  columns: ReadonlyMap<string, Nullness> | null;
}

interface Scope {
  readonly tables: TableColumns;
  readonly parent: Scope | null;
  readonly ranges: Range[];
  readonly ctes: Map<string, readonly ResultColumn[]>;
  isGrouped: boolean;
}

/** Reads a statement. Returns no column of a statement without a result. */
export function resultColumns(sql: string, tables: TableColumns): readonly ResultColumn[] {
  const [first] = parseSync(sql).stmts ?? [];
  const scope: Scope = { tables, parent: null, ranges: [], ctes: new Map(), isGrouped: false };
  return readQuery(first?.stmt, scope);
}

const inner = (parent: Scope): Scope => ({
  tables: parent.tables,
  parent,
  ranges: [],
  ctes: new Map(),
  isGrouped: false,
});

function readQuery(node: Node | undefined, parent: Scope): readonly ResultColumn[] {
  if (!node) return [];
  if ('SelectStmt' in node) return readSelect(node.SelectStmt, parent);
  const change =
    'InsertStmt' in node
      ? node.InsertStmt
      : 'UpdateStmt' in node
        ? node.UpdateStmt
        : 'DeleteStmt' in node
          ? node.DeleteStmt
          : null;
  if (!change) return [];
  const scope = inner(parent);
  readWith(change.withClause, scope);
  if (change.relation) readTable(change.relation, scope);
  const sources =
    'fromClause' in change ? change.fromClause : 'usingClause' in change ? change.usingClause : [];
  for (const item of sources ?? []) readFrom(item, scope);
  if ('whereClause' in change) refine(change.whereClause, scope);
  return readTargets(change.returningClause?.exprs, scope);
}

function readSelect(query: SelectStmt, parent: Scope): readonly ResultColumn[] {
  const scope = inner(parent);
  readWith(query.withClause, scope);
  const { op = 'SETOP_NONE', larg, rarg } = query;
  if (op !== 'SETOP_NONE' && larg && rarg) {
    const [left, right] = [readSelect(larg, scope), readSelect(rarg, scope)];
    return left.map(({ name, nulls }, place) => ({
      name,
      nulls: any([nulls, right[place]?.nulls ?? 'unknown']),
    }));
  }
  if (query.valuesLists) return readValues(query.valuesLists, scope);
  for (const item of query.fromClause ?? []) readFrom(item, scope);
  refine(query.whereClause, scope);
  scope.isGrouped = (query.groupClause ?? []).length > 0;
  return readTargets(query.targetList, scope);
}

function readValues(lists: readonly Node[], scope: Scope): readonly ResultColumn[] {
  const rows = lists.map((list) =>
    'List' in list ? (list.List.items ?? []).map((item) => nullsOf(item, scope)) : [],
  );
  return (rows[0] ?? []).map((_first, place) => ({
    name: `column${place + 1}`,
    nulls: any(rows.map((row) => row[place] ?? 'unknown')),
  }));
}

function readWith(clause: WithClause | undefined, scope: Scope): void {
  for (const node of clause?.ctes ?? []) {
    if (!('CommonTableExpr' in node)) continue;
    const { ctename = '', ctequery, aliascolnames } = node.CommonTableExpr;
    // A recursive query sees what its first part gives.
    if (clause?.recursive && ctequery && 'SelectStmt' in ctequery && ctequery.SelectStmt.larg)
      scope.ctes.set(ctename, readSelect(ctequery.SelectStmt.larg, scope));
    const names = namesOf(aliascolnames);
    scope.ctes.set(
      ctename,
      readQuery(ctequery, scope).map((column, place) => ({
        ...column,
        name: names[place] ?? column.name,
      })),
    );
  }
}

function readFrom(node: Node | undefined, scope: Scope): readonly Range[] {
  if (!node) return [];
  if ('JoinExpr' in node) return readJoin(node.JoinExpr, scope);
  if ('RangeVar' in node) return [readTable(node.RangeVar, scope)];
  if ('RangeSubselect' in node) {
    const { lateral, subquery, alias } = node.RangeSubselect;
    const columns = readQuery(subquery, lateral ? scope : (scope.parent ?? scope));
    // A sub-select that is not lateral still sees the results of this level's WITH.
    const seen = lateral ? columns : readQuery(subquery, { ...scope, ranges: [] });
    return [addRange(scope, alias?.aliasname ?? '', seen, namesOf(alias?.colnames))];
  }
  if (!('RangeFunction' in node)) throw new Error('not understood in FROM');
  const range: Range = { name: node.RangeFunction.alias?.aliasname ?? '', columns: null };
  scope.ranges.push(range);
  return [range];
}

function readJoin(join: JoinExpr, scope: Scope): readonly Range[] {
  const left = readFrom(join.larg, scope);
  const right = readFrom(join.rarg, scope);
  if (join.jointype === 'JOIN_INNER') refine(join.quals, scope);
  if (join.jointype === 'JOIN_LEFT' || join.jointype === 'JOIN_FULL') right.forEach(loosen);
  if (join.jointype === 'JOIN_RIGHT' || join.jointype === 'JOIN_FULL') left.forEach(loosen);
  return [...left, ...right];
}

/** The range need not have a row. */
function loosen(range: Range): void {
  if (!range.columns) return;
  range.columns = new Map([...range.columns.keys()].map((name) => [name, 'maybe']));
}

function readTable(table: RangeVar, scope: Scope): Range {
  const { relname = '', schemaname = 'public', alias } = table;
  const name = alias?.aliasname ?? relname;
  for (let level: Scope | null = scope; level && !table.schemaname; level = level.parent) {
    const columns = level.ctes.get(relname);
    if (columns) return addRange(scope, name, columns, namesOf(alias?.colnames));
  }
  const known = scope.tables.get(schemaname === 'public' ? relname : `${schemaname}.${relname}`);
  const columns = [...(known ?? [])].map(
    ([column, isNotNull]) => [column, isNotNull ? 'never' : 'maybe'] as const,
  );
  const range: Range = { name, columns: known ? new Map(columns) : null };
  scope.ranges.push(range);
  return range;
}

function addRange(
  scope: Scope,
  name: string,
  columns: readonly ResultColumn[],
  names: readonly string[],
): Range {
  const range: Range = {
    name,
    columns: new Map(columns.map((one, place) => [names[place] ?? one.name, one.nulls])),
  };
  scope.ranges.push(range);
  return range;
}

/** What must hold of each row: a comparison with null does not. */
function refine(condition: Node | undefined, scope: Scope): void {
  if (!condition) return;
  if ('BoolExpr' in condition && condition.BoolExpr.boolop === 'AND_EXPR') {
    for (const part of condition.BoolExpr.args ?? []) refine(part, scope);
    return;
  }
  const compared =
    'NullTest' in condition && condition.NullTest.nulltesttype === 'IS_NOT_NULL'
      ? [condition.NullTest.arg]
      : 'A_Expr' in condition && COMPARING.has(condition.A_Expr.kind ?? '')
        ? [condition.A_Expr.lexpr, condition.A_Expr.rexpr]
        : [];
  for (const side of compared) {
    const path = side && 'ColumnRef' in side ? namesOf(side.ColumnRef.fields) : [];
    const range = path.length > 0 ? findRange(path, { ...scope, parent: null }) : null;
    if (range?.columns) range.columns = new Map([...range.columns, [path.at(-1) ?? '', 'never']]);
  }
}

const COMPARING = new Set(['AEXPR_OP', 'AEXPR_OP_ANY', 'AEXPR_IN', 'AEXPR_BETWEEN']);

function findRange(path: readonly string[], scope: Scope): Range | null {
  const name = path.at(-1) ?? '';
  for (let level: Scope | null = scope; level; level = level.parent) {
    const named = level.ranges.filter((range) => path.length === 1 || range.name === path.at(-2));
    const found =
      named.find(({ columns }) => columns?.has(name)) ?? named.find((one) => !one.columns);
    if (found) return found;
  }
  return null;
}

function readTargets(targets: readonly Node[] | undefined, scope: Scope): readonly ResultColumn[] {
  return (targets ?? []).flatMap((node): readonly ResultColumn[] => {
    if (!('ResTarget' in node)) return [];
    const { name, val } = node.ResTarget;
    if (val && 'ColumnRef' in val && (val.ColumnRef.fields ?? []).some((one) => 'A_Star' in one)) {
      const [of] = namesOf(val.ColumnRef.fields);
      const ranges = scope.ranges.filter((range) => of === undefined || range.name === of);
      return ranges.flatMap(({ columns }) =>
        [...(columns ?? [])].map(([column, nulls]) => ({ name: column, nulls })),
      );
    }
    return [{ name: name ?? nameOf(val), nulls: nullsOf(val, scope) }];
  });
}

/** The name that Postgres gives a column without one. */
function nameOf(node: Node | undefined): string {
  if (node && 'ColumnRef' in node) return namesOf(node.ColumnRef.fields).at(-1) ?? '';
  if (node && 'FuncCall' in node) return namesOf(node.FuncCall.funcname).at(-1) ?? '';
  if (node && 'TypeCast' in node) return nameOf(node.TypeCast.arg);
  if (node && 'CoalesceExpr' in node) return 'coalesce';
  return '?column?';
}

/** Null if one of them is, as of a strict function. */
function any(all: readonly Nullness[]): Nullness {
  if (all.includes('maybe')) return 'maybe';
  return all.includes('unknown') ? 'unknown' : 'never';
}

/** Null only if all of them are, as of coalesce. */
function every(all: readonly Nullness[]): Nullness {
  if (all.includes('never')) return 'never';
  return all.includes('unknown') ? 'unknown' : 'maybe';
}

function nullsOf(node: Node | undefined, scope: Scope): Nullness {
  if (!node) return 'unknown';
  const all = (nodes: readonly (Node | undefined)[] = []): Nullness[] =>
    nodes.map((one) => nullsOf(one, scope));
  if ('A_Const' in node) return node.A_Const.isnull ? 'maybe' : 'never';
  if ('ColumnRef' in node) {
    const path = namesOf(node.ColumnRef.fields);
    const range = findRange(path, scope);
    return range?.columns?.get(path.at(-1) ?? '') ?? 'unknown';
  }
  if ('TypeCast' in node) return nullsOf(node.TypeCast.arg, scope);
  if ('CoalesceExpr' in node) return every(all(node.CoalesceExpr.args));
  if ('MinMaxExpr' in node) return every(all(node.MinMaxExpr.args));
  if ('BoolExpr' in node) return any(all(node.BoolExpr.args));
  if ('CaseExpr' in node) {
    const { args = [], defresult } = node.CaseExpr;
    if (!defresult) return 'maybe';
    return any([
      nullsOf(defresult, scope),
      ...args.map((one) => ('CaseWhen' in one ? nullsOf(one.CaseWhen.result, scope) : 'unknown')),
    ]);
  }
  if ('NullTest' in node || 'BooleanTest' in node || 'SQLValueFunction' in node) return 'never';
  if ('A_ArrayExpr' in node || 'RowExpr' in node) return 'never';
  if ('A_Expr' in node) return nullsOfOperator(node.A_Expr, all);
  if ('FuncCall' in node) return nullsOfCall(node.FuncCall, scope, all);
  if ('SubLink' in node) return nullsOfSubLink(node.SubLink, scope);
  return 'unknown';
}

function nullsOfOperator(
  { kind, name, lexpr, rexpr }: A_Expr,
  all: (nodes: readonly (Node | undefined)[]) => Nullness[],
): Nullness {
  if (kind === 'AEXPR_DISTINCT' || kind === 'AEXPR_NOT_DISTINCT') return 'never';
  if (kind === 'AEXPR_NULLIF') return 'maybe';
  // A key that JSON does not have.
  if (namesOf(name).some((one) => one.startsWith('->') || one.startsWith('#>'))) return 'maybe';
  return any(all([lexpr, rexpr].filter((side) => side !== undefined)));
}

/** They return a value for values. */
const STRICT = new Set(
  `lower upper length octet_length extract date_part date_trunc to_timestamp now clock_timestamp
   array_to_string starts_with row_number make_interval`.split(/\s+/),
);
const AGGREGATES = new Set('sum min max avg array_agg json_agg bool_or bool_and'.split(' '));
const NEVER_NULL = new Set(['count', 'json_build_array', 'json_build_object']);
const IS_AGGREGATE = new RegExp(`"sval":"(?:count|${[...AGGREGATES].join('|')})"`);

function nullsOfCall(
  { funcname, args = [], over }: FuncCall,
  scope: Scope,
  all: (nodes: readonly (Node | undefined)[]) => Nullness[],
): Nullness {
  const name = namesOf(funcname).at(-1) ?? '';
  if (NEVER_NULL.has(name)) return 'never';
  if (AGGREGATES.has(name)) return scope.isGrouped || over ? any(all(args)) : 'maybe';
  return STRICT.has(name) ? any(all(args)) : 'unknown';
}

function nullsOfSubLink({ subLinkType, subselect }: SubLink, scope: Scope): Nullness {
  if (subLinkType === 'EXISTS_SUBLINK' || subLinkType === 'ARRAY_SUBLINK') return 'never';
  if (subLinkType !== 'EXPR_SUBLINK') return 'unknown';
  const query = subselect && 'SelectStmt' in subselect ? subselect.SelectStmt : null;
  const [only] = query ? readSelect(query, scope) : [];
  // Without groups, an aggregate has a row whatever there is.
  const [target] = query?.targetList ?? [];
  const isOneRow =
    (query?.fromClause ?? []).length === 0 ||
    (!query?.groupClause && IS_AGGREGATE.test(JSON.stringify(target)));
  return isOneRow ? (only?.nulls ?? 'unknown') : 'maybe';
}
