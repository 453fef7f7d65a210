import pg from 'pg';
import { rowReaderOf, type Column, type RowReader } from './row-reader.ts';

/**
 * A prepared statement that is described once on each connection.
 *
 * pg asks the server for the columns of the result at every execution, and reads them again. They
 * do not change while the statement is prepared, so the second execution goes without. A statement
 * without a name is planned, and described, at each call. What is used of pg here is not in its
 * types.
 */
export class PreparedQuery extends (pg.Query as unknown as QueryClass) {
  #readers: StatementReaders | undefined;
  #known: RowReader | undefined;
  /** The size of the rows that have come. */
  bytes = 0;
  /** When it was sent, as `performance.now()` says. */
  sentAt = 0;
  /** True as soon as one of its values cannot be sent, or the server has refused it. */
  hasFailed = false;

  constructor({ name, text }: Named, values: readonly unknown[], callback: Callback) {
    // As a text: pg copies a configuration property by property at each execution.
    super(text, values, callback);
    this.name = name;
  }

  /** As `client.query` takes it. */
  toSubmit(): pg.Submittable {
    return this as unknown as pg.Submittable;
  }

  /** Whether the connection has executed the statement before. */
  isKnownOn(connection: Connection): boolean {
    return knownOn(connection).readers.has(this.name);
  }

  override prepare(connection: Connection): void {
    this.sentAt = performance.now();
    if (this.name === undefined) return super.prepare(connection);
    const { undescribed } = this.#lookUp(connection);
    super.prepare(this.#known ? undescribed : connection);
  }

  /** Like `prepare`, for a known statement whose answer comes with that of a later one. */
  prepareUnsynced(connection: Connection): void {
    this.sentAt = performance.now();
    super.prepare(this.#lookUp(connection).unsynced);
  }

  override handleRowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    this.#learn(rowReaderOf(fields));
  }

  override handleDataRow({ fields: texts, length }: DataRow): void {
    this.bytes += length;
    const toRow = this.#known;
    if (!toRow || this._canceledDueToError) return;
    try {
      this._result.rows.push(toRow(texts));
    } catch (error) {
      this._canceledDueToError = error as Error;
    }
  }

  override handleCommandComplete(message: object, connection: Connection): void {
    // A statement without a result has no description.
    if (!this.#known) this.#learn(rowReaderOf([]));
    super.handleCommandComplete(message, connection);
  }

  override handleError(error: Error, connection: Connection): void {
    this.hasFailed = true;
    this.#readers?.delete(this.name);
    super.handleError(error, connection);
  }

  #lookUp(connection: Connection): Known {
    const known = knownOn(connection);
    this.#readers = known.readers;
    this.#known = known.readers.get(this.name);
    return known;
  }

  #learn(reader: RowReader): void {
    this.#known = reader;
    this.#readers?.set(this.name, reader);
  }
}

/** A statement. One without a name is planned at each call. */
interface Named {
  readonly name: string | undefined;
  readonly text: string;
}

type Callback = (error: Error | null, result: pg.QueryResult) => void;

/** Name of a statement → what reads its rows. */
type StatementReaders = Map<string | undefined, RowReader>;

/** What is known on a connection. */
interface Known {
  readonly readers: StatementReaders;
  /** The same connection for a query that needs no description of its result. */
  readonly undescribed: Connection;
  /** The same one for such a query that is followed by another one. */
  readonly unsynced: Connection;
}

const knownByConnection = new WeakMap<Connection, Known>();

function knownOn(connection: Connection): Known {
  const known = knownByConnection.get(connection);
  if (known) return known;
  const nothing = { value: () => undefined };
  const undescribed = Object.create(connection, { describe: nothing });
  // If a value cannot be sent, pg would also close the statement, which is known as open here.
  const unsynced = Object.create(undescribed, { sync: nothing, close: nothing });
  const made = { readers: new Map(), undescribed, unsynced };
  knownByConnection.set(connection, made);
  return made;
}

/** pg's connection, as a query uses it. */
export interface Connection {
  readonly describe: (message: object) => void;
  readonly sync: () => void;
  readonly close: (message: object) => void;
}

export interface DataRow {
  readonly fields: readonly (string | null)[];
  /** Of the message, in bytes. */
  readonly length: number;
}

/** pg's query with the methods that its client calls. */
interface Query {
  name: string | undefined;
  readonly _result: { readonly rows: object[] };
  _canceledDueToError: Error | false;
  prepare(connection: Connection): void;
  handleRowDescription(message: { readonly fields: readonly Column[] }): void;
  handleDataRow(message: DataRow): void;
  handleCommandComplete(message: object, connection: Connection): void;
  handleReadyForQuery(connection: Connection): void;
  handleError(error: Error, connection: Connection): void;
}

type QueryClass = new (text: string, values: readonly unknown[], callback: Callback) => Query;
