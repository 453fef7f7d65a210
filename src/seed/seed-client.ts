import { applicationName } from '../db/wire/application-name.ts';
import { PrimaryClient } from '../db/wire/primary-client.ts';

/** Does the work on a connection of its own. A transaction that it leaves open is rolled back. */
export async function withSeedClient<T>(
  databaseUrl: string,
  work: (client: PrimaryClient) => Promise<T>,
): Promise<T> {
  const client = new PrimaryClient({
    connectionString: databaseUrl,
    application_name: applicationName('seed'),
    connectionTimeoutMillis: 10_000,
  });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
