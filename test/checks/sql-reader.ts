// Reads a statement as Postgres parses it: which tables it touches under which name, and which of its
// conditions make one column follow another. What it does not understand it refuses, so that nothing
// passes because it was not looked at.
import { parseSync, type CommonTableExpr, type DeleteStmt, type InsertStmt, type JoinExpr } from 'libpg-query';
import type { MergeStmt, Node, RangeFunction, RangeVar, SelectStmt, UpdateStmt, WithClause } from 'libpg-query';
import { openScope, parametersOf, type Column, type Range, type Scope, type Value } from './team-values.ts';

/** Columns by table, in their order; tables of other schemas than public and pg_catalog as `schema.table`. */
export type Tables = ReadonlyMap<string, readonly string[]>;

/** The column that says whose a table's rows are; null: the table is not a tenant's. */
export function teamColumnOf(table: string, tables: Tables): string | null {
  if (table === 'team') return 'id';
  return tables.get(table)?.includes('team_id') ? 'team_id' : null;
}

/** A place where a statement touches rows of a tenant table. */
export interface Touch {
  readonly table: string;
  /** For people: the table, and what the statement calls it or does with it. */
  readonly label: string;
  readonly team: Value;
  /** What is equal only for one and the same row. */
  readonly row: Value;
  readonly scope: Scope;
}

export interface Reading {
  readonly touches: readonly Touch[];
  /** Lists that are given with a column `team_id`, as `unnest($1, $2) as n (team_id, id)`. */
  readonly lists: readonly Pick<Touch, 'label' | 'team'>[];
  /** Values that are equal, or come from one another, anywhere in the statement. */
  readonly links: readonly (readonly [Value, Value])[];
}

interface Output {
  readonly columns: readonly Column[];
  readonly scope: Scope;
}

type Wide = Readonly<Record<string, unknown>>;

