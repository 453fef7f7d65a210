// Queries under WITH.
import type { CommonTableExpr, WithClause } from 'libpg-query';
import { rangeOf } from './from.ts';
import {
  namesOf,
  openScope,
  parametersOf,
  type Output,
  type Range,
  type Scope,
  type Value,
} from './values.ts';

/** Reads the queries of WITH. Returns a level that has their results by name. */
export function readWith(clause: WithClause | undefined, parent: Scope): Scope {
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
    scope.ctes.set(ctename, name(scope.reader.readQuery(query, scope)).columns);
    return;
  }
  const outer = readWith(select.withClause, scope);
  const { columns } = name(scope.reader.readQuery({ SelectStmt: select.larg }, outer));
  scope.ctes.set(ctename, columns);
  // By induction: a column is bound if it is bound in the first rows, and in the next rows whenever
  // it is bound in all rows before them.
  const next = scope.reader.readQuery({ SelectStmt: select.rarg }, outer);
  const steps = columns.map(
    ({ value }, place) => [value, next.columns[place]?.value ?? null] as const,
  );
  for (const [value, step] of steps) if (value && step) scope.reader.links.push([value, step]);
  const isLost = ([value, step]: readonly [Value | null, Value | null]): boolean =>
    value !== null &&
    value.sources.length > 0 &&
    (!step || parametersOf(step, next.scope).size === 0);
  for (let lost = steps.find(isLost); lost; lost = steps.find(isLost))
    if (lost[0]) lost[0].sources = [];
}
