// INSERT, UPDATE, DELETE and MERGE.
import type { DeleteStmt, InsertStmt, MergeStmt, Node, RangeVar, UpdateStmt } from 'libpg-query';
import { columnsOf, readCondition, readExpressions, valueOf } from './conditions.ts';
import { readFrom, requireTable, touch } from './from.ts';
import {
  derive,
  follow,
  openScope,
  teamColumnOf,
  type Output,
  type Range,
  type Scope,
} from './values.ts';
import { readWith } from './with.ts';

function readTarget(table: RangeVar | undefined, scope: Scope): Range {
  const range = touch(table ?? {}, scope);
  scope.ranges.push(range);
  return range;
}

/** Reads an UPDATE or a DELETE. */
export function readChange(change: UpdateStmt & DeleteStmt, parent: Scope): Output {
  const scope = openScope(readWith(change.withClause, parent));
  readTarget(change.relation, scope);
  for (const item of [...(change.fromClause ?? []), ...(change.usingClause ?? [])])
    readFrom(item, scope);
  readCondition(change.whereClause, scope);
  readExpressions([change.whereClause, change.targetList, change.returningClause], scope);
  readAssignments(change.targetList, change.relation, scope);
  return { columns: columnsOf(change.returningClause?.exprs, scope), scope };
}

/** A row whose team id is set is also touched as a row of the new team. */
function readAssignments(
  targets: readonly Node[] | undefined,
  relation: RangeVar | undefined,
  scope: Scope,
): void {
  const [table] = requireTable(relation ?? {}, scope);
  for (const target of targets ?? []) {
    if (
      !('ResTarget' in target) ||
      target.ResTarget.name !== teamColumnOf(table, scope.reader.tables)
    )
      continue;
    const team = derive({ value: valueOf(target.ResTarget.val, scope), scope });
    scope.reader.touches.push({ table, label: `${table} (set)`, team, row: team, scope });
  }
}

/** Reads an INSERT. */
export function readInsert(insert: InsertStmt, parent: Scope): Output {
  const outer = readWith(insert.withClause, parent);
  const scope = openScope(outer);
  const target = readTarget(insert.relation, scope);
  const output = scope.reader.readQuery(insert.selectStmt, outer);
  const place = placeOfTeam(insert.relation, insert.cols, scope);
  const given = output.columns[place]?.value ?? null;
  const [table, columns] = requireTable(insert.relation ?? {}, scope);
  const team =
    target.columns[columns.indexOf(teamColumnOf(table, scope.reader.tables) ?? '')]?.value;
  if (given) follow(scope, team, derive({ value: given, scope: output.scope }));
  readConflict(insert, table, scope);
  readExpressions(insert.returningClause, scope);
  return { columns: columnsOf(insert.returningClause?.exprs, scope), scope };
}

/** Returns the position of the team among the columns of an insert. */
function placeOfTeam(
  relation: RangeVar | undefined,
  cols: readonly Node[] | undefined,
  scope: Scope,
): number {
  const [table, columns] = requireTable(relation ?? {}, scope);
  const names =
    cols?.map((node) => ('ResTarget' in node ? (node.ResTarget.name ?? '') : '')) ?? columns;
  return names.indexOf(teamColumnOf(table, scope.reader.tables) ?? '');
}

/** DO UPDATE changes an existing row. It is a row of this team only if the team is in the key. */
function readConflict(
  { onConflictClause: conflict, relation }: InsertStmt,
  table: string,
  scope: Scope,
): void {
  if (conflict?.action !== 'ONCONFLICT_UPDATE') return;
  const keys = (conflict.infer?.indexElems ?? []).map((node) =>
    'IndexElem' in node ? node.IndexElem.name : '',
  );
  const teamColumn = teamColumnOf(table, scope.reader.tables);
  if (teamColumn !== null && !keys.includes(teamColumn)) {
    const team = derive({ value: null, scope });
    scope.reader.touches.push({ table, label: `${table} (on conflict)`, team, row: team, scope });
  }
  const target = scope.ranges.slice(0, 1).map((range) => ({ ...range, name: 'excluded' }));
  const inner = { ...openScope(scope), ranges: target };
  readExpressions([conflict.targetList, conflict.whereClause], inner);
  readAssignments(conflict.targetList, relation, inner);
}

/** Reads a MERGE. */
export function readMerge(merge: MergeStmt, parent: Scope): Output {
  const scope = openScope(readWith(merge.withClause, parent));
  const target = readTarget(merge.relation, scope);
  readFrom(merge.sourceRelation, scope);
  const clauses = (merge.mergeWhenClauses ?? []).flatMap((node) =>
    'MergeWhenClause' in node ? [node.MergeWhenClause] : [],
  );
  // Source rows are kept without a match; with NOT MATCHED BY SOURCE, target rows are too.
  const isLimited = clauses.every(
    ({ matchKind }) => matchKind !== 'MERGE_WHEN_NOT_MATCHED_BY_SOURCE',
  );
  readCondition(
    merge.joinCondition,
    scope,
    (value) => isLimited && target.columns.some((column) => column.value === value),
  );
  readExpressions([merge.joinCondition, clauses, merge.returningClause], scope);
  const [table] = requireTable(merge.relation ?? {}, scope);
  for (const { commandType, targetList, values } of clauses) {
    if (commandType === 'CMD_UPDATE') readAssignments(targetList, merge.relation, scope);
    if (commandType !== 'CMD_INSERT' || teamColumnOf(table, scope.reader.tables) === null) continue;
    const given = valueOf(values?.[placeOfTeam(merge.relation, targetList, scope)], scope);
    const team = derive({ value: given, scope });
    scope.reader.touches.push({ table, label: `${table} (insert)`, team, row: team, scope });
  }
  return { columns: columnsOf(merge.returningClause?.exprs, scope), scope };
}
