/** Exists only as a type. It carries `Row`, and only `statement` can make an object that has it. */
declare const row: unique symbol;

/**
 * A statement, declared once beside the store function that runs it. The name makes it a prepared
 * statement of the wire protocol. pg keeps these per connection, and PgBouncer supports them in
 * transaction mode. `Row` is the type of a result row; timestamps are ISO text, never `Date`.
 */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /**
   * True: planned at each call, with its values. Where the best plan depends on how common the
   * values are, or on how large the team is: the one plan of a prepared statement knows neither.
   */
  readonly isSearch: boolean;
  /**
   * True: a search that reads a range by an index in its order, up to a limit, and never the whole
   * range to sort it. The planner would do that where it has no statistics, as after a restore.
   */
  readonly inOrder: boolean;
  /**
   * True: a search in order of a table in partitions. It merges their ranges. Where the planner
   * expects few rows, as in a partition that has grown since Postgres last looked at it, it would
   * read whole ranges and sort them.
   */
  readonly isMerged: boolean;
  /** Whom a transaction with it wakes after its commit, for what it leaves to do; null: nobody. */
  readonly wakes: WakeUp | null;
  readonly [row]: Row;
}

/**
 * A statement that can make its store function, where that only runs it. `Takes` are the function's
 * parameters: the database, then the values of $1, $2 and so on, as in `[db: Db, teamId: string]`.
 * A function that is made without `Takes` cannot be called.
 */
export interface Declared<Row> extends Statement<Row> {
  /** The function resolves with all rows. */
  lists<Takes extends Of<Asks> = never>(): (...takes: Takes) => Promise<Row[]>;
  /** The function resolves with the first row, or null. */
  finds<Takes extends Of<Finds> = never>(): (...takes: Takes) => Promise<Row | null>;
  /** The function resolves with whether there is a row. */
  matches<Takes extends Of<Asks> = never>(): (...takes: Takes) => Promise<boolean>;
  /** The function sends the statement, and waits for nothing (`Tx.send`). */
  sends<Takes extends Of<Sends> = never>(): (...takes: Takes) => void;
}

type Of<Database> = readonly [db: Database, ...values: unknown[]];

// The parts of `Db` and `Tx` that the functions call. Those know of statements, not the reverse.
interface Asks {
  query<Row>(what: Statement<Row>, values: readonly unknown[]): Promise<Row[]>;
}
interface Finds {
  queryFirst<Row>(what: Statement<Row>, values: readonly unknown[]): Promise<Row | null>;
}
interface Sends {
  send(what: Statement<unknown>, values: readonly unknown[]): void;
}

/** What all of them have in common. */
const makers = {
  lists(this: Statement<unknown>) {
    return (db: Asks, ...values: unknown[]) => db.query(this, values);
  },
  finds(this: Statement<unknown>) {
    return (db: Finds, ...values: unknown[]) => db.queryFirst(this, values);
  },
  matches(this: Statement<unknown>) {
    return async (db: Asks, ...values: unknown[]) => (await db.query(this, values)).length > 0;
  },
  sends(this: Statement<unknown>) {
    return (tx: Sends, ...values: unknown[]) => tx.send(this, values);
  },
};

/** What there is: events or due deliveries for the delivery loop, or jobs for the job runner. */
export type WakeUp = 'events' | 'deliveries' | 'jobs';

const declared = new Map<string, Statement<unknown>>();

/**
 * Declares a statement. Call it while the module loads, so that all statements are known then.
 * Throws if the name is taken: pg would notice two texts with one name only on a connection that
 * has prepared the other text.
 */
export function statement<Row = Record<never, never>>(
  name: string,
  text: string,
  {
    isMerged = false,
    inOrder = isMerged,
    isSearch = inOrder,
    wakes = null,
  }: {
    isMerged?: boolean;
    inOrder?: boolean;
    isSearch?: boolean;
    wakes?: WakeUp | null;
  } = {},
): Declared<Row> {
  if (declared.has(name)) throw new Error(`the statement ${name} is declared twice`);
  const facts = { name, text, isSearch, inOrder, isMerged, wakes };
  const made = { ...facts, ...makers } as Declared<Row>;
  declared.set(name, made);
  return made;
}

/** Returns all statements of the loaded modules. */
export function declaredStatements(): readonly Statement<unknown>[] {
  return [...declared.values()];
}

/** The statement for one combination of filters, and the filters' values in its order. */
export interface Filtered<Row> {
  readonly list: Statement<Row>;
  readonly values: readonly unknown[];
}

/**
 * Declares one statement for each combination of filters. Returns a function that picks the
 * statement for the given filters; a filter that is undefined is not given. A single statement with
 * "or $n is null" would have one plan for all combinations, and would scan the table. `declare`
 * gets the filters of a combination in the order of `filters`.
 */
export function statementsByFilters<Name extends string, Row>(
  filters: readonly Name[],
  declare: (named: readonly Name[]) => Statement<Row>,
): (given: { readonly [name in Name]?: unknown }) => Filtered<Row> {
  const lists = Array.from({ length: 2 ** filters.length }, (_, combination) =>
    declare(filters.filter((_name, place) => combination & (2 ** place))),
  );
  return (given) => {
    const isNamed = (name: Name): boolean => given[name] !== undefined;
    const list =
      lists[filters.reduce((sum, name, place) => sum + (isNamed(name) ? 2 ** place : 0), 0)];
    if (!list) throw new Error('a combination of filters without a statement');
    return { list, values: filters.filter(isNamed).map((name) => given[name]) };
  };
}
