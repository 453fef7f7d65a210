// A change of APP_SECRET, from the first process with the new one to the last that needs the old.
import pg from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { verifyWebhook } from '../../src/client/webhook-verification.ts';
import { ENCRYPTED_COLUMNS } from '../../src/core/encrypted-columns.ts';
import { decrypt, encrypt } from '../../src/core/encryption.ts';
import { openDatabase, type Database } from '../../src/db/connections/database.ts';
import { rotateSecret } from '../../src/db/operator/rotate-secret.ts';
import {
  createCall,
  loadTestSeed,
  TEST_APP_SECRET as OLD,
  type ApiResponse,
} from '../support/api.ts';
import { runScript, startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { endWaiting, untilWaiting } from '../support/locks.ts';
import { startReceiver } from '../support/receiver.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const NEW = 'the secret that comes after it, just as long';
const NEITHER = 'a secret that nobody remembers any more at all';
const ROTATING = { APP_SECRET: NEW, APP_SECRET_PREVIOUS: OLD };
const { webhookSecret, keptResponse, crmCredentials } = ENCRYPTED_COLUMNS;

let database: TestDatabase;
let db: Database;
beforeEach(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url, poolMax: 4, onError: () => undefined });
  return async () => {
    await db.close();
    await database.drop();
  };
});

const rotate = () => rotateSecret(db, { current: NEW, previous: OLD });
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

describe('a new APP_SECRET', () => {
  // In the API and in the worker. After the rotation, the old secret is no longer needed.
  test('reads what was encrypted with the old one', async () => {
    const { teams } = await loadTestSeed(database, makeSeed([makeTeam('a')]));
    const key = teams['team_a']?.api_keys['full'] ?? '';
    const receiver = await startReceiver();
    const privately = { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' };

    const create = (call: ReturnType<typeof createCall>): Promise<ApiResponse> =>
      call(key, 'POST', '/webhook-endpoints', {
        body: { url: `${receiver.url}/hook`, events: ['training.completed'] },
        headers: { 'idempotency-key': 'once' },
      });
    const before = await startApiProcess(database.url, { APP_SECRET: OLD, ...privately });
    const created = await create(createCall(before.url));
    expect(created.status).toBe(201);
    const { id, secret } = created.body as { id: string; secret: string };
    const invite = (call: ReturnType<typeof createCall>): Promise<ApiResponse> =>
      call(key, 'POST', '/users', {
        body: { email: 'new@a.test' },
        headers: { 'idempotency-key': 'invitation' },
      });
    const invited = await invite(createCall(before.url));
    expect(invited.status).toBe(201);
    await before.kill('SIGTERM');

    /** Expects processes with these secrets to replay the response with the secret, and to sign. */
    const expectUsable = async (env: Record<string, string>): Promise<void> => {
      const api = await startApiProcess(database.url, { ...env, ...privately });
      const worker = await startWorkerProcess(database.url, { ...env, ...privately });
      const call = createCall(api.url);
      expect(await create(call)).toMatchObject({
        status: 201,
        text: created.text,
        headers: { 'idempotency-replayed': 'true' },
      });
      expect(await invite(call)).toMatchObject({
        status: 201,
        text: invited.text,
        headers: { 'idempotency-replayed': 'true' },
      });
      const count = receiver.requests.length + 1;
      expect((await call(key, 'POST', `/webhook-endpoints/${id}/test`)).status).toBe(202);
      const delivery = (await receiver.arrived('/hook', count)).at(-1);
      expect(verifyWebhook(delivery?.body ?? '', delivery?.headers ?? {}, secret).type).toBe(
        'ping',
      );
      await worker.kill('SIGTERM');
      await api.kill('SIGTERM');
    };

    // In the order of the README: with the new secret to read, to write, and alone.
    await expectUsable({ APP_SECRET: OLD, APP_SECRET_PREVIOUS: NEW });
    await expectUsable(ROTATING);
    const script = runScript(database.url, ['rotate-secret'], ROTATING);
    expect(await script.exited).toMatchObject({ code: 0 });
    expect(script.output()).toContain('webhook_endpoint.secret_encrypted: 1 encrypted anew');
    expect(script.output()).toContain('idempotency_record.body: 1 encrypted anew');
    expect(script.output()).toContain('idempotency_record.fingerprint: 2 encrypted anew');
    expect(script.output()).toContain('keep it as long as you keep them');
    expect(script.output()).not.toMatch(/whsec_|secret that/);
    await expectUsable({ APP_SECRET: NEW });
  });

  test('cannot be rotated to without naming the old one', async () => {
    const script = runScript(database.url, ['rotate-secret'], { APP_SECRET: NEW });
    expect(await script.exited).toMatchObject({ code: 1 });
    expect(script.output()).toContain('APP_SECRET_PREVIOUS is required');
  });
});

describe('the rotation', () => {
  test('leaves every value readable when it is killed, and continues where it was', async () => {
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    await addEndpoints(1600);
    // Lock a row of the third batch, so that the kill comes after the second.
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query(
      `begin;
       select from webhook_endpoint where team_id = 'team_a' and id = 'whe_01200' for update`,
    );
    const script = runScript(database.url, ['rotate-secret'], ROTATING);
    await until(async () => (await countOpened(NEW)) === 1000);
    await script.kill('SIGKILL');
    // Its last statement still waits in Postgres and would otherwise run as soon as it can.
    await endWaiting({ db });
    await holder.query('rollback');
    await holder.end();
    const rotated = await countOpened(NEW);
    expect([rotated, await countOpened(OLD)]).toEqual([1000, 600]);

    const again = runScript(database.url, ['rotate-secret'], ROTATING);
    expect(await again.exited).toMatchObject({ code: 0 });
    expect(again.output()).toContain('webhook_endpoint.secret_encrypted: 600 encrypted anew');
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
    const script = runScript(database.url, ['rotate-secret'], ROTATING);
    expect(await script.exited).toMatchObject({ code: 1 });
    expect(script.output()).toContain(
      'webhook_endpoint.secret_encrypted: 1 that neither secret opens',
    );
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
