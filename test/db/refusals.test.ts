// Postgres refuses a statement because of its own state, not because of the statement.
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase, statement, type Database } from '../../src/db/client.ts';
import { isUnavailable } from '../../src/db/errors.ts';
import { toProblem } from '../../src/http/api/problem-response.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const PID = statement<{ pid: number }>('test.pid', 'select pg_backend_pid() as pid');
const RAISE = statement('test.raise', 'select raise_state($1)');

let api: TestApi;
let db: Database;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
  await api.db.pool.query(
    `create function raise_state(state text) returns void language plpgsql as $$
     begin
       raise exception 'no room in /var/lib' using errcode = state, detail = 'a detail';
     end $$;
     create function refuse() returns trigger language plpgsql as $$
     begin
       perform raise_state('53100');
     end $$`,
  );
  db = openDatabase({ url: api.databaseUrl, poolMax: 1, onError: () => undefined });
  return () => db.close();
});

describe('a statement refused because', () => {
  test.each([
    ['the disk is full', '53100', true],
    ['there is no memory', '53200', true],
    ['there are too many connections', '53300', true],
    ['it was cancelled, also by a timeout', '57014', true],
    ['the disk fails', '58030', true],
    ['of a deadlock', '40P01', true],
    ['the server shuts down', '57P01', false],
    ['the connection failed', '08006', false],
  ])('%s (%s) is unavailable; its connection is kept: %s', async (_why, state, isKept) => {
    const pid = async () => (await db.query(PID, []))[0]?.pid;
    const before = await pid();
    await expect(db.query(RAISE, [state])).rejects.toMatchObject({ code: 'unavailable' });
    expect((await pid()) === before).toBe(isKept);

    // Outside transactions, Prisma and the process's own statements have the same connection.
    const own = db.forCaller({ share: null });
    const ownPid = async () => (await own.query(PID, []))[0]?.pid;
    const kept = await ownPid();
    const raised = own.prisma.$queryRaw`select raise_state(${state})::text`;
    const error: unknown = await raised.catch((fault: unknown) => fault);
    expect(isUnavailable(error)).toBe(true);
    expect((await ownPid()) === kept).toBe(isKept);
  });

  test('of its own values is no outage', async () => {
    await expect(db.query(RAISE, ['23514'])).rejects.toMatchObject({ code: '23514' });
  });
});

describe('a request', () => {
  test('to a full disk gets 503, without a word of Postgres, and may be repeated', async () => {
    const { pool } = api.db;
    await pool.query(
      'create trigger refuse before insert on member for each row execute function refuse()',
    );
    onTestFinished(async () => {
      await pool.query('drop trigger if exists refuse on member');
    });
    const send = () =>
      api.call(api.key('team_a'), 'POST', '/users', {
        body: { email: 'new@a.test' },
        headers: { 'idempotency-key': 'again' },
      });
    const refused = await send();
    expect([refused.status, refused.body?.code]).toEqual([503, 'unavailable']);
    expect(JSON.stringify(refused.body)).not.toMatch(/53100|room|detail|raise/);
    expect((await pool.query('select from idempotency_record')).rowCount).toBe(0);

    await pool.query('drop trigger refuse on member');
    const repeated = await send();
    expect(repeated.status).toBe(201);
    expect(repeated.headers).not.toHaveProperty('idempotency-replayed');
  });
});

test('a statement of Prisma that gets no connection is unavailable, like any other', async () => {
  const nowhere = api.databaseUrl.replace(/:\d+\//, ':1/');
  const cutOff = openDatabase({ url: nowhere, poolMax: 4, onError: () => undefined });
  onTestFinished(() => cutOff.close());
  const error: unknown = await cutOff
    .forCaller({ share: 'team_a' })
    .prisma.team.findFirst()
    .catch((fault: unknown) => fault);
  expect(error).toBeInstanceOf(Error);
  expect(toProblem(error, null)).toMatchObject({ code: 'unavailable', status: 503 });
});
