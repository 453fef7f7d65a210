import pg from 'pg';
import type { Known, Outgoing } from './outgoing.ts';
import type { Column } from './rows.ts';

const connections = new WeakMap<pg.ClientBase, Known>();

/** Call it once for each new connection, before something is sent on it. */
export function introduce(client: pg.ClientBase, facts: Omit<Known, 'statements'>): void {
  connections.set(client, { statements: new Map(), ...facts });
}

/**
 * Sends statements with one Sync. Postgres answers them together, so both it and this process wake
 * up once. After an error Postgres skips the rest up to the Sync, so no statement is executed
 * without those before it; they fail with 25P02. Outside a transaction, the group is a transaction
 * of its own. What is sent later on this connection comes behind it.
 */
export function sendGroup(client: pg.ClientBase, queries: readonly Outgoing[]): void {
  const known = connections.get(client);
  if (!known) throw new Error('nobody has introduced the connection');
  client.query(new QueryGroup(queries, known));
}

/** Sends a single statement, with settings that hold for it alone. */
export type Sender = (query: Outgoing, settings?: readonly Outgoing[]) => void;

/** Returns what sends single statements on the connection, each behind the limits made for it. */
export function senderOn(client: pg.ClientBase, limits: readonly Outgoing[] = []): Sender {
  return (query, settings = []) => sendGroup(client, [...limits, ...settings, query]);
}

/** Ends statements that were not executed because of this error of an earlier one. */
export function skip(queries: readonly Outgoing[], cause: Error): void {
  for (const query of queries) {
    const error = new Error('an earlier statement of the transaction has failed', { cause });
    query.fail(Object.assign(error, { code: '25P02' }));
  }
}

/** Whether the connection is outside of every transaction, by the server's last answer. */
export function isIdle(client: pg.Client): boolean {
  return client.getTransactionStatus() === 'I';
}

/**
 * To pg, the group is one query. pg documents `submit`, and hands the answers to the methods that
 * its own `pg-cursor` has, too. In pipeline mode it takes only queries that extend its own.
 */
class QueryGroup extends pg.Query {
  readonly #queries: readonly Outgoing[];
  readonly #known: Known;
  #answered = 0;

  constructor(queries: readonly Outgoing[], known: Known) {
    super('');
    this.#queries = queries;
    this.#known = known;
  }

  override submit = (connection: pg.Connection): void => {
    connection.stream.cork();
    for (const query of this.#queries) query.write(connection, this.#known);
    connection.sync();
    connection.stream.uncork();
  };

  handleRowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    this.#queries[this.#answered]?.describe(fields);
  }

  handleDataRow(row: {
    readonly fields: readonly (string | null)[];
    readonly length: number;
  }): void {
    this.#queries[this.#answered]?.addRow(row.fields, row.length);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#queries[this.#answered]?.complete(text);
    this.#answered += 1;
  }

  handleReadyForQuery(): void {
    for (const query of this.#queries) query.end();
  }

  /** Of the first statement without an answer, of the commit at the Sync, or of the connection. */
  handleError(error: Error): void {
    if (isLostStatement(error)) this.#known.onLostStatement();
    const place = Math.min(this.#answered, this.#queries.length - 1);
    const [failed, ...others] = this.#queries.slice(place);
    for (const query of this.#queries.slice(0, place)) query.end();
    failed?.fail(error);
    if (error instanceof pg.DatabaseError) skip(others, error);
    else for (const query of others) query.fail(error);
  }
}

/**
 * SQLSTATEs of a prepared statement that the server does not have, or has already. Neither can
 * happen on a connection of our own, for each statement is prepared once.
 */
const LOST_STATEMENT = new Set(['26000', '42P05']);

function isLostStatement(error: object): boolean {
  return 'code' in error && LOST_STATEMENT.has(error.code as string);
}
