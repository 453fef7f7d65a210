// What `npm run rotate-secret` does with the rows.
import pg from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { main } from '../../scripts/rotate-secret.ts';
import { ENCRYPTED_COLUMNS } from '../../src/core/encrypted-columns.ts';
import { decrypt, encrypt } from '../../src/core/encryption.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { rotateSecret } from '../../src/db/operator/rotate-secret.ts';
import { loadTestSeed, TEST_APP_SECRET as OLD } from '../support/api.ts';
import { commandAt, type Ended } from '../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { endWaiting, untilWaiting } from '../support/locks.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { openPatiently } from '../support/wire.ts';

const NEW = 'the secret that comes after it, just as long';
const NEITHER = 'a secret that nobody remembers any more at all';
const ROTATING = { APP_SECRET: NEW, APP_SECRET_PREVIOUS: OLD };
const { webhookSecret, keptResponse, crmCredentials } = ENCRYPTED_COLUMNS;

let database: TestDatabase;
let db: Database;
beforeEach(async () => {
  database = await createTestDatabase();
  db = openPatiently(database.url);
  return async () => {
    await db.close();
    await database.drop();
  };
});

const rotate = () => rotateSecret(db, { current: NEW, previous: OLD });
const run = (env: Readonly<Record<string, string>>): Promise<Ended> =>
  commandAt(database.url)(main, [], env);
const total = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Counts the webhook endpoints of the team whose secret `secret` alone decrypts. */
async function countOpened(secret: string): Promise<number> {
  const { rows } = await db.pool.query<{ id: string; sealed: Buffer }>(
    `select id, secret_encrypted as sealed from webhook_endpoint where team_id = 'team_a'`,
  );
  return rows.filter(({ id, sealed }) => {
    try {
      return decrypt(
        sealed,
        { current: secret, previous: null },
        webhookSecret.context('team_a', id),
      ).startsWith('whsec_');
    } catch {
      return false;
    }
  }).length;
}

/** Adds webhook endpoints `whe_00000` and following to `team_a`, encrypted with `appSecret`. */
async function addEndpoints(count: number, appSecret = OLD): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `whe_${String(index).padStart(5, '0')}`);
  await db.pool.query(
    `insert into webhook_endpoint
       (team_id, id, url, events, api_version, secret_encrypted, created_at)
     select 'team_a', u.id, 'https://example.com/hook', '{training.completed}', '2026-11',
       u.sealed, now()
     from unnest($1::text[], $2::bytea[]) u (id, sealed)`,
    [ids, ids.map((id) => encrypt(`whsec_${id}`, appSecret, webhookSecret.context('team_a', id)))],
  );
}

test('an argument is refused', async () => {
  expect(await commandAt(database.url)(main, ['--dry-run'], ROTATING)).toMatchObject({
    code: 64,
    stdout: '',
    stderr: expect.stringContaining('it takes no arguments'),
  });
});

