// Postgres refuses a statement because of its own state, not because of the statement.
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { statement, type Db } from '../../src/db/client.ts';
import { openDatabase, type Database } from '../../src/db/connections/database.ts';
import { retryAfterOf, toProblem } from '../../src/http/api/problem-response.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { createTestDatabase, isOnCitus } from '../support/database.ts';
import { holdLock } from '../support/locks.ts';
import { setOddly } from '../support/odd-database.ts';
import { makeMember, makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { changeTriggers } from '../support/shards.ts';
import { openTestDatabase } from '../support/wire.ts';
import { wholePrisma } from '../support/whole-prisma.ts';

const PID = statement<{ pid: number }>('test.refusals.pid', 'select pg_backend_pid() as pid');
const FAIL = statement('test.fail', 'select fail($1)');
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
     create function fail(message text) returns void language plpgsql as $$
     begin
       raise exception '%', message using errcode = 'XX000';
     end $$;
     create function refuse() returns trigger language plpgsql as $$
     begin
       perform raise_state('53100');
     end $$`,
  );
  db = openTestDatabase({ url: api.databaseUrl, poolMax: 1 });
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
    ['a lock was not free in time', '55P03', true],
    ['the server shuts down', '57P01', false],
    ['its transaction waited for its process for too long', '25P03', false],
    ['its transaction took too long', '25P04', false],
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
    const raise = async (on: Pick<Db, 'prisma'>): Promise<unknown> =>
      wholePrisma(on).$queryRaw`select raise_state(${state})::text`;
    const refused = { code: 'unavailable', cause: { code: state } };
    await expect(raise(own)).rejects.toMatchObject(refused);
    expect((await ownPid()) === kept).toBe(isKept);
    await expect(own.transaction(raise)).rejects.toMatchObject(refused);
  });

  // What Citus says as an internal error, while a shard moves and after a node was away; what
  // Postgres says while a migration replaces a function.
  test.each([
    ['could not find valid entry for shard 102040', true],
    ['failure on connection marked as essential: 10.0.0.7:5432', true],
    ['cache lookup failed for function 16384', true],
    ['cache lookup failed for relation 16384', false],
  ])('of an internal error, "%s", is unavailable: %s', async (message, isOutage) => {
    const error: unknown = await db.query(FAIL, [message]).catch((fault: unknown) => fault);
    expect(error).toMatchObject({ code: isOutage ? 'unavailable' : 'XX000' });
    const problem = toProblem(error, null);
    expect([problem.status, retryAfterOf(problem)]).toEqual(isOutage ? [503, 2] : [500, null]);
    const raised = wholePrisma(db.forCaller({ share: null }))
      .$queryRaw`select fail(${message})::text`;
    await expect(raised).rejects.toMatchObject({ code: isOutage ? 'unavailable' : 'XX000' });
  });

  test('of its own values is no outage', async () => {
    await expect(db.query(RAISE, ['23514'])).rejects.toMatchObject({ code: '23514' });
  });
});

describe('a request', () => {
  // The Postgres of the Citus tests does not know it.
  test.skipIf(isOnCitus())("that an operator's transaction_timeout ends gets 503", async () => {
    const database = await createTestDatabase();
    const teams = [makeTeam('a', { members: [makeMember('a', 'second')] })];
    const seeded = await startTestApi({ database, seed: makeSeed(teams) });
    const release = await holdLock(
      { databaseUrl: database.url },
      `select from team where id = 'team_a' for no key update`,
    );
    // Also what is to succeed has this time.
    await setOddly(database.url, {
      search_path: 'public',
      transaction_timeout: '3000',
    });
    const ended = await startTestApi({
      database: { url: database.url, drop: () => Promise.resolve() },
      seed: makeSeed([]),
    });
    const path = `/users/${memberId('a', 'second')}`;
    const send = () => ended.call(seeded.key('team_a'), 'PATCH', path, { body: { role: 'admin' } });
    const refused = await send();
    expect([refused.status, refused.body?.code]).toEqual([503, 'unavailable']);
    await release();
    expect((await send()).status).toBe(200);
  });

  test('to a full disk gets 503, without a word of Postgres, and may be repeated', async () => {
    const { pool } = api.db;
    await changeTriggers(
      api,
      'create trigger refuse before insert on member for each row execute function refuse()',
    );
    onTestFinished(async () => {
      await changeTriggers(api, 'drop trigger if exists refuse on member');
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

    await changeTriggers(api, 'drop trigger refuse on member');
    const repeated = await send();
    expect(repeated.status).toBe(201);
    expect(repeated.headers).not.toHaveProperty('idempotency-replayed');
  });
});

test('a statement of Prisma that gets no connection is unavailable, like any other', async () => {
  const nowhere = api.databaseUrl.replace(/:\d+\//, ':1/');
  const cutOff = openDatabase({
    url: nowhere,
    poolMax: 4,
    onError: () => undefined,
  });
  onTestFinished(() => cutOff.close());
  const { prisma } = cutOff.forCaller({ share: 'team_a' });
  await expect(prisma.team.findFirst({ where: { id: 'team_a' } })).rejects.toMatchObject({
    code: 'unavailable',
    status: 503,
    cause: { code: 'ECONNREFUSED' },
  });
});
