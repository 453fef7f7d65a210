// The short statement of a request that travels with the first one of its caller.
import { setImmediate as turn } from 'node:timers/promises';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { statement, type Queries } from '../../src/db/client.ts';
import { openDatabase, type Database } from '../../src/db/connections/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const isOnCitus = inject('testWorkerUrls').length > 0;

const PID = statement<{ pid: number }>('companion.pid', 'select pg_backend_pid() as pid');
const COUNT = statement<{ slept: string }>(
  'companion.count',
  `with counted as (update team set name = name || '!' where id = 'a')
   select pg_sleep($1)::text as slept`,
);
const NAME = statement<{ name: string }>(
  'companion.name',
  `select name
   from team
   where id = 'a'`,
);
const SLEEP = statement<{ slept: string }>('companion.sleep', 'select pg_sleep($1)::text as slept');

const LOCK = statement<{ locked: string }>(
  'companion.lock',
  'select pg_advisory_xact_lock(1)::text as locked',
);

let db: Database;
let url: string;

beforeAll(async () => {
  const database = await createTestDatabase();
  ({ url } = database);
  db = openDatabase({ url, poolMax: 16, onError: () => undefined });
  await db.pool.query(`insert into team (id, name, created_at) values ('a', '', now())`);
  return async () => {
    await db.close();
    await database.drop();
  };
});

const pidOf = async (on: Queries): Promise<number | undefined> =>
  (await on.queryFirst(PID, []))?.pid;

/** Opens the shared connections. A statement that opened one would miss its companion. */
async function warmUp(share: string, on = db): Promise<void> {
  // A node has its own, once it is known that a team is there.
  const isKnown = async (): Promise<boolean> => {
    await pidOf(on.forCaller({ share }));
    return (await pidOf(on.forTeam('a'))) !== (await pidOf(on));
  };
  if (isOnCitus) await until(isKnown);
  await Promise.all(Array.from({ length: 4 }, () => pidOf(on.forCaller({ share }))));
  await Promise.all(Array.from({ length: 4 }, () => pidOf(on)));
}

test('travels with the first statement of its caller, before it', async () => {
  // On a busy machine a statement may be begun again, and then it travels alone.
  const patient = openDatabase({
    url,
    poolMax: 16,
    quickStatementMs: 4_000,
    onError: () => undefined,
  });
  onTestFinished(() => patient.close());
  await warmUp('first', patient);
  const beside = patient.withCompanion('a');
  const own = patient.forCaller({ share: 'first', companion: beside.companion });
  const order: string[] = [];
  const [first, second] = await Promise.all([
    pidOf(beside).finally(() => order.push('companion')),
    pidOf(own).finally(() => order.push('caller')),
  ]);
  expect(first).toBe(second);
  expect(order).toEqual(['companion', 'caller']);
});

test('is sent alone if its caller asks nothing in this turn of the event loop', async () => {
  await warmUp('late');
  const beside = db.withCompanion('a');
  const alone = pidOf(beside);
  await turn();
  await turn();
  const own = await pidOf(db.forCaller({ share: 'late', companion: beside.companion }));
  expect(await alone).toBeTypeOf('number');
  expect(await alone).not.toBe(own);
});

test('is sent alone at once for a caller that asks nothing', async () => {
  // With one connection for both, the answers come in the order in which they were asked for.
  const one = openDatabase({ url, poolMax: 4, onError: () => undefined });
  onTestFinished(() => one.close());
  await pidOf(one);
  const beside = one.withCompanion('a');
  const order: string[] = [];
  const other = pidOf(one.withCompanion('a')).then(() => order.push('one that waits'));
  const alone = pidOf(beside).then(() => order.push('companion'));
  beside.companion.goAlone();
  await Promise.all([other, alone]);
  expect(order).toEqual(['companion', 'one that waits']);
});

test('is sent alone for a team that is slow, and does not wait for it', async () => {
  await warmUp('slow');
  await db.forCaller({ share: 'slow' }).query(SLEEP, [0.2]);
  const beside = db.withCompanion('a');
  const own = db.forCaller({ share: 'slow', companion: beside.companion });
  const holder = await db.pool.connect();
  await holder.query('select pg_advisory_lock(1)');
  const slow = own.query(LOCK, []);
  // It would wait as long as its caller, which waits for this test.
  expect(await pidOf(beside)).toBeGreaterThan(0);
  await holder.query('select pg_advisory_unlock(1)');
  holder.release();
  await slow;
});

test('has its own time: where its caller has less, it is begun again alone, once', async () => {
  await warmUp('short');
  const beside = db.withCompanion('a');
  const own = db.forCaller({ share: 'short', companion: beside.companion });
  const [[slept], pid] = await Promise.all([beside.query(COUNT, [0.2]), pidOf(own)]);
  expect(slept).toEqual({ slept: '' });
  expect(pid).toBeTypeOf('number');
  expect(await db.queryFirst(NAME, [])).toEqual({ name: '!' });
});

test('fails alone: its caller gets the answer, and the other way round', async () => {
  await warmUp('fault');
  const FAULT = ['not a number'];
  const pair = () => {
    const beside = db.withCompanion('a');
    return { beside, own: db.forCaller({ share: 'fault', companion: beside.companion }) };
  };
  const one = pair();
  const both = await Promise.allSettled([one.beside.query(SLEEP, FAULT), pidOf(one.own)]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  const other = pair();
  const swapped = await Promise.allSettled([pidOf(other.beside), other.own.query(SLEEP, FAULT)]);
  expect(swapped.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
});

test('loses no statement if two wait for the same caller', async () => {
  await warmUp('two');
  const beside = db.withCompanion('a');
  const own = db.forCaller({ share: 'two', companion: beside.companion });
  const pids = await Promise.all([pidOf(beside), pidOf(beside), pidOf(own)]);
  expect(pids.map((pid) => typeof pid)).toEqual(['number', 'number', 'number']);
  expect(pids[1]).toBe(pids[2]);
});