/** `parameters`: names, beside `$n`, of a function's parameters. Throws for what it cannot read. */
export function readStatement(sql: string, tables: Tables, parameters: ReadonlySet<string> = new Set()): Reading {
  const touches: Touch[] = [];
  const lists: Pick<Touch, 'label' | 'team'>[] = [];
  const links: [Value, Value][] = [];
  const known = new Map<string, Value>();
  const read = new Set<unknown>();
  const outputs = new Map<unknown, Output>();
  /** Where USING makes one column of two. */
  const merging = new Set<Scope>();

  const { stmts = [] } = parseSync(sql);
  for (const { stmt } of stmts) if (stmt) readQuery(stmt, openScope(null));
  requireAllRead(stmts);
  return { touches, lists, links };

  // Values ------------------------------------------------------------------------------------------

  function parameter(name: string): Value {
    const value = known.get(name) ?? { parameter: name, sources: [] };
    known.set(name, value);
    return value;
  }

  /** A column made of these; null among them: of something that is no value. */
  function derive(...from: { value: Value | null; scope: Scope }[]): Value {
    const sources = from.flatMap(({ value, scope }) => (value ? [{ value, scope }] : []));
    const made: Value = { parameter: null, sources: sources.length === from.length ? sources : [] };
    for (const { value } of sources) links.push([made, value]);
    return made;
  }

  function follow(scope: Scope, follower: Value | null | undefined, leader: Value | null | undefined): void {
    if (!follower || !leader) return;
    scope.follows.push([follower, leader]);
    links.push([follower, leader]);
  }

  function valueOf(node: Node | undefined, scope: Scope): Value | null {
    if (!node) return null;
    if ('ParamRef' in node) return parameter(`$${node.ParamRef.number}`);
    if ('TypeCast' in node) return valueOf(node.TypeCast.arg, scope);
    if ('ColumnRef' in node) return findColumn(namesOf(node.ColumnRef.fields), scope);
    if ('SubLink' in node && node.SubLink.subLinkType === 'EXPR_SUBLINK') {
      return columnsIn(node.SubLink.subselect, scope)[0] ?? null;
    }
    return null;
  }

  /** Of a row, or of the columns of a sub-select. */
  function valuesOf(node: Node | undefined, scope: Scope): (Value | null)[] {
    if (node && 'RowExpr' in node) return (node.RowExpr.args ?? []).map((item) => valueOf(item, scope));
    const isRow = node && 'SubLink' in node && node.SubLink.subLinkType === 'EXPR_SUBLINK';
    return isRow ? columnsIn(node.SubLink.subselect, scope) : [valueOf(node, scope)];
  }

  function columnsIn(query: Node | undefined, scope: Scope): Value[] {
    const { columns, scope: inner } = readSubLink(query, scope);
    return columns.map(({ value }) => derive({ value, scope: inner }));
  }

  function findColumn(names: readonly string[], scope: Scope): Value | null {
    const column = names.at(-1) ?? '';
    const range = names.at(-2);
    for (let level: Scope | null = scope; level; level = level.parent) {
      const ranges = level.ranges.filter(({ name }) => range === undefined || name === range);
      const found = ranges.flatMap(({ columns }) => columns.filter(({ name }) => name === column))[0];
      if (found) return found.value;
      if (ranges.some(({ isOpen }) => isOpen) || (range !== undefined && ranges.length > 0)) return null;
    }
    return range === undefined && parameters.has(column) ? parameter(column) : null;
  }

  // Conditions --------------------------------------------------------------------------------------

  /** What `node` says of every row, if it is true. `isBound`: of which values it says so. */
  function readCondition(node: Node | undefined, scope: Scope, isBound: (value: Value) => boolean = () => true): void {
    if (!node) return;
    if ('BoolExpr' in node && node.BoolExpr.boolop === 'AND_EXPR') {
      for (const part of node.BoolExpr.args ?? []) readCondition(part, scope, isBound);
    }
    const [left, right, isMutual] = sidesOf(node, scope);
    left.forEach((value, place) => {
      const other = right[place];
      if (value && isBound(value)) follow(scope, value, other);
      if (isMutual && other && isBound(other)) follow(scope, other, value);
    });
  }

  /** The sides of an equality; one with a set is not mutual, because the set may hold more. */
  function sidesOf(node: Node, scope: Scope): [(Value | null)[], (Value | null)[], boolean] {
    if ('A_Expr' in node && node.A_Expr.name?.length === 1 && namesOf(node.A_Expr.name)[0] === '=') {
      const { kind, lexpr, rexpr } = node.A_Expr;
      if (kind === 'AEXPR_OP') return [valuesOf(lexpr, scope), valuesOf(rexpr, scope), true];
      const isArray = rexpr && 'SubLink' in rexpr && rexpr.SubLink.subLinkType === 'ARRAY_SUBLINK';
      if (kind === 'AEXPR_OP_ANY' && isArray) {
        return [[valueOf(lexpr, scope)], columnsIn(rexpr.SubLink.subselect, scope), false];
      }
    }
    if ('SubLink' in node && node.SubLink.subLinkType === 'ANY_SUBLINK') {
      const { operName, testexpr, subselect } = node.SubLink;
      const isEqual = operName === undefined || namesOf(operName).join('.') === '=';
      if (isEqual) return [valuesOf(testexpr, scope), columnsIn(subselect, scope), false];
    }
    return [[], [], false];
  }

  /** Reads every sub-select in an expression. */
  function readExpressions(node: unknown, scope: Scope): void {
    if (typeof node !== 'object' || node === null) return;
    if ('SubLink' in node) readSubLink((node as Extract<Node, { SubLink: unknown }>).SubLink.subselect, scope);
    for (const [key, part] of Object.entries(node)) if (key !== 'subselect') readExpressions(part, scope);
  }

  function readSubLink(query: Node | undefined, scope: Scope): Output {
    const output = outputs.get(query) ?? readQuery(query, scope);
    outputs.set(query, output);
    return output;
  }

  // What stands in FROM -----------------------------------------------------------------------------

  function readFrom(node: Node | undefined, scope: Scope): Range[] {
    if (!node) return [];
    if ('JoinExpr' in node) return readJoin(node.JoinExpr, scope);
    const range = readRange(node, scope);
    scope.ranges.push(range);
    return [range];
  }

  function readRange(node: Node, scope: Scope): Range {
    if ('RangeVar' in node) return findCte(node.RangeVar, scope) ?? touch(node.RangeVar, scope);
    if ('RangeFunction' in node) return readFunction(node.RangeFunction, scope);
    if (!('RangeSubselect' in node)) throw new Error(`not understood in FROM: ${Object.keys(node).join()}`);
    const { lateral, subquery, alias } = node.RangeSubselect;
    const output = readQuery(subquery, lateral ? scope : scope.parent);
    return rangeOf(alias?.aliasname ?? '', output, namesOf(alias?.colnames));
  }

  function rangeOf(name: string, { columns, scope }: Output, names: readonly string[]): Range {
    const renamed = columns.map((column, place) => ({
      name: names[place] ?? column.name,
      value: derive({ value: column.value, scope }),
    }));
    return { name, columns: renamed, isOpen: false };
  }

  function findCte(table: RangeVar, scope: Scope): Range | null {
    if (table.schemaname !== undefined) return null;
    for (let level: Scope | null = scope; level; level = level.parent) {
      const columns = level.ctes.get(table.relname ?? '');
      if (!columns) continue;
      read.add(table);
      const name = table.alias?.aliasname ?? table.relname ?? '';
      return rangeOf(name, { columns, scope: level }, namesOf(table.alias?.colnames));
    }
    return null;
  }

  function touch(table: RangeVar, scope: Scope): Range {
    read.add(table);
    const [name, columns] = requireTable(table);
    const alias = table.alias?.aliasname ?? table.relname ?? '';
    const teamColumn = teamColumnOf(name, tables);
    const team = derive({ value: null, scope });
    const row = derive({ value: null, scope });
    if (teamColumn !== null)
      touches.push({ table: name, label: alias === name ? name : `${name} ${alias}`, team, row, scope });
    const names = namesOf(table.alias?.colnames);
    const visible = columns.map((column, place) => ({
      name: names[place] ?? column,
      value: column === teamColumn ? team : null,
    }));
    return { name: alias, columns: [...visible, { name: 'ctid', value: row }], isOpen: false };
  }

  function requireTable({ schemaname = 'public', relname = '' }: RangeVar): [string, readonly string[]] {
    const name = schemaname === 'public' ? relname : `${schemaname}.${relname}`;
    const columns = tables.get(name);
    if (!columns) throw new Error(`there is no table ${name}`);
    return [name, columns];
  }

  function readFunction({ functions, alias, coldeflist = [] }: RangeFunction, scope: Scope): Range {
    readExpressions(functions, scope);
    const defined = coldeflist.map((node) => ('ColumnDef' in node ? (node.ColumnDef.colname ?? '') : ''));
    const names = [...namesOf(alias?.colnames), ...defined];
    const columns = names.map((name) => ({ name, value: derive({ value: null, scope }) }));
    const team = columns.find(({ name }) => name === 'team_id')?.value;
    if (team) lists.push({ label: `list ${alias?.aliasname}`, team });
    return { name: alias?.aliasname ?? '', columns, isOpen: names.length === 0 };
  }

  function readJoin(join: JoinExpr, scope: Scope): Range[] {
    if (join.alias || join.join_using_alias || join.isNatural)
      throw new Error('not understood: NATURAL, or a join with a name');
    const left = readFrom(join.larg, scope);
    const right = readFrom(join.rarg, scope);
    const optional = { JOIN_LEFT: right, JOIN_RIGHT: left, JOIN_FULL: [] } as Record<string, Range[]>;
    const bound = optional[join.jointype ?? ''] ?? [...left, ...right];
    const isBound = (value: Value): boolean =>
      bound.some(({ columns }) => columns.some((column) => column.value === value));
    readCondition(join.quals, scope, isBound);
    readExpressions(join.quals, scope);
    if (join.usingClause) merging.add(scope);
    for (const name of namesOf(join.usingClause)) {
      const [a, b] = [left, right].map((ranges) => findColumn([name], { ...openScope(null), ranges }));
      if (a && isBound(a)) follow(scope, a, b);
      if (b && isBound(b)) follow(scope, b, a);
    }
    return [...left, ...right];
  }

  // Queries -----------------------------------------------------------------------------------------

  function readQuery(node: Node | undefined, parent: Scope | null): Output {
    if (node && 'SelectStmt' in node) return readSelect(node.SelectStmt, parent);
    if (node && 'InsertStmt' in node) return readInsert(node.InsertStmt, parent);
    if (node && 'UpdateStmt' in node) return readChange(node.UpdateStmt, parent);
    if (node && 'DeleteStmt' in node) return readChange(node.DeleteStmt, parent);
    if (node && 'MergeStmt' in node) return readMerge(node.MergeStmt, parent);
    if (node && !('VariableSetStmt' in node)) throw new Error(`not understood: ${Object.keys(node).join()}`);
    return { columns: [], scope: openScope(parent) };
  }

  function readSelect(query: SelectStmt, parent: Scope | null): Output {
    const outer = readWith(query.withClause, parent);
    const { op = 'SETOP_NONE', larg, rarg } = query;
    if (op !== 'SETOP_NONE' && larg && rarg) {
      return combine(op === 'SETOP_UNION', readSelect(larg, outer), readSelect(rarg, outer));
    }
    const scope = openScope(outer);
    for (const item of query.fromClause ?? []) readFrom(item, scope);
    readCondition(query.whereClause, scope);
    const { fromClause: _from, withClause: _with, lockingClause: _locks, ...expressions } = query;
    readExpressions(expressions, scope);
    const columns = query.valuesLists ? rowsOf(query.valuesLists, scope) : columnsOf(query.targetList, scope);
    return { columns, scope };
  }

  /** Rows of a union are of either; those of EXCEPT and INTERSECT are the left one's. */
  function combine(isUnion: boolean, left: Output, right: Output): Output {
    const columns = left.columns.map(({ name, value }, place) => {
      const other = { value: right.columns[place]?.value ?? null, scope: right.scope };
      const one = { value, scope: left.scope };
      const made = isUnion ? derive(one, other) : derive(one);
      // Linked also where only one of them is bound.
      for (const { value: source } of [one, other]) if (source) links.push([made, source]);
      return { name, value: made };
    });
    return { columns, scope: left.scope };
  }

  function rowsOf(rows: readonly Node[], scope: Scope): Column[] {
    const lists = rows.map((row) => ('List' in row ? (row.List.items ?? []) : []));
    return (lists[0] ?? []).map((_item, place) => ({
      name: `column${place + 1}`,
      value: derive(...lists.map((items) => ({ value: valueOf(items[place], scope), scope }))),
    }));
  }

  function columnsOf(targets: readonly Node[] | undefined, scope: Scope): Column[] {
    return (targets ?? []).flatMap((target): Column[] => {
      if (!('ResTarget' in target)) return [];
      const { name, val } = target.ResTarget;
      if (!val || !('ColumnRef' in val)) return [{ name: name ?? nameOf(val), value: valueOf(val, scope) }];
      const names = namesOf(val.ColumnRef.fields);
      const isStar = val.ColumnRef.fields?.some((field) => 'A_Star' in field);
      if (!isStar) return [{ name: name ?? names.at(-1) ?? '', value: valueOf(val, scope) }];
      if (names.length === 0 && merging.has(scope)) throw new Error('not understood: * of a join with USING');
      const ranges = scope.ranges.filter((range) => names.length === 0 || range.name === names.at(-1));
      return ranges.flatMap(({ columns }) => columns.filter((column) => column.name !== 'ctid'));
    });
  }

  function nameOf(node: Node | undefined): string {
    if (node && 'TypeCast' in node) return nameOf(node.TypeCast.arg);
    if (node && 'ColumnRef' in node) return namesOf(node.ColumnRef.fields).at(-1) ?? '';
    return '';
  }

  function readWith(clause: WithClause | undefined, parent: Scope | null): Scope {
    const scope = openScope(parent);
    for (const node of clause?.ctes ?? []) {
      if ('CommonTableExpr' in node) readCte(node.CommonTableExpr, clause?.recursive === true, scope);
    }
    return scope;
  }

  function readCte(cte: CommonTableExpr, mayRecur: boolean, scope: Scope): void {
    const { ctename = '', ctequery: query } = cte;
    const name = (output: Output): Range => rangeOf(ctename, output, namesOf(cte.aliascolnames));
    const select = query && 'SelectStmt' in query ? query.SelectStmt : undefined;
    if (!mayRecur || !select?.larg || !select.rarg) {
      scope.ctes.set(ctename, name(readQuery(query, scope)).columns);
      return;
    }
    const outer = readWith(select.withClause, scope);
    const { columns } = name(readSelect(select.larg, outer));
    scope.ctes.set(ctename, columns);
    // By induction: a column is bound if the first rows are and, should all rows so far be, the next ones are.
    const next = readSelect(select.rarg, outer);
    const steps = columns.map(({ value }, place) => [value, next.columns[place]?.value ?? null] as const);
    for (const [value, step] of steps) if (value && step) links.push([value, step]);
    const isLost = ([value, step]: readonly [Value | null, Value | null]): boolean =>
      value !== null && value.sources.length > 0 && (!step || parametersOf(step, next.scope).size === 0);
    for (let lost = steps.find(isLost); lost; lost = steps.find(isLost)) if (lost[0]) lost[0].sources = [];
  }

  // Writes ------------------------------------------------------------------------------------------

  function readTarget(table: RangeVar | undefined, scope: Scope): Range {
    const range = touch(table ?? {}, scope);
    scope.ranges.push(range);
    return range;
  }

  /** UPDATE and DELETE. */
  function readChange(change: UpdateStmt & DeleteStmt, parent: Scope | null): Output {
    const scope = openScope(readWith(change.withClause, parent));
    readTarget(change.relation, scope);
    for (const item of [...(change.fromClause ?? []), ...(change.usingClause ?? [])]) readFrom(item, scope);
    readCondition(change.whereClause, scope);
    readExpressions([change.whereClause, change.targetList, change.returningClause], scope);
    readAssignments(change.targetList, change.relation, scope);
    return { columns: columnsOf(change.returningClause?.exprs, scope), scope };
  }

  /** A row that is given another team id counts as a row of that team, too. */
  function readAssignments(targets: readonly Node[] | undefined, relation: RangeVar | undefined, scope: Scope): void {
    const [table] = requireTable(relation ?? {});
    for (const target of targets ?? []) {
      if (!('ResTarget' in target) || target.ResTarget.name !== teamColumnOf(table, tables)) continue;
      const team = derive({ value: valueOf(target.ResTarget.val, scope), scope });
      touches.push({ table, label: `${table} (set)`, team, row: team, scope });
    }
  }

  function readInsert(insert: InsertStmt, parent: Scope | null): Output {
    const outer = readWith(insert.withClause, parent);
    const scope = openScope(outer);
    const target = readTarget(insert.relation, scope);
    const output = readQuery(insert.selectStmt, outer);
    const place = placeOfTeam(insert.relation, insert.cols);
    const given = output.columns[place]?.value ?? null;
    const [table, columns] = requireTable(insert.relation ?? {});
    const team = target.columns[columns.indexOf(teamColumnOf(table, tables) ?? '')]?.value;
    if (given) follow(scope, team, derive({ value: given, scope: output.scope }));
    readConflict(insert, table, scope);
    readExpressions(insert.returningClause, scope);
    return { columns: columnsOf(insert.returningClause?.exprs, scope), scope };
  }

  /** Where an insert's columns hold the team. */
  function placeOfTeam(relation: RangeVar | undefined, cols: readonly Node[] | undefined): number {
    const [table, columns] = requireTable(relation ?? {});
    const names = cols?.map((node) => ('ResTarget' in node ? (node.ResTarget.name ?? '') : '')) ?? columns;
    return names.indexOf(teamColumnOf(table, tables) ?? '');
  }

  /** DO UPDATE changes a row that is there: this team's only if the team is part of the key. */
  function readConflict({ onConflictClause: conflict, relation }: InsertStmt, table: string, scope: Scope): void {
    if (conflict?.action !== 'ONCONFLICT_UPDATE') return;
    const keys = (conflict.infer?.indexElems ?? []).map((node) => ('IndexElem' in node ? node.IndexElem.name : ''));
    const teamColumn = teamColumnOf(table, tables);
    if (teamColumn !== null && !keys.includes(teamColumn)) {
      const team = derive({ value: null, scope });
      touches.push({ table, label: `${table} (on conflict)`, team, row: team, scope });
    }
    const target = scope.ranges.slice(0, 1).map((range) => ({ ...range, name: 'excluded' }));
    const inner = { ...openScope(scope), ranges: target };
    readExpressions([conflict.targetList, conflict.whereClause], inner);
    readAssignments(conflict.targetList, relation, inner);
  }

  function readMerge(merge: MergeStmt, parent: Scope | null): Output {
    const scope = openScope(readWith(merge.withClause, parent));
    const target = readTarget(merge.relation, scope);
    readFrom(merge.sourceRelation, scope);
    const clauses = (merge.mergeWhenClauses ?? []).flatMap((node) =>
      'MergeWhenClause' in node ? [node.MergeWhenClause] : [],
    );
    // Rows of the source are kept without a match, and with NOT MATCHED BY SOURCE those of the target, too.
    const isLimited = clauses.every(({ matchKind }) => matchKind !== 'MERGE_WHEN_NOT_MATCHED_BY_SOURCE');
    readCondition(
      merge.joinCondition,
      scope,
      (value) => isLimited && target.columns.some((column) => column.value === value),
    );
    readExpressions([merge.joinCondition, clauses, merge.returningClause], scope);
    const [table] = requireTable(merge.relation ?? {});
    for (const { commandType, targetList, values } of clauses) {
      if (commandType === 'CMD_UPDATE') readAssignments(targetList, merge.relation, scope);
      if (commandType !== 'CMD_INSERT' || teamColumnOf(table, tables) === null) continue;
      const given = valueOf(values?.[placeOfTeam(merge.relation, targetList)], scope);
      const team = derive({ value: given, scope });
      touches.push({ table, label: `${table} (insert)`, team, row: team, scope });
    }
    return { columns: columnsOf(merge.returningClause?.exprs, scope), scope };
  }

  /** Whatever names a table must have been read: a syntax that is new here must not hide one. */
  function requireAllRead(node: unknown): void {
    if (typeof node !== 'object' || node === null) return;
    const { relname } = node as Wide;
    if (typeof relname === 'string' && !read.has(node)) throw new Error(`not understood, where it names ${relname}`);
    for (const [key, part] of Object.entries(node)) if (key !== 'lockingClause') requireAllRead(part);
  }
}

function namesOf(nodes: readonly Node[] | undefined): string[] {
  return (nodes ?? []).flatMap((node) => ('String' in node ? [node.String.sval ?? ''] : []));
}
