/**
 * Connection poolers between this process and Postgres. The API may use one that follows prepared
 * statements from server to server (PgBouncer 1.21 and newer, for instance). What listens or holds
 * session locks needs a direct connection, because a pooler gives the session to others.
 */
import type pg from 'pg';
import { statement } from '../statement.ts';
import { PrimaryClient } from '../wire/primary-client.ts';

/** What pg knows about a connection and does not declare in its types. */
interface Parts {
  /** The server's process, as it was told with the login. A pooler tells a number of its own. */
  readonly processID: number | null;
  readonly connection: {
    on(event: 'errorMessage', listener: (error: { readonly code?: string }) => void): void;
  };
}

/** Whether a connection leads to a pooler. `serverPid` is what the server says about itself. */
export function isPooled(client: pg.ClientBase, serverPid: number): boolean {
  return partsOf(client).processID !== serverPid;
}

/** Returns the error for an operator who has put a pooler before `who`. */
export function poolerError(who: string): Error {
  return new Error(
    'DATABASE_URL leads to a connection pooler: the login has named another process than the one ' +
      `that serves the connection. ${who} needs a direct connection to Postgres, because it ` +
      'listens or holds session locks, and a pooler gives its session to others.',
  );
}

/** Throws {@link poolerError} unless the connection is a direct one. */
export async function requireDirect(client: PrimaryClient, who: string): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  if (isPooled(client, rows[0]?.pid ?? 0)) throw poolerError(who);
}

/** Like {@link requireDirect}, on a connection of its own. */
export async function requireDirectAt(databaseUrl: string, who: string): Promise<void> {
  const client = new PrimaryClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 10_000,
  });
  await client.connect();
  try {
    await requireDirect(client, who);
  } finally {
    await client.end();
  }
}

/**
 * SQLSTATEs of a prepared statement that the server does not have, or has already. Neither can
 * happen on a connection of our own, for pg prepares each statement once.
 */
const LOST_STATEMENT = new Set(['26000', '42P05']);

/** Calls `onLost` when the server does not know what was prepared on this connection. */
export function watchStatements(client: pg.ClientBase, onLost: () => void): void {
  partsOf(client).connection.on('errorMessage', ({ code = '' }) => {
    if (LOST_STATEMENT.has(code)) onLost();
  });
}

/**
 * A row if the server knows this statement by our own name for it. A pooler that follows statements
 * gives them names of its own.
 */
export const FIND_OWN_NAME = statement(
  'poolers.findOwnName',
  `select name
   from pg_prepared_statements
   where name = 'poolers.findOwnName'`,
);

function partsOf(client: pg.ClientBase): Parts {
  return client as unknown as Parts;
}
