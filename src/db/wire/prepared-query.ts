import type pg from 'pg';
import { areDeclared, changedColumns } from './declared-columns.ts';
import { partsOf, privateFiles, PrivateQuery } from './undocumented.ts';
import type { Column, DataRow, PrivateConnection as Connection } from './undocumented.ts';
import { shapeOf, type Shape } from './row-reader.ts';
import type { Named, OnEnd, Outgoing } from './wire.ts';

const { prepareValue } = privateFiles;

/**
 * A statement as it is sent, in a group (`query-group.ts`). The constructor throws if one of its
 * values cannot be sent, before anything is.
 */
export class WireQuery extends PrivateQuery implements Outgoing {
  sentAt = 0;
  bytes = 0;

  constructor(config: string | pg.QueryConfig, values: readonly unknown[], callback: OnEnd) {
    super(
      config,
      values.map((value) => prepareValue(value)),
      callback,
    );
  }

  fail(error: Error): void {
    this.handleError(error);
  }

  /** Writes it without a Sync. */
  write(connection: Connection): void {
    this.sentAt = performance.now();
    connection.parse({ name: '', text: this.text });
    this.execute(connection, '', true);
  }

  protected execute(connection: Connection, statement: string, isDescribed: boolean): void {
    connection.bind({ statement, values: this.values });
    if (isDescribed) connection.describe({ type: 'P', name: '' });
    connection.execute();
  }
}

/**
 * A prepared statement that is described once on each connection.
 *
 * pg asks the server for the columns of the result at every execution. They cannot change while the
 * statement is prepared: Postgres would refuse to execute it. So only the first execution asks. A
 * statement without a name is planned, and described, at each call.
 *
 * A statement counts as prepared when its columns or its result have arrived. Until then, further
 * executions are sent without a name. After an error it may be prepared or not, so its name is
 * closed before it is used again; closing an unknown name is no error.
 */
export class PreparedQuery extends WireQuery {
  #statements: Map<string, Progress> | undefined;
  #shape: Shape | undefined;
  readonly #isRead: boolean;

  constructor({ name, text }: Named, values: readonly unknown[], callback: OnEnd, isRead = true) {
    // As a text: pg copies a configuration property by property at each execution.
    super(text, values, callback);
    this.name = name;
    this.#isRead = isRead;
  }

  override write(connection: Connection): void {
    const { name } = this;
    const { statements, describesAlways } = knownOn(connection);
    const progress = name === undefined ? 'asked' : statements.get(name);
    if (name === undefined || progress === 'asked') return super.write(connection);
    this.sentAt = performance.now();
    if (typeof progress === 'object') {
      this.#shape = progress;
      return this.execute(connection, name, describesAlways);
    }
    if (progress === 'unsure') connection.close({ type: 'S', name });
    statements.set(name, 'asked');
    this.#statements = statements;
    connection.parse({ name, text: this.text });
    this.execute(connection, name, true);
  }

  override handleRowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    this.#learn(shapeOf(fields));
  }

  override handleDataRow({ fields: texts, length }: DataRow): void {
    this.bytes += length;
    const shape = this.#shape;
    if (!shape || !this.#isRead || this._canceledDueToError) return;
    try {
      this._result.rows.push(shape.read(texts));
    } catch (error) {
      this._canceledDueToError = error as Error;
    }
  }

  override handleCommandComplete(message: object, connection: Connection): void {
    // A statement without a result has no description.
    if (!this.#shape) this.#learn(shapeOf([]));
    super.handleCommandComplete(message, connection);
  }

  override handleError(error: Error, connection?: Connection): void {
    if (!this.#shape && this.name !== undefined) this.#statements?.set(this.name, 'unsure');
    super.handleError(error, connection);
  }

  #learn(shape: Shape): void {
    this.#shape = shape;
    const { name } = this;
    if (name === undefined) return;
    const isDeclared = areDeclared(name, shape.names);
    this.#statements?.set(name, isDeclared ? shape : 'unsure');
    if (!isDeclared && this.#isRead) this._canceledDueToError = changedColumns(name);
  }
}

/**
 * What is known of a statement on a connection: its first execution was sent, it failed, or the
 * shape of its rows.
 */
type Progress = 'asked' | 'unsure' | Shape;

/** What is known on a connection. */
interface Known {
  readonly statements: Map<string, Progress>;
  describesAlways: boolean;
}

const knownByConnection = new WeakMap<Connection, Known>();

function knownOn(connection: Connection): Known {
  const known = knownByConnection.get(connection);
  if (known) return known;
  const made = { statements: new Map(), describesAlways: false };
  knownByConnection.set(connection, made);
  return made;
}

/**
 * Makes statements ask for their columns at each execution. For a pooler, which may run each of
 * them in another session, where it was prepared at another time.
 */
export function describeAlways(client: pg.ClientBase): void {
  knownOn(partsOf(client).connection).describesAlways = true;
}
