// The tables, functions and sub-selects in FROM, and the tables that a statement writes to.
import type { JoinExpr, Node, RangeFunction, RangeVar } from 'libpg-query';
import { findColumn, readCondition, readExpressions } from './conditions.ts';
import { derive, follow, namesOf, openScope, teamColumnOf } from './values.ts';
import type { Output, Range, Scope, Value } from './values.ts';

/** Reads one item of FROM and adds its ranges to the scope. Throws for unknown syntax. */
export function readFrom(node: Node | undefined, scope: Scope): Range[] {
  if (!node) return [];
  if ('JoinExpr' in node) return readJoin(node.JoinExpr, scope);
  const range = readRange(node, scope);
  scope.ranges.push(range);
  return [range];
}

function readRange(node: Node, scope: Scope): Range {
  if ('RangeVar' in node) return findCte(node.RangeVar, scope) ?? touch(node.RangeVar, scope);
  if ('RangeFunction' in node) return readFunction(node.RangeFunction, scope);
  if (!('RangeSubselect' in node))
    throw new Error(`not understood in FROM: ${Object.keys(node).join()}`);
  const { lateral, subquery, alias } = node.RangeSubselect;
  const output = scope.reader.readQuery(subquery, lateral ? scope : (scope.parent ?? scope));
  return rangeOf(alias?.aliasname ?? '', output, namesOf(alias?.colnames));
}

/** Makes a range of a sub-select's or CTE's columns; `names` rename the first ones. */
export function rangeOf(name: string, { columns, scope }: Output, names: readonly string[]): Range {
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
    scope.reader.read.add(table);
    const name = table.alias?.aliasname ?? table.relname ?? '';
    return rangeOf(name, { columns, scope: level }, namesOf(table.alias?.colnames));
  }
  return null;
}

/** Makes a range of a table, and records a touch if it is a tenant table. */
export function touch(table: RangeVar, scope: Scope): Range {
  scope.reader.read.add(table);
  const [name, columns] = requireTable(table, scope);
  const alias = table.alias?.aliasname ?? table.relname ?? '';
  const teamColumn = teamColumnOf(name, scope.reader.tables);
  const team = derive({ value: null, scope });
  const row = derive({ value: null, scope });
  const label = alias === name ? name : `${name} ${alias}`;
  if (teamColumn !== null) scope.reader.touches.push({ table: name, label, team, row, scope });
  const names = namesOf(table.alias?.colnames);
  const visible = columns.map((column, place) => ({
    name: names[place] ?? column,
    value: column === teamColumn ? team : null,
  }));
  return { name: alias, columns: [...visible, { name: 'ctid', value: row }], isOpen: false };
}

/** Returns the table's name and columns. Throws if there is no such table. */
export function requireTable(
  { schemaname = 'public', relname = '' }: RangeVar,
  scope: Scope,
): [string, readonly string[]] {
  const name = schemaname === 'public' ? relname : `${schemaname}.${relname}`;
  const columns = scope.reader.tables.get(name);
  if (!columns) throw new Error(`there is no table ${name}`);
  return [name, columns];
}

function readFunction({ functions, alias, coldeflist = [] }: RangeFunction, scope: Scope): Range {
  readExpressions(functions, scope);
  const defined = coldeflist.map((node) =>
    'ColumnDef' in node ? (node.ColumnDef.colname ?? '') : '',
  );
  const names = [...namesOf(alias?.colnames), ...defined];
  const columns = names.map((name) => ({ name, value: derive({ value: null, scope }) }));
  const team = columns.find(({ name }) => name === 'team_id')?.value;
  if (team) scope.reader.lists.push({ label: `list ${alias?.aliasname}`, team });
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
  if (join.usingClause) scope.reader.merging.add(scope);
  for (const name of namesOf(join.usingClause)) {
    const [a, b] = [left, right].map((ranges) =>
      findColumn([name], { ...openScope(scope), parent: null, ranges }),
    );
    if (a && isBound(a)) follow(scope, a, b);
    if (b && isBound(b)) follow(scope, b, a);
  }
  return [...left, ...right];
}
