// What a check of SQL must know of a column or a parameter: whether, in every row that counts, it is
// the id of the one team that a parameter names.

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

/** One level of a statement, where names mean something and conditions hold. Inner levels see outer ones. */
export interface Scope {
  readonly parent: Scope | null;
  readonly ranges: Range[];
  /** Results of WITH, by name. */
  readonly ctes: Map<string, readonly Column[]>;
  /**
   * In every row of this level: the first is null or equals the second. An equality is two of these,
   * and the condition of an outer join one, because it says nothing about the rows that it keeps.
   */
  readonly follows: (readonly [Value, Value])[];
}

/** What a FROM gives a name to. */
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

export function openScope(parent: Scope | null): Scope {
  return { parent, ranges: [], ctes: new Map(), follows: [] };
}

/** The parameters that the value is bound to; none: it may be of any team. */
export function parametersOf(value: Value, scope: Scope, path: ReadonlySet<Value> = new Set()): Set<string> {
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

/** Groups what the links connect, over any number of them. */
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
