import { unlimitedText } from '../db/unlimited.ts';
import { applicationName } from '../db/wire/application-name.ts';
import { PrimaryClient } from '../db/wire/primary-client.ts';
import { SET_LOCALLY } from '../db/wire/session-settings.ts';

const UNLIMITED = unlimitedText('transaction');

/**
 * Does the work in a transaction, on a connection of its own. It is rolled back unless the work
 * commits it.
 */
export async function withSeedClient<T>(
  databaseUrl: string,
  work: (client: PrimaryClient) => Promise<T>,
): Promise<T> {
  const client = new PrimaryClient({
    connectionString: databaseUrl,
    application_name: applicationName('seed'),
    connectionTimeoutMillis: 10_000,
    // A pooler may stand between.
    options: undefined,
  });
  await client.connect();
  try {
    await client.query(`BEGIN; SELECT ${SET_LOCALLY}; ${UNLIMITED}`);
    return await work(client);
  } finally {
    await client.end();
  }
}
