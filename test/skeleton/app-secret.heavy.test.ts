// A wrong APP_SECRET: no process starts that would fail every delivery and write values that no
// other process can read.
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../src/db/connections/database.ts';
import { findAppSecretFault } from '../../src/db/operator/app-secret.ts';
import { TEST_APP_SECRET as RIGHT } from '../support/api.ts';
import { runEntry } from '../support/processes.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/ports.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { until } from '../support/until.ts';
import { openTestDatabase } from '../support/wire.ts';

const WRONG = 'hunter2 hunter2 hunter2 hunter2 hunter2';

let database: TestDatabase;
let db: Database;
beforeEach(async () => {
  database = await createTestDatabase();
  db = openTestDatabase({ url: database.url, poolMax: 8 });
  return async () => {
    await db.close();
    await database.drop();
  };
});

/** What a process with these secrets says about the database. null: it may run. */
const faultWith = (current: string, previous: string | null = null) =>
  findAppSecretFault(db, { current, previous });

describe('with an APP_SECRET that is not the database’s', () => {
  test.each(['src/api.ts', 'src/worker.ts'])('%s refuses to start, and names it', async (entry) => {
    expect(await faultWith(RIGHT)).toBeNull();
    const env = {
      DATABASE_URL: database.url,
      PORT: String(await findFreePort()),
      APP_SECRET: WRONG,
    };
    const refused = runEntry(entry, env);
    expect(await refused.exited).toEqual({ code: 1, signal: null });
    expect(refused.output()).toMatch(/APP_SECRET (?:nor|is not)/);
    expect(refused.output()).not.toContain('hunter2');
  });

  test('an API process that could not ask at its start ends as soon as it can', async () => {
    await faultWith(RIGHT);
    const proxy = await startPostgresProxy(database.url);
    onTestFinished(() => proxy.stop());
    proxy.fallSilent();
    const port = String(await findFreePort());
    const api = runEntry('src/api.ts', { DATABASE_URL: proxy.url, PORT: port, APP_SECRET: WRONG });
    await until(() => fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null));
    proxy.recover();
    expect(await api.exited).toEqual({ code: 1, signal: null });
    expect(api.output()).toContain('APP_SECRET is not the secret of this database');
  });
});
