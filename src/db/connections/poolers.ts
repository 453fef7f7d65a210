/**
 * Connection poolers between this process and Postgres. The API may use one that follows prepared
 * statements from server to server (PgBouncer 1.21 and newer, for instance). What listens or holds
 * session locks needs a direct connection, because a pooler gives the session to others.
 */
import { statement } from '../statement.ts';
import { isPooled } from '../wire/cancel.ts';
import { PrimaryClient } from '../wire/primary-client.ts';
import { isRefusedParameter } from '../wire/session-settings.ts';

/** Returns the error for an operator who has put a pooler before `who`. */
export function poolerError(who: string): Error {
  return new Error(
    `DATABASE_URL leads to a connection pooler. ${who} needs a direct connection to Postgres, ` +
      'because it listens or holds session locks, and a pooler gives its session to others.',
  );
}

/**
 * Connects. Rejects with {@link poolerError} if the login has named another process than the one
 * that serves the connection, or has refused the settings of a session.
 */
export async function connectDirectly(client: PrimaryClient, who: string): Promise<void> {
  await client.connect().catch((error: unknown) => {
    throw isRefusedParameter(error) ? poolerError(who) : error;
  });
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  if (!isPooled(client, rows[0]?.pid ?? 0)) return;
  client.break();
  throw poolerError(who);
}

/** Like {@link connectDirectly}, on a connection of its own. */
export async function requireDirectAt(databaseUrl: string, who: string): Promise<void> {
  const client = new PrimaryClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 10_000,
  });
  await connectDirectly(client, who);
  await client.end();
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
