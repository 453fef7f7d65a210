import { Client } from 'pg';
import { migrate } from '../../src/db/operator/migrate.ts';
import { createDatabase, createTestDatabase, isOnCitus, type TestDatabase } from './database.ts';

/** What an operator may have set for a database or a role: none of it is the default. */
export const ODD_SETTINGS: Readonly<Record<string, string>> = {
  array_nulls: 'off',
  bytea_output: 'escape',
  client_encoding: 'LATIN1',
  datestyle: 'German',
  default_transaction_isolation: 'serializable',
  extra_float_digits: '-15',
  gin_fuzzy_search_limit: '1',
  intervalstyle: 'sql_standard',
  quote_all_identifiers: 'on',
  search_path: 'pg_catalog',
  standard_conforming_strings: 'off',
  timezone: 'Asia/Kolkata',
  transform_null_equals: 'on',
};

/** Sets them for all sessions to come, but for those that `others` names. */
export async function setOddly(
  url: string,
  others: Readonly<Record<string, string>> = {},
): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const name = client.escapeIdentifier(client.database ?? '');
  for (const [setting, value] of Object.entries({ ...ODD_SETTINGS, ...others }))
    await client.query(`alter database ${name} set ${setting} = '${value}'`);
  await client.end();
}

/**
 * Creates a migrated database with these settings, in a locale in which I and i are two letters and
 * a capital follows its small letter.
 */
export async function createOddDatabase(): Promise<TestDatabase> {
  const database = isOnCitus()
    ? await createTestDatabase()
    : await createDatabase(`TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'`);
  await setOddly(database.url);
  await migrate(database.url);
  return database;
}
