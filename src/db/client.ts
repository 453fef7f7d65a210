import type { Trace } from '../core/trace.ts';
import type { Statement } from './statement.ts';
import type { TeamPrisma } from './team-prisma.ts';

export type { Caller } from './caller.ts';
export { statement, statementsByFilters, type Statement } from './statement.ts';

/** The database outside a transaction. */
export interface Db {
  /** One round trip. Throws `ProblemError('unavailable')` when the database cannot be reached. */
  query<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]>;
  /** The first row of `query`, or null if there is none. */
  queryFirst<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row | null>;
  /**
   * Prisma on the same pool. Inside `transaction` its statements run on the transaction's
   * connection.
   */
  readonly prisma: TeamPrisma;
  /**
   * Runs `work` in a transaction. A nested call joins the outer one. Commits only if `work`
   * resolves, or refuses with a problem that leaves something (`leaving`). Never wait for HTTP
   * inside. Afterwards `tx` refuses everything. `shares`: it counts as so many transactions of its
   * team.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>, shares?: number): Promise<T>;
  /** For `parts.ts`. undefined: the rows of all teams that it is used for are in one place. */
  readonly cluster?: Cluster;
}

/** What a database does whose teams may be at several nodes. */
export interface Cluster {
  /** Whether they are. */
  isDistributed(): Promise<boolean>;
  /** The database for those of the teams that are in one place, for each place. */
  parts(db: Db, teams: readonly string[]): Promise<readonly Db[]>;
  /** `queryTeams`, at each place for its own rows. */
  query<Row>(db: Queries, what: Statement<Row>, values: readonly unknown[]): Promise<Row[]>;
}

/** How statements outside a transaction are asked. */
export type Queries = Pick<Db, 'query' | 'queryFirst'>;

/** The database inside a transaction. */
export interface Tx extends Db {
  /**
   * Sends a statement without waiting for its result. It shares a round trip with the following
   * statement, at the latest with COMMIT. If it fails, the transaction fails.
   */
  send(statement: Statement<unknown>, values: readonly unknown[]): void;
  /** The trace of the work, which the events that it raises belong to. */
  readonly trace: Trace | null;
  /**
   * Runs the work right after the commit, and never if there is none. For rows that others wait
   * for, and for more rows than one transaction may hold. It belongs to the same caller, for whom
   * hanging up comes too late. If it fails, `transaction` rejects although it has committed.
   */
  afterCommit(work: (db: Db) => Promise<void>): void;
}

/** Returns both ways to ask by statements: for all rows, and for the first one. */
export function withFirst(query: Db['query']): Pick<Db, 'query' | 'queryFirst'> {
  return { query, queryFirst: async (what, values) => (await query(what, values))[0] ?? null };
}
