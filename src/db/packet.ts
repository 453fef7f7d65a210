import pg from 'pg';
import type { Connection, DataRow, PreparedQuery } from './prepared-query.ts';
import { streamOf } from './primary-client.ts';
import { toQuery, type Question, type Result } from './statement.ts';
import type { Watchdog } from './watchdog.ts';

/**
 * What a transaction sends. A statement waits for the next one whose result is needed, and travels
 * with it. To the watchdog a packet is one statement.
 */
export interface Packets {
  /** Adds a statement. Its result comes after `send`. */
  add<Row>(question: Question<Row>): Promise<Result<Row>>;
  /** Sends what was added since the last time. */
  send(): void;
}

export function openPackets(client: pg.PoolClient, watchdog: Watchdog): Packets {
  let waiting: PreparedQuery[] = [];
  let last: Promise<unknown> = Promise.resolve();
  return {
    add: (question) => {
      const { query, result } = toQuery(question);
      waiting.push(query);
      last = result;
      return result;
    },
    send: () => {
      if (waiting.length === 0) return;
      const queries = waiting;
      waiting = [];
      watchdog.guard(client, last).catch(() => undefined);
      sendTogether(client, queries);
    },
  };
}

/**
 * Sends the statements in one packet. Postgres answers at each Sync of the protocol. Statements
 * that the connection has executed before share one, so Postgres and this process are woken once
 * for all of them, and after an error Postgres skips the others, COMMIT included. A new one has its
 * own, because an error before it would leave unknown whether it is prepared.
 */
function sendTogether(client: pg.PoolClient, queries: readonly PreparedQuery[]): void {
  const { connection } = client as unknown as { readonly connection: Connection };
  const stream = streamOf(client);
  let group: PreparedQuery[] = [];
  let isRefused = false;
  const sendGroup = (): void => {
    const [first] = group;
    if (isRefused) skip(group, connection);
    else if (first) client.query((group.length > 1 ? new QueryGroup(group) : first).toSubmit());
    isRefused ||= group.some(({ hasFailed }) => hasFailed);
    group = [];
  };
  stream.cork();
  try {
    for (const query of queries) {
      const isKnown = query.isKnownOn(connection);
      if (!isKnown) sendGroup();
      group.push(query);
      if (!isKnown) sendGroup();
    }
    sendGroup();
  } finally {
    stream.uncork();
  }
}

/** Known statements with one Sync, which pg takes for one query. */
class QueryGroup extends (pg.Query as unknown as GroupClass) {
  #queries: readonly PreparedQuery[];
  #answered = 0;

  constructor(queries: readonly PreparedQuery[]) {
    super('');
    this.#queries = queries;
  }

  /** As `client.query` takes it. */
  toSubmit(): pg.Submittable {
    return this as unknown as pg.Submittable;
  }

  override submit(connection: Connection): null {
    const all = this.#queries;
    const refused = all.findIndex((query) => {
      query.prepareUnsynced(connection);
      return query.hasFailed;
    });
    connection.sync();
    if (refused >= 0) {
      this.#queries = all.slice(0, refused);
      skip(all.slice(refused + 1), connection);
    }
    return null;
  }

  override handleDataRow(row: DataRow): void {
    this.#queries[this.#answered]?.handleDataRow(row);
  }

  override handleCommandComplete(message: object, connection: Connection): void {
    this.#queries[this.#answered]?.handleCommandComplete(message, connection);
    this.#answered += 1;
  }

  override handleReadyForQuery(connection: Connection): void {
    for (const query of this.#queries) query.handleReadyForQuery(connection);
  }

  /** Of the first statement without an answer, or of the connection. */
  override handleError(error: Error, connection: Connection): void {
    const answered = this.#queries.slice(0, this.#answered);
    const [failed, ...others] = this.#queries.slice(this.#answered);
    for (const query of answered) query.handleReadyForQuery(connection);
    failed?.handleError(error, connection);
    if (error instanceof pg.DatabaseError) skip(others, connection);
    else for (const query of others) query.handleError(error, connection);
  }
}

/** Rejects them as Postgres does after the error of an earlier statement. */
function skip(queries: readonly PreparedQuery[], connection: Connection): void {
  for (const query of queries) {
    const error = new Error('an earlier statement of the transaction has failed');
    query.handleError(Object.assign(error, { code: '25P02' }), connection);
  }
}

/** pg's query with the methods that its client calls. */
interface Group {
  submit(connection: Connection): null;
  handleDataRow(row: DataRow): void;
  handleCommandComplete(message: object, connection: Connection): void;
  handleReadyForQuery(connection: Connection): void;
  handleError(error: Error, connection: Connection): void;
}
type GroupClass = new (text: string) => Group;
