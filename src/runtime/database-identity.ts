import { DatabaseError, type ClientBase } from 'pg';
import { parseDatabaseUrl } from '../db/database-url.ts';

/**
 * Names a database, wherever its server is and whoever asks. Where the role may not read that, as
 * with some providers, the name is where the database is.
 */
export async function identifyDatabase(client: ClientBase, databaseUrl: string): Promise<string> {
  try {
    const { rows } = await client.query<{ identity: string }>(
      `SELECT format('%s/%s', server.system_identifier, own.oid) AS identity
       FROM pg_control_system() AS server, pg_database AS own
       WHERE own.datname = current_database()`,
    );
    return rows[0]?.identity ?? placeOf(databaseUrl);
  } catch (error) {
    if (error instanceof DatabaseError) return placeOf(databaseUrl);
    throw error;
  }
}

/** Without user and password, which may change. */
function placeOf(databaseUrl: string): string {
  const { host, pathname, searchParams } = new URL(parseDatabaseUrl(databaseUrl).url);
  const parameters = ['host', 'port'].flatMap((name) => searchParams.get(name) ?? []);
  return [`${host}${pathname}`, ...parameters].join(' ');
}
