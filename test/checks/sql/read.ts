// Reads a statement as Postgres parses it: which tables it touches, and which of its conditions
// make one column equal another. It throws for unknown syntax, so that nothing passes unread.
import {
  parseSync,
  type Node,
  type SelectStmt,
  type TruncateStmt,
  type VacuumStmt,
} from 'libpg-query';
import { columnsOf, readCondition, readExpressions, rowsOf } from './conditions.ts';
import { readFrom } from './from.ts';
import { derive, openScope, type Output, type Reader, type Scope, type Tables } from './values.ts';
import { readWith } from './with.ts';
import { readChange, readInsert, readMerge } from './writes.ts';

/** Reads the statements. `parameters` are a function's, besides `$n`. Throws for unknown syntax. */
export function readStatement(
  sql: string,
  tables: Tables,
  parameters: ReadonlySet<string> = new Set(),
): Pick<Reader, 'touches' | 'lists' | 'links'> {
  const reader: Reader = {
    tables,
    parameters,
    known: new Map(),
    touches: [],
    lists: [],
    links: [],
    outputs: new Map(),
    read: new Set(),
    merging: new Set(),
    readQuery,
  };
  const { stmts = [] } = parseSync(sql);
  for (const { stmt } of stmts)
    readQuery(stmt, { reader, parent: null, ranges: [], ctes: new Map(), follows: [] });
  requireAllRead(stmts, reader.read);
  return reader;
}

function readQuery(node: Node | undefined, parent: Scope): Output {
  if (node && 'SelectStmt' in node) return readSelect(node.SelectStmt, parent);
  if (node && 'InsertStmt' in node) return readInsert(node.InsertStmt, parent);
  if (node && 'UpdateStmt' in node) return readChange(node.UpdateStmt, parent);
  if (node && 'DeleteStmt' in node) return readChange(node.DeleteStmt, parent);
  if (node && 'TruncateStmt' in node) return readTruncate(node.TruncateStmt, parent);
  if (node && 'VacuumStmt' in node) return readAnalyze(node.VacuumStmt, parent);
  if (node && 'MergeStmt' in node) return readMerge(node.MergeStmt, parent);
  if (node && !('VariableSetStmt' in node || 'TransactionStmt' in node || 'DiscardStmt' in node))
    throw new Error(`not understood: ${Object.keys(node).join()}`);
  return { columns: [], scope: openScope(parent) };
}

function readSelect(query: SelectStmt, parent: Scope): Output {
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
  const columns = query.valuesLists
    ? rowsOf(query.valuesLists, scope)
    : columnsOf(query.targetList, scope);
  return { columns, scope };
}

/** A union has rows of both sides; EXCEPT and INTERSECT only have rows of the left side. */
function combine(isUnion: boolean, left: Output, right: Output): Output {
  const columns = left.columns.map(({ name, value }, place) => {
    const other = { value: right.columns[place]?.value ?? null, scope: right.scope };
    const one = { value, scope: left.scope };
    const made = isUnion ? derive(one, other) : derive(one);
    // For groups, which have a weaker rule, both are linked, even if one of them is no value.
    for (const { value: source } of [one, other])
      if (source) left.scope.reader.links.push([made, source]);
    return { name, value: made };
  });
  return { columns, scope: left.scope };
}

/** Throws if the statement names a table that was not read. */
function requireAllRead(node: unknown, read: ReadonlySet<unknown>): void {
  if (typeof node !== 'object' || node === null) return;
  const { relname } = node as { relname?: unknown };
  if (typeof relname === 'string' && !read.has(node))
    throw new Error(`not understood, where it names ${relname}`);
  for (const [key, part] of Object.entries(node))
    if (key !== 'lockingClause') requireAllRead(part, read);
}

/** ANALYZE shows no row to anybody, and changes none. VACUUM is not for a service. */
function readAnalyze({ rels = [], is_vacuumcmd }: VacuumStmt, parent: Scope): Output {
  if (is_vacuumcmd) throw new Error('not understood: VacuumStmt that is no ANALYZE');
  for (const table of rels)
    if ('VacuumRelation' in table) parent.reader.read.add(table.VacuumRelation.relation);
  return { columns: [], scope: openScope(parent) };
}

/** It changes all rows of its tables. */
function readTruncate({ relations = [] }: TruncateStmt, parent: Scope): Output {
  for (const table of relations)
    if ('RangeVar' in table) readChange({ relation: table.RangeVar }, parent);
  return { columns: [], scope: openScope(parent) };
}
