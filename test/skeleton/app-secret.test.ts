// A wrong APP_SECRET: no process starts that would fail every delivery and write values that no
// other process can read.
import pino from 'pino';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ENCRYPTED_COLUMNS } from '../../src/core/encrypted-columns.ts';
import { encrypt } from '../../src/core/encryption.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { findAppSecretFault, rotateCanary } from '../../src/db/operator/app-secret.ts';
import { expectedMigrations } from '../../src/db/operator/migrations.ts';
import { startReadiness } from '../../src/runtime/readiness.ts';
import {
  loadTestSeed,
  startTestApi,
  TEST_APP_SECRET as RIGHT,
  type TestApi,
} from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFullTeam, makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { openTestDatabase } from '../support/wire.ts';

const WRONG = 'hunter2 hunter2 hunter2 hunter2 hunter2';
const NEW = 'the secret that comes after it, just as long';
const { webhookSecret } = ENCRYPTED_COLUMNS;

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

describe('the first processes on a database', () => {
  test('agree on one secret, however many start at once', async () => {
    const starts = [RIGHT, NEW, RIGHT, NEW, RIGHT, NEW].map(async (secret) => ({
      secret,
      fault: await faultWith(secret),
    }));
    const seen = await Promise.all(starts);
    const accepted = new Set(seen.filter(({ fault }) => fault === null).map((one) => one.secret));
    expect(accepted.size).toBe(1);
    expect(seen.filter(({ fault }) => fault !== null)).toHaveLength(3);
  });

  test('must read what was stored before, but for values that are lost', async () => {
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    const add = (id: string, secret: string): Promise<unknown> =>
      db.pool.query(
        `insert into webhook_endpoint
           (team_id, id, url, events, api_version, secret_encrypted, created_at)
         values ('team_a', $1, 'https://a.test', '{training.completed}', '2026-11', $2, now())`,
        [id, encrypt('whsec_x', secret, webhookSecret.context('team_a', id))],
      );
    await add('whe_lost', 'a secret that nobody remembers any more');
    expect(await faultWith(WRONG)).toMatch(/^APP_SECRET is not/);
    await add('whe_kept', RIGHT);
    expect(await faultWith(WRONG)).toMatch(/^APP_SECRET is not/);
    // A rotation that began before: values are still those of the old secret, and so is the canary.
    expect(await faultWith(NEW, RIGHT)).toBeNull();
    expect(await faultWith(NEW)).toMatch(/^APP_SECRET is not/);
    expect(await faultWith(RIGHT)).toBeNull();
  });
});

describe('a change of APP_SECRET', () => {
  test('lets either secret be the current one, until the canary is rotated', async () => {
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    expect(await faultWith(RIGHT)).toBeNull();
    expect(await faultWith(RIGHT, NEW)).toBeNull();
    expect(await faultWith(NEW, RIGHT)).toBeNull();
    expect(await faultWith(NEW)).toMatch(/^APP_SECRET is not/);
    expect(await faultWith(WRONG, NEW)).toMatch(/^Neither APP_SECRET nor APP_SECRET_PREVIOUS is/);

    await rotateCanary(db, { current: NEW, previous: RIGHT });

    expect(await faultWith(NEW)).toBeNull();
    expect(await faultWith(RIGHT, NEW)).toBeNull();
    expect(await faultWith(RIGHT)).toMatch(/^APP_SECRET is not/);
  });

  test('lets older processes say 409 of what newer ones have kept: it passes', async () => {
    const { teams } = await loadTestSeed(database, makeSeed([makeFullTeam('a')]));
    const key = teams['team_a']?.api_keys['full'] ?? '';
    const startWith = (current: string, previous: string | null) =>
      startTestApi({
        database: { ...database, drop: async () => undefined },
        seed: makeSeed([]),
        allowPrivateTargets: true,
        services: { secrets: { current, previous } },
      });
    const [older, newer] = [await startWith(RIGHT, null), await startWith(NEW, RIGHT)];
    const post = async ({ call }: TestApi, once: string, body: object) => {
      const headers = { 'Idempotency-Key': once };
      const path = 'url' in body ? '/webhook-endpoints' : '/users';
      return call(key, 'POST', path, { body, headers });
    };
    const calls = [
      // The fingerprint alone is encrypted; with a secret, the response too.
      ['fingerprint', { email: 'new@example.com' }],
      ['response', { url: 'http://127.0.0.1:9/hook', events: ['training.completed'] }],
    ] as const;
    for (const [once, body] of calls) {
      const made = await post(newer, once, body);
      expect(made.status).toBe(201);
      const repeated = await post(older, once, body);
      expect(repeated).toMatchObject({ status: 409, body: { code: 'conflict', retry_after: 1 } });
      expect((await post(newer, once, body)).text).toBe(made.text);
    }
  });

  test('ends the processes that know only the old one, as soon as they look', async () => {
    const logger = pino({ level: 'silent' });
    const migrations = await expectedMigrations();
    const faults: string[] = [];
    const start = (current: string, previous: string | null) =>
      startReadiness({
        db,
        migrations,
        secrets: { current, previous },
        logger,
        onFault: ({ message }) => faults.push(message),
      });
    const [old, both] = [await start(RIGHT, null), await start(RIGHT, NEW)];
    onTestFinished(() => [old, both].forEach((readiness) => readiness.stop()));
    expect([await old.check(), await both.check()]).toEqual([null, null]);
    const secrets = { current: NEW, previous: RIGHT };
    await rotateCanary(db, secrets);
    // For a tenth of a second, a look of before is shared.
    await until(async () => (await old.check()) === 'wrong_app_secret');
    expect(await both.check()).toBeNull();
    expect(faults.at(-1)).toMatch(/^APP_SECRET is not/);
  });
});
