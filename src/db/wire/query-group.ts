import pg from 'pg';
import type { WireQuery } from './prepared-query.ts';
import { PrivateQuery, submit } from './undocumented.ts';
import type { Column, DataRow, PrivateConnection as Connection } from './undocumented.ts';
import { skip } from './wire.ts';

/**
 * Sends statements with one Sync. Postgres answers them together, so both it and this process wake
 * up once. After an error Postgres skips the rest up to the Sync, so no statement is executed
 * without those before it. Outside a transaction, the group is a transaction of its own.
 */
export function sendGroup(client: pg.ClientBase, queries: readonly WireQuery[]): void {
  submit(client, new QueryGroup(queries));
}

/** To pg, the group is one query. */
class QueryGroup extends PrivateQuery {
  readonly #queries: readonly WireQuery[];
  #answered = 0;

  constructor(queries: readonly WireQuery[]) {
    super('', [], () => undefined);
    this.#queries = queries;
  }

  override submit(connection: Connection): null {
    connection.stream.cork();
    for (const query of this.#queries) query.write(connection);
    connection.sync();
    connection.stream.uncork();
    return null;
  }

  override handleRowDescription(message: { readonly fields: readonly Column[] }): void {
    this.#queries[this.#answered]?.handleRowDescription(message);
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

  /** Of the first statement without an answer, of the commit at the Sync, or of the connection. */
  override handleError(error: Error, connection: Connection): void {
    const place = Math.min(this.#answered, this.#queries.length - 1);
    const answered = this.#queries.slice(0, place);
    const [failed, ...others] = this.#queries.slice(place);
    for (const query of answered) query.handleReadyForQuery(connection);
    failed?.handleError(error);
    if (error instanceof pg.DatabaseError) skip(others, error);
    else for (const query of others) query.handleError(error);
  }
}