describe('the rotation', () => {
  test('needs the old secret by name', async () => {
    expect(await run({ APP_SECRET: NEW })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('APP_SECRET_PREVIOUS is required'),
    });
  });

  test('leaves every value readable when it is interrupted, and goes on where it was', async () => {
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    await addEndpoints(1600);
    // Lock a row of the third batch, so that the end comes after the second.
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query(
      `begin;
       select from webhook_endpoint where team_id = 'team_a' and id = 'whe_01200' for update`,
    );
    const interrupted = run(ROTATING);
    await untilWaiting({ db }, 1);
    await endWaiting({ db });
    expect(await interrupted).toMatchObject({ code: 1 });
    await holder.query('rollback');
    await holder.end();
    expect([await countOpened(NEW), await countOpened(OLD)]).toEqual([1000, 600]);

    const again = await run(ROTATING);
    expect(again).toMatchObject({ code: 0 });
    expect(again.stdout).toContain('webhook_endpoint.secret_encrypted: 600 encrypted anew');
    expect(again.stdout).toContain('keep it as long as you keep them');
    expect(again.output).not.toMatch(/whsec_|secret that comes/);
    expect([await countOpened(NEW), await countOpened(OLD)]).toEqual([1600, 0]);
    expect(total((await rotate()).rotated)).toBe(0);
  });

  test('does not overwrite what a process writes meanwhile', async () => {
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    await addEndpoints(3);
    const written = encrypt('whsec_newer', OLD, webhookSecret.context('team_a', 'whe_00001'));
    const writer = new pg.Client({ connectionString: database.url });
    await writer.connect();
    await writer.query('begin');
    await writer.query(`update webhook_endpoint set secret_encrypted = $1 where id = 'whe_00001'`, [
      written,
    ]);
    const rotating = rotate();
    // It has read the old value and now waits for the row.
    await untilWaiting({ db }, 1);
    await writer.query('commit');
    await writer.end();
    expect(total((await rotating).rotated)).toBe(3);
    const { rows } = await db.pool.query(
      `select secret_encrypted as sealed from webhook_endpoint where id = 'whe_00001'`,
    );
    const opened = decrypt(
      rows[0].sealed,
      { current: NEW, previous: null },
      webhookSecret.context('team_a', 'whe_00001'),
    );
    expect(opened).toBe('whsec_newer');
  });

  test('finds what a process adds behind it', async () => {
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    await addEndpoints(3);
    const writer = new pg.Client({ connectionString: database.url });
    await writer.connect();
    await writer.query('begin');
    await writer.query(
      `select from webhook_endpoint where team_id = 'team_a' and id = 'whe_00001' for update`,
    );
    const rotating = rotate();
    // It has read all that there is.
    await untilWaiting({ db }, 1);
    await db.pool.query(
      `insert into webhook_endpoint
         (team_id, id, url, events, api_version, secret_encrypted, created_at)
       values ('team_a', 'whe_', 'https://a.test', '{training.completed}', '2026-11', $1, now())`,
      [encrypt('whsec_late', OLD, webhookSecret.context('team_a', 'whe_'))],
    );
    await writer.query('commit');
    await writer.end();
    await rotating;
    expect([await countOpened(NEW), await countOpened(OLD)]).toEqual([4, 0]);
  });

  test('encrypts each value once when two run at once', async () => {
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    await addEndpoints(700);
    const both = await Promise.all([rotate(), rotate()]);
    expect(both.reduce((sum, { rotated }) => sum + total(rotated), 0)).toBe(700);
    expect(await countOpened(NEW)).toBe(700);
  });

  test('reports and keeps values that neither secret decrypts, and rotates others', async () => {
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    await addEndpoints(2);
    await db.pool.query(
      `update webhook_endpoint set secret_encrypted = $1 where id = 'whe_00000'`,
      [encrypt('whsec_lost', NEITHER, webhookSecret.context('team_a', 'whe_00000'))],
    );
    expect(await run(ROTATING)).toMatchObject({
      code: 1,
      stderr: 'webhook_endpoint.secret_encrypted: 1 that neither secret opens\n',
    });
    expect([await countOpened(NEW), await countOpened(NEITHER)]).toEqual([1, 1]);
  });

  test('rotates CRM credentials, and skips connections without any', async () => {
    await loadTestSeed(
      database,
      makeSeed([
        makeTeam('a', {
          crm_connections: [
            { id: 'crm_none', provider: 'hubspot' },
            { id: 'crm_some', provider: 'hubspot' },
          ],
        }),
      ]),
    );
    const context = crmCredentials.context('team_a', 'crm_some');
    await db.pool.query(
      `update crm_connection set credentials_encrypted = $1 where id = 'crm_some'`,
      [encrypt('token', OLD, context)],
    );
    expect((await rotate()).rotated).toMatchObject({ 'crm_connection.credentials_encrypted': 1 });
    const { rows } = await db.pool.query(
      `select credentials_encrypted as sealed from crm_connection order by id`,
    );
    expect(rows[0].sealed).toBeNull();
    expect(decrypt(rows[1].sealed, { current: NEW, previous: null }, context)).toBe('token');
  });

  test('does not change kept responses that are not encrypted', async () => {
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    const secret = encrypt('{"id":"x"}', OLD, keptResponse.context('team_a', 'secret'));
    await db.pool.query(
      `insert into idempotency_record
         (team_id, key, fingerprint, status, body, encrypted, open_body, key_id, subject_id,
          created_at)
       values ('team_a', 'plain', '', 200, $1, false, null, null, null, now()),
         ('team_a', 'secret', '', 200, $2, true, $1, 'key', 'whe', now())`,
      [Buffer.from('{}'), secret],
    );
    expect((await rotate()).rotated).toMatchObject({ 'idempotency_record.body': 1 });
    const { rows } = await db.pool.query(`select body from idempotency_record order by key`);
    expect(String(rows[0].body)).toBe('{}');
    expect(
      decrypt(
        rows[1].body,
        { current: NEW, previous: null },
        keptResponse.context('team_a', 'secret'),
      ),
    ).toBe('{"id":"x"}');
  });
});

/** Columns of bytes that are not encrypted, and the canary, which the rotation replaces too. */
const OTHERS = [
  'app_secret_canary.sealed',
  'api_key.secret_hash',
  'idempotency_record.open_body',
  'team.creation_hash',
];

test('every column of bytes is in the list of the rotation, or is not encrypted', async () => {
  const { rows } = await db.pool.query<{ name: string }>(
    `select table_name || '.' || column_name as name
     from information_schema.columns
     where table_schema = 'public' and data_type = 'bytea'`,
  );
  const listed = Object.values(ENCRYPTED_COLUMNS).map(({ table, column }) => `${table}.${column}`);
  expect(rows.map(({ name }) => name).toSorted()).toEqual([...OTHERS, ...listed].toSorted());
});
