// Checks that a statement keeps to one team. Every tenant table in it, in any sub-select, must be
// bound: its team column equals a parameter, or something else that is bound. Conditions under OR
// or NOT do not count. The check cannot know which parameter is the team, but it must be the same
// one in the whole statement.
import { parsePlPgSQLSync, parseSync } from 'libpg-query';
import { readStatement } from './sql/read.ts';
import { connect, parametersOf, type Tables } from './sql/values.ts';

export { loadModule as loadParser } from 'libpg-query';
export type { Tables } from './sql/values.ts';

/** What a statement touches. */
export interface Tenancy {
  /** Tables whose rows may be of any team. */
  readonly unbound: readonly string[];
  /** The parameters that bind the others. If there are several, not all of them are the team. */
  readonly parameters: readonly string[];
  /** Tables and lists of team ids, grouped by a shared team. Several groups mix teams. */
  readonly groups: readonly (readonly string[])[];
}

/**
 * Checks one statement. `parameters` are names that mean parameters besides `$n`. Needs
 * `loadParser`. Throws for SQL that cannot be parsed, tables that are not in `tables`, and unknown
 * syntax.
 */
export function checkTenancy(
  sql: string,
  tables: Tables,
  parameters?: ReadonlySet<string>,
): Tenancy {
  const { touches, lists, links } = readStatement(sql, tables, parameters);
  const bound = touches.map(({ label, team, scope }) => ({ label, to: parametersOf(team, scope) }));
  // Two references to the same row have the same team.
  const sameRows = connect(touches, ({ row }) => row, links).flatMap((rows) =>
    rows
      .filter(({ table }) => table === rows[0]?.table)
      .map(({ team }) => [team, rows[0]?.team] as const),
  );
  const groups = connect([...touches, ...lists], ({ team }) => team, [...links, ...sameRows]);
  return {
    unbound: bound.flatMap(({ label, to }) => (to.size === 0 ? [label] : [])),
    parameters: [...new Set(bound.flatMap(({ to }) => [...to]))].toSorted(),
    groups: groups.map((group) => group.map(({ label }) => label)),
  };
}

/** Returns whether every reference is bound, and all to the same parameter. */
export function keepsToOneTeam({ unbound, parameters }: Tenancy): boolean {
  return unbound.length === 0 && parameters.length <= 1;
}

/** The queries of a plpgsql function, and the names of its input parameters. */
export interface FunctionBody {
  readonly queries: readonly string[];
  readonly parameters: ReadonlySet<string>;
}

/** Reads a `CREATE FUNCTION …` in plpgsql. Throws if the function makes SQL at run time. */
export function readFunctionBody(definition: string): FunctionBody {
  const [created] = parseSync(definition).stmts ?? [];
  const given =
    created?.stmt && 'CreateFunctionStmt' in created.stmt ? created.stmt.CreateFunctionStmt : {};
  const parameters = (given.parameters ?? []).flatMap((node) => {
    if (!('FunctionParameter' in node)) return [];
    const { name, mode = '' } = node.FunctionParameter;
    return name !== undefined && ['FUNC_PARAM_IN', 'FUNC_PARAM_DEFAULT'].includes(mode)
      ? [name]
      : [];
  });
  return { queries: queriesIn(parsePlPgSQLSync(definition)), parameters: new Set(parameters) };
}

/** The parser's `parseMode` of expressions. It is higher for assignments, lower for statements. */
const EXPRESSION = 2;

function queriesIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, part]: [string, unknown]) => {
    if (/^PLpgSQL_stmt_dyn|^dynquery$/.test(key))
      throw new Error('a function makes SQL at run time');
    if (key !== 'PLpgSQL_expr') return queriesIn(part);
    const { query, parseMode } = part as { query: string; parseMode: number };
    if (parseMode < EXPRESSION) return [query];
    return [`select ${parseMode === EXPRESSION ? query : query.slice(query.indexOf(':=') + 2)}`];
  });
}
