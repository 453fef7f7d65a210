/**
 * All that this room uses of pg and pg-protocol without their documentation. A name counts as
 * documented if node-postgres.com or @types/pg has it, and if it is not reached through
 * `client.connection`, which pg calls internal.
 *
 * Each type below is what pg has and hides; its list says what every name is for, and the compiler
 * wants both to have the same names. `test/db/undocumented.test.ts` looks for each in the installed
 * versions. No other file of ours casts to what pg hides.
 */
import { createRequire } from 'node:module';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { DataRowMessage, type BackendMessage } from 'pg-protocol/dist/messages.js';
import { Parser } from 'pg-protocol/dist/parser.js';

type Reasons<T> = Readonly<Record<keyof T, string>>;

/** What a client knows of its connection. */
interface PrivateClient {
  readonly connection: PrivateConnection;
  readonly processID: number | null;
  readonly secretKey: number | null;
}
const CLIENT: Reasons<PrivateClient> = {
  connection: 'leads to all of `Connection`',
  processID: 'tells a pooler, which names another process than the server does; to cancel',
  secretKey: 'to cancel',
};

/** The connection of a client, as a query writes to it. */
export interface PrivateConnection {
  readonly stream: Duplex;
  parse(message: { readonly name: string; readonly text: string }): void;
  bind(message: { readonly statement: string; readonly values: readonly unknown[] }): void;
  describe(message: object): void;
  execute(): void;
  close(message: object): void;
  sync(): void;
  attachListeners(stream: Duplex): void;
  emit(event: string, message: BackendMessage): boolean;
  on<Name extends keyof ConnectionEvents>(
    event: Name,
    listener: (message: ConnectionEvents[Name]) => void,
  ): void;
}
const CONNECTION: Reasons<PrivateConnection> = {
  stream: 'corked, so that several statements leave in one write',
  parse: 'several statements with one Sync',
  bind: 'several statements with one Sync',
  describe: 'asks for columns at the first execution only',
  execute: 'several statements with one Sync',
  close: 'forgets a statement whose preparation is in doubt',
  sync: 'once for several statements',
  attachListeners: 'replaced, so that our parser reads the messages',
  emit: 'passes on what our parser has read',
  on: 'hears of the events below',
};

/** What a connection tells besides the messages that its client handles. */
interface ConnectionEvents {
  readonly parameterStatus: { readonly parameterName: string; readonly parameterValue: string };
  readonly errorMessage: { readonly code?: string };
}
const EVENTS: Reasons<ConnectionEvents> = {
  parameterStatus: 'tells a standby with the login, without a round trip',
  errorMessage: 'tells that a pooler has lost a prepared statement',
};

/** A connection that asks the server to cancel. */
interface CancelConnection {
  readonly stream: Duplex;
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
  on(event: 'connect' | 'sslconnect' | 'error' | 'end', listener: () => void): void;
}
const CANCEL: Reasons<CancelConnection> = {
  stream: 'to give up',
  connect: 'to cancel on a connection of its own, as the protocol wants it',
  requestSsl: 'to cancel where TLS is required',
  cancel: 'to cancel',
  on: 'to cancel',
};

export interface DataRow {
  readonly fields: readonly (string | null)[];
  /** Of the message, in bytes. */
  readonly length: number;
}

/** A column of a result, as Postgres describes it. */
export interface Column {
  readonly name: string;
  readonly dataTypeID: number;
}

/** A query, as its client uses it. */
interface PrivateQuery {
  name: string | undefined;
  readonly text: string;
  readonly values: readonly unknown[];
  readonly _result: { readonly rows: object[] };
  _canceledDueToError: Error | false;
  submit(connection: PrivateConnection): null;
  handleRowDescription(message: { readonly fields: readonly Column[] }): void;
  handleDataRow(message: DataRow): void;
  handleCommandComplete(message: object, connection: PrivateConnection): void;
  handleReadyForQuery(connection: PrivateConnection): void;
  handleError(error: Error, connection?: PrivateConnection): void;
}
const QUERY: Reasons<PrivateQuery> = {
  name: 'the client forgets a failed statement by it',
  text: 'what is sent',
  values: 'what is sent',
  _result: 'gets rows that our reader has made',
  _canceledDueToError: 'a row that cannot be read ends its statement with this error',
  submit: 'replaced, so that several statements share a Sync',
  handleRowDescription: 'replaced: columns are known from the first execution',
  handleDataRow: 'replaced: rows are made by a function compiled for their columns',
  handleCommandComplete: 'tells which statement of several was answered',
  handleReadyForQuery: 'ends a statement well',
  handleError: 'ends a statement badly',
};

/** The parser of a connection's messages. */
interface PrivateParser {
  parse(chunk: Buffer, callback: (message: BackendMessage) => void): void;
  handlePacket(offset: number, code: number, length: number, bytes: Buffer): BackendMessage;
}
const PARSER: Reasons<PrivateParser> = {
  parse: 'reads what has come',
  handlePacket: 'replaced: decodes a row at once instead of each of its values',
};

/** What pg offers only by the paths of its files. */
interface PrivateFiles {
  /** A value's form on the wire: a text, bytes or null. Throws if it has none. */
  readonly prepareValue: (value: unknown) => unknown;
  readonly DataRowMessage: typeof DataRowMessage;
  readonly Parser: new () => PrivateParser;
}
const FILES: Reasons<PrivateFiles> = {
  prepareValue: 'pg/lib/utils.js: refuses a value before anything is sent',
  DataRowMessage: 'pg-protocol/dist/messages.js: the message of a row',
  Parser: 'pg-protocol/dist/parser.js: the parser that ours extends',
};

/** Where the names are → each name, and what it is for. */
export const UNDOCUMENTED = {
  'pg Client': CLIENT,
  'pg Connection': CONNECTION,
  'pg Connection, events': EVENTS,
  'pg Connection, to cancel': CANCEL,
  'pg Query': QUERY,
  'pg-protocol Parser': PARSER,
  files: FILES,
} as const;

/** What pg and pg-protocol offer only by the paths of their files. */
export const privateFiles: PrivateFiles = {
  ...(createRequire(import.meta.url)('pg/lib/utils.js') as Pick<PrivateFiles, 'prepareValue'>),
  DataRowMessage,
  Parser: Parser as unknown as PrivateFiles['Parser'],
};

/** pg's query, to be extended. */
export const PrivateQuery = pg.Query as unknown as new (
  text: string | pg.QueryConfig,
  values: readonly unknown[],
  callback: (error: Error | null, result: pg.QueryResult) => void,
) => PrivateQuery;

/** Returns what pg hides of a client. */
export function partsOf(client: pg.ClientBase): PrivateClient {
  return client as unknown as PrivateClient;
}

/** Makes the client run a query of our own, which pg takes for one of its own. */
export function submit(client: pg.ClientBase, query: PrivateQuery): void {
  client.query(query as unknown as pg.Submittable);
}

/** Makes a connection that is not a client's, to cancel. */
export function createCancelConnection(ssl: pg.ConnectionConfig['ssl']): CancelConnection {
  return new pg.Connection({ ssl }) as unknown as CancelConnection;
}
