// Expressions: which value an expression is, and which conditions make a value equal another.
import type { Node } from 'libpg-query';
import {
  derive,
  follow,
  namesOf,
  type Column,
  type Output,
  type Scope,
  type Value,
} from './values.ts';

/** Records the equalities that hold in every row for which `node` is true, if `isBound` allows. */
export function readCondition(
  node: Node | undefined,
  scope: Scope,
  isBound: (value: Value) => boolean = () => true,
): void {
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

/** Returns the sides of an equality, and whether it is mutual: a set may have further values. */
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
export function readExpressions(node: unknown, scope: Scope): void {
  if (typeof node !== 'object' || node === null) return;
  if ('SubLink' in node)
    readSubLink((node as Extract<Node, { SubLink: unknown }>).SubLink.subselect, scope);
  for (const [key, part] of Object.entries(node))
    if (key !== 'subselect') readExpressions(part, scope);
}

function readSubLink(query: Node | undefined, scope: Scope): Output {
  const output = scope.reader.outputs.get(query) ?? scope.reader.readQuery(query, scope);
  scope.reader.outputs.set(query, output);
  return output;
}

/** Returns the column or parameter that the expression is; null if it is neither. */
export function valueOf(node: Node | undefined, scope: Scope): Value | null {
  if (!node) return null;
  if ('ParamRef' in node) return parameter(`$${node.ParamRef.number}`, scope);
  // A cast to another type may make two ids equal.
  if ('TypeCast' in node && namesOf(node.TypeCast.typeName?.names).at(-1) === 'text') {
    return valueOf(node.TypeCast.arg, scope);
  }
  if ('ColumnRef' in node) return findColumn(namesOf(node.ColumnRef.fields), scope);
  if ('SubLink' in node && node.SubLink.subLinkType === 'EXPR_SUBLINK') {
    return columnsIn(node.SubLink.subselect, scope)[0] ?? null;
  }
  return null;
}

/** Returns the values of a row constructor, or of a sub-select with several columns. */
function valuesOf(node: Node | undefined, scope: Scope): (Value | null)[] {
  if (node && 'RowExpr' in node)
    return (node.RowExpr.args ?? []).map((item) => valueOf(item, scope));
  const isRow = node && 'SubLink' in node && node.SubLink.subLinkType === 'EXPR_SUBLINK';
  return isRow ? columnsIn(node.SubLink.subselect, scope) : [valueOf(node, scope)];
}

function columnsIn(query: Node | undefined, scope: Scope): Value[] {
  const { columns, scope: inner } = readSubLink(query, scope);
  return columns.map(({ value }) => derive({ value, scope: inner }));
}

/** Finds a column by name, or by range and name, from the inner to the outer level; else null. */
export function findColumn(names: readonly string[], scope: Scope): Value | null {
  const column = names.at(-1) ?? '';
  const range = names.at(-2);
  for (let level: Scope | null = scope; level; level = level.parent) {
    const ranges = level.ranges.filter(({ name }) => range === undefined || name === range);
    const found = ranges.flatMap(({ columns }) => columns.filter(({ name }) => name === column))[0];
    if (found) return found.value;
    if (ranges.some(({ isOpen }) => isOpen) || (range !== undefined && ranges.length > 0))
      return null;
  }
  return range === undefined && scope.reader.parameters.has(column)
    ? parameter(column, scope)
    : null;
}

/** Returns the columns of a select list. Throws for `*` of a join with USING. */
export function columnsOf(targets: readonly Node[] | undefined, scope: Scope): Column[] {
  return (targets ?? []).flatMap((target): Column[] => {
    if (!('ResTarget' in target)) return [];
    const { name, val } = target.ResTarget;
    if (!val || !('ColumnRef' in val))
      return [{ name: name ?? nameOf(val), value: valueOf(val, scope) }];
    const names = namesOf(val.ColumnRef.fields);
    const isStar = val.ColumnRef.fields?.some((field) => 'A_Star' in field);
    if (!isStar) return [{ name: name ?? names.at(-1) ?? '', value: valueOf(val, scope) }];
    if (names.length === 0 && scope.reader.merging.has(scope)) {
      throw new Error('not understood: * of a join with USING');
    }
    const ranges = scope.ranges.filter(
      (range) => names.length === 0 || range.name === names.at(-1),
    );
    return ranges.flatMap(({ columns }) => columns.filter((column) => column.name !== 'ctid'));
  });
}

function nameOf(node: Node | undefined): string {
  if (node && 'TypeCast' in node) return nameOf(node.TypeCast.arg);
  if (node && 'ColumnRef' in node) return namesOf(node.ColumnRef.fields).at(-1) ?? '';
  return '';
}

/** Returns the columns of VALUES. */
export function rowsOf(rows: readonly Node[], scope: Scope): Column[] {
  const lists = rows.map((row) => ('List' in row ? (row.List.items ?? []) : []));
  return (lists[0] ?? []).map((_item, place) => ({
    name: `column${place + 1}`,
    value: derive(...lists.map((items) => ({ value: valueOf(items[place], scope), scope }))),
  }));
}

function parameter(name: string, { reader }: Scope): Value {
  const value = reader.known.get(name) ?? { parameter: name, sources: [] };
  reader.known.set(name, value);
  return value;
}
