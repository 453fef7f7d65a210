import type pg from 'pg';
import { objectsOf, type Column, type Shape } from './rows.ts';
import { toSendable, type Sendable } from './values.ts';

/** The result of a statement. */
export interface Result<Row = object> {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: Row[];
  readonly fields: readonly Column[];
}

/** A statement. One without a name is planned at each call. */
export interface Named {
  readonly name?: string | undefined;
  readonly text: string;
}

interface Reading {
  /** False: nobody reads its rows, so none of them can be unreadable. */
  readonly isRead?: boolean;
  /** What its rows are; objects by default. */
  readonly shapeOf?: (columns: readonly Column[]) => Shape;
}

/** What is known of a prepared statement: it was sent, it failed, or the shape of its rows. */
type Progress = 'sent' | 'unsure' | Shape;

/** What is known of a connection. */
export interface Known {
  readonly statements: Map<string, Progress>;
  /** A pooler may run each execution in another session, where it was prepared at another time. */
  readonly isPooled: boolean;
  /** Called when the server does not know a statement that was prepared on the connection. */
  readonly onLostStatement: () => void;
}

/**
 * A statement that can be sent once, in a group (`query-group.ts`). It calls `onEnd` once, whatever
 * happens. A named one is prepared and described once on each connection.
 *
 * pg asks for the columns of the result at every execution. They cannot change while the statement
 * is prepared: Postgres would refuse to execute it.
 *
 * A statement counts as prepared when its columns or its result have arrived. Until then, further
 * executions are sent without a name. After an error it may be prepared or not, so its name is
 * closed before it is used again; closing an unknown name is no error.
 */
export class Outgoing {
  /** When it was sent, as `performance.now()` says. */
  sentAt = 0;
  /** The size of the rows that have come. */
  bytes = 0;
  readonly #what: Named;
  readonly #values: Sendable[];
  readonly #onEnd: (outcome: Result | Error) => void;
  readonly #reading: Reading;
  /** Where it is being prepared. */
  #statements: Known['statements'] | null = null;
  #shape: Shape | null = null;
  #fault: Error | null = null;
  #tag = '';
  readonly #rows: object[] = [];

  /** Throws if one of its values cannot be sent. */
  constructor(
    what: Named,
    values: readonly unknown[],
    onEnd: (outcome: Result | Error) => void,
    reading: Reading = {},
  ) {
    this.#what = what;
    this.#values = values.map(toSendable);
    this.#onEnd = onEnd;
    this.#reading = reading;
  }

  /** Writes it without a Sync. */
  write(connection: pg.Connection, { statements, isPooled }: Known): void {
    this.sentAt = performance.now();
    const { name = '', text } = this.#what;
    const progress = name === '' ? 'sent' : statements.get(name);
    const statement = progress === 'sent' ? '' : name;
    if (typeof progress === 'object') this.#shape = progress;
    else {
      if (progress === 'unsure') connection.close({ type: 'S', name }, true);
      if (statement !== '') this.#statements = statements.set(name, 'sent');
      connection.parse({ name: statement, text, types: [] }, true);
    }
    connection.bind({ statement, values: this.#values }, true);
    if (!this.#shape || isPooled) connection.describe({ type: 'P' }, true);
    connection.execute(null, true);
  }

  describe(columns: readonly Column[]): void {
    const { isRead = true, shapeOf = objectsOf } = this.#reading;
    this.#shape = shapeOf(columns);
    const { name } = this.#what;
    if (name === undefined) return;
    const isDeclared = areDeclared(name, this.#shape.names);
    this.#statements?.set(name, isDeclared ? this.#shape : 'unsure');
    if (!isDeclared && isRead) this.#fault = new Error(`the columns of ${name} have changed`);
  }

  addRow(texts: readonly (string | null)[], bytes: number): void {
    this.bytes += bytes;
    if (!this.#shape || this.#fault || this.#reading.isRead === false) return;
    try {
      this.#rows.push(this.#shape.read(texts));
    } catch (error) {
      this.#fault = error as Error;
    }
  }

  /** `tag`: the command, and how many rows it concerned. */
  complete(tag: string): void {
    // A statement without a result has no description.
    if (!this.#shape) this.describe([]);
    this.#tag = tag;
  }

  /** Ends it when it was executed and what it is part of has succeeded. */
  end(): void {
    const words = this.#tag.split(' ');
    const count = words.length > 1 ? Number(words.at(-1)) : Number.NaN;
    this.#onEnd(
      this.#fault ?? {
        command: words[0] ?? '',
        rowCount: Number.isNaN(count) ? null : count,
        rows: this.#rows,
        fields: this.#shape?.columns ?? [],
      },
    );
  }

  /** Ends it with this error, whether it was sent or not. */
  fail(error: Error): void {
    const { name } = this.#what;
    if (name !== undefined && !this.#shape) this.#statements?.set(name, 'unsure');
    this.#onEnd(this.#fault ?? error);
  }
}

/** Name of a statement → the names of its columns, as they came first in this process. */
const declared = new Map<string, string>();

/** Whether the columns are those that came first in this process. Others are not read. */
function areDeclared(name: string, columns: string): boolean {
  const first = declared.get(name) ?? columns;
  declared.set(name, first);
  return first === columns;
}
