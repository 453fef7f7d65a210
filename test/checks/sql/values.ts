// What is known about the columns and parameters of a statement while it is read.
import type { Node } from 'libpg-query';

/** A column of one table reference or sub-select, or a parameter. */
export interface Value {
  /** `$1`, or the name of a function's parameter; null for columns. */
  readonly parameter: string | null;
  /**
   * Where a column of a sub-select comes from. It is bound if all of these are; a union has two.
   * Empty if it comes from a function or an expression.
   */
  sources: readonly Source[];
}

export interface Source {
  readonly value: Value;
  readonly scope: Scope;
}

/** One query level with its names and conditions. Inner levels see those of outer levels. */
export interface Scope {
  readonly reader: Reader;
  readonly parent: Scope | null;
  readonly ranges: Range[];
  /** The results of WITH, by name. */
  readonly ctes: Map<string, readonly Column[]>;
  /**
   * In every row of this level, the first is null or equals the second. An equality makes two of
   * these. In an outer join it makes one, because rows of the kept side need not meet it.
   */
  readonly follows: (readonly [Value, Value])[];
}

/** A table, function or sub-select in FROM. */
export interface Range {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Whether it may have further columns. */
  readonly isOpen: boolean;
}

export interface Column {
  readonly name: string;
  /** null for a column that is never a team's id. */
  readonly value: Value | null;
}

/** The columns of a query, and the level that their values belong to. */
export interface Output {
  readonly columns: readonly Column[];
  readonly scope: Scope;
}

/**
 * The columns of each table in order: `member`, or `schema.table` outside public and pg_catalog.
 */
export type Tables = ReadonlyMap<string, readonly string[]>;

/** Returns the column with the team's id; null if it is no tenant table. */
export function teamColumnOf(table: string, tables: Tables): string | null {
  if (table === 'team') return 'id';
  return tables.get(table)?.includes('team_id') ? 'team_id' : null;
}

/** A place where a statement touches rows of a tenant table. */
export interface Touch {
  readonly table: string;
  /** The table, and its alias or what is done with it, for messages. */
  readonly label: string;
  readonly team: Value;
  /** Its ctid, which is equal only for the same row. */
  readonly row: Value;
  readonly scope: Scope;
}

/** What is known about a statement while it is read, at all its levels. */
export interface Reader {
  readonly tables: Tables;
  /** Names that mean parameters, besides `$n`. */
  readonly parameters: ReadonlySet<string>;
  readonly known: Map<string, Value>;
  readonly touches: Touch[];
  /** Given lists with a column `team_id`, such as `unnest($1, $2) as n (team_id, id)`. */
  readonly lists: Pick<Touch, 'label' | 'team'>[];
  /** Pairs of values of which one equals the other or comes from it, anywhere in the statement. */
  readonly links: (readonly [Value, Value])[];
  /** The outputs of sub-selects in expressions, which are read once. */
  readonly outputs: Map<unknown, Output>;
  /** The nodes that name a table and have been read. */
  readonly read: Set<unknown>;
  /** The levels where USING merges two columns. */
  readonly merging: Set<Scope>;
  /** Reads a query of any kind, at a new level below this one. */
  readonly readQuery: (query: Node | undefined, parent: Scope) => Output;
}

/** Opens a level below `parent`. */
export function openScope(parent: Scope): Scope {
  return { reader: parent.reader, parent, ranges: [], ctes: new Map(), follows: [] };
}

/** Makes a column that comes from these; null stands for an expression that is no value. */
export function derive(...from: { value: Value | null; scope: Scope }[]): Value {
  const sources = from.flatMap(({ value, scope }) => (value ? [{ value, scope }] : []));
  const made: Value = { parameter: null, sources: sources.length === from.length ? sources : [] };
  for (const { value, scope } of sources) scope.reader.links.push([made, value]);
  return made;
}

/** Records that in every row of the level the follower is null or equals the leader. */
export function follow(
  scope: Scope,
  follower: Value | null | undefined,
  leader: Value | null | undefined,
): void {
  if (!follower || !leader) return;
  scope.follows.push([follower, leader]);
  scope.reader.links.push([follower, leader]);
}

/** Returns the texts of the nodes that are strings. */
export function namesOf(nodes: readonly Node[] | undefined): string[] {
  return (nodes ?? []).flatMap((node) => ('String' in node ? [node.String.sval ?? ''] : []));
}

/** Returns the parameters that the value is bound to. If there is none, the team may be any. */
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

/** Groups the items that are connected by links, directly or through others. */
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
