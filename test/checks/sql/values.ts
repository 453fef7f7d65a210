// What is known of the columns and parameters of a statement while it is read.
import type { Node } from 'libpg-query';

/** A column in the rows of one table reference or sub-select, or a parameter. */
export interface Value {
  /** `$1`, or the name of a function's parameter; null for columns. */
  readonly parameter: string | null;
  /**
   * Where a column of a sub-select comes from. It is bound when each of these is: a union has two.
   * Empty: from nowhere that counts, such as a function or an expression.
   */
  sources: readonly Source[];
}

export interface Source {
  readonly value: Value;
  readonly scope: Scope;
}

/** One query level, with its names and conditions. Inner levels see those of outer ones. */
export interface Scope {
  readonly reader: Reader;
  readonly parent: Scope | null;
  readonly ranges: Range[];
  /** Results of WITH, by name. */
  readonly ctes: Map<string, readonly Column[]>;
  /**
   * In every row of this level the first is null or equals the second. An equality makes two of
   * these. In an outer join it makes one: rows of the side that is kept need not meet it.
   */
  readonly follows: (readonly [Value, Value])[];
}

/** A table, function or sub-select in FROM. */
export interface Range {
  readonly name: string;
  readonly columns: readonly Column[];
  /** It may have more columns than these. */
  readonly isOpen: boolean;
}

export interface Column {
  readonly name: string;
  /** null: a column that is never a team's id. */
  readonly value: Value | null;
}

/** The columns of a query's rows, and the level that their values belong to. */
export interface Output {
  readonly columns: readonly Column[];
  readonly scope: Scope;
}

/** Columns in their order, by table: `member`, or `schema.table` outside public and pg_catalog. */
export type Tables = ReadonlyMap<string, readonly string[]>;

/** The column that says whose a table's rows are; null: the table is not a tenant's. */
export function teamColumnOf(table: string, tables: Tables): string | null {
  if (table === 'team') return 'id';
  return tables.get(table)?.includes('team_id') ? 'team_id' : null;
}

/** A place where a statement touches rows of a tenant table. */
export interface Touch {
  readonly table: string;
  /** For messages: the table, and its alias or what is done with it. */
  readonly label: string;
  readonly team: Value;
  /** Its ctid: equal only for the same row. */
  readonly row: Value;
  readonly scope: Scope;
}

/** What is known of a statement while it is read, at all of its levels. */
export interface Reader {
  readonly tables: Tables;
  /** Names that stand for parameters, beside `$n`. */
  readonly parameters: ReadonlySet<string>;
  readonly known: Map<string, Value>;
  readonly touches: Touch[];
  /** Lists that are given with a column `team_id`, as `unnest($1, $2) as n (team_id, id)`. */
  readonly lists: Pick<Touch, 'label' | 'team'>[];
  /** Values that are equal, or come from one another, anywhere in the statement. */
  readonly links: (readonly [Value, Value])[];
  /** Of sub-selects in expressions, which are read once. */
  readonly outputs: Map<unknown, Output>;
  /** The nodes that name a table and were read. */
  readonly read: Set<unknown>;
  /** Where USING makes one column of two. */
  readonly merging: Set<Scope>;
  /** Reads a query of any kind, at a level of its own below this one. */
  readonly readQuery: (query: Node | undefined, parent: Scope) => Output;
}

export function openScope(parent: Scope): Scope {
  return { reader: parent.reader, parent, ranges: [], ctes: new Map(), follows: [] };
}

/** A column that comes from these. null: from an expression that is no value. */
export function derive(...from: { value: Value | null; scope: Scope }[]): Value {
  const sources = from.flatMap(({ value, scope }) => (value ? [{ value, scope }] : []));
  const made: Value = { parameter: null, sources: sources.length === from.length ? sources : [] };
  for (const { value, scope } of sources) scope.reader.links.push([made, value]);
  return made;
}

export function follow(
  scope: Scope,
  follower: Value | null | undefined,
  leader: Value | null | undefined,
): void {
  if (!follower || !leader) return;
  scope.follows.push([follower, leader]);
  scope.reader.links.push([follower, leader]);
}

export function namesOf(nodes: readonly Node[] | undefined): string[] {
  return (nodes ?? []).flatMap((node) => ('String' in node ? [node.String.sval ?? ''] : []));
}

/** The parameters that the value is bound to. None: its row may be of any team. */
export function parametersOf(
  value: Value,
  scope: Scope,
  path: ReadonlySet<Value> = new Set(),
): Set<string> {
  if (value.parameter !== null) return new Set([value.parameter]);
  const found = new Set<string>();
  if (path.has(value)) return found;
  const further = new Set(path).add(value);
  const add = (parameters: Iterable<string>): void => {
    for (const parameter of parameters) found.add(parameter);
  };
  for (let level: Scope | null = scope; level; level = level.parent) {
    for (const [follower, leader] of level.follows) {
      if (follower === value) add(parametersOf(leader, scope, further));
    }
  }
  const origins = value.sources.map((source) => parametersOf(source.value, source.scope, further));
  if (origins.every(({ size }) => size > 0)) for (const origin of origins) add(origin);
  return found;
}

/** Groups the items that links connect, directly or through others. */
export function connect<Item>(
  items: readonly Item[],
  valueOf: (item: Item) => unknown,
  links: Iterable<readonly [unknown, unknown]>,
): Item[][] {
  const parents = new Map<unknown, unknown>();
  const rootOf = (start: unknown): unknown => {
    let root = start;
    while (parents.has(root)) root = parents.get(root);
    return root;
  };
  for (const [left, right] of links) {
    const [a, b] = [rootOf(left), rootOf(right)];
    if (a !== b) parents.set(a, b);
  }
  return [...Map.groupBy(items, (item) => rootOf(valueOf(item))).values()];
}
