// A database that no longer answers, and connections that only look silent, by a stepped clock.
import { Client, Pool } from 'pg';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { statement, type Db } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { guardAll, startWatchdog } from '../../src/db/connections/watchdog.ts';
import { poolToPrimary } from '../../src/db/wire/primary-client.ts';
import { steppedClock } from '../support/clocks.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { openSturdyPool } from '../support/pool.ts';
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.ts';
import { until } from '../support/until.ts';
import { openTestDatabase } from '../support/wire.ts';

const ECHO = statement<{ value: string }>('test.watchdog.echo', 'select $1::text as value');
const WAIT = statement<{ locked: string }>(
  'test.watchdog.wait',
  'select pg_advisory_xact_lock_shared($1)::text as locked',
);
/** All statements share one connection. */
const POOL_MAX = 4;
const LIMIT_MS = 2_000;
/** The watchdog's round. A silent connection is broken in the round after the tenth. */
const ROUND_MS = LIMIT_MS / 10;
const ROUNDS = 10;

let database: TestDatabase;
/** Looks at the database's sessions. */
let watcher: Pool;
let clock: ReturnType<typeof steppedClock>;
beforeAll(async () => {
  database = await createTestDatabase();
  watcher = openSturdyPool(database.url, POOL_MAX);
  return async () => {
    await watcher.end();
    await database.drop();
  };
});
beforeEach(() => {
  clock = steppedClock(new Date());
});

function open(url = database.url): Database {
  const db = openTestDatabase({
    url,
    poolMax: POOL_MAX,
    answerTimeoutMs: LIMIT_MS,
    statementTimeoutMs: 60_000,
    clock,
  });
  onTestFinished(() => db.close());
  return db;
}

async function startProxy(): Promise<PostgresProxy> {
  const proxy = await startPostgresProxy(database.url);
  onTestFinished(() => proxy.stop());
  return proxy;
}

/** How a statement ends: its problem's code, or `answered`. */
const endOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'answered',
    (error: Error & { code?: string }) => error.code ?? error.message,
  );

const nextTurn = (): Promise<void> => new Promise((done) => setImmediate(done));

/** Lets so many rounds of the watchdog pass, each with a look at the connections. */
async function passRounds(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    // What was asked has been sent by then.
    await nextTurn();
    clock.advance(ROUND_MS);
    await nextTurn();
  }
}

/** Lets rounds pass until the work has ended. */
async function endedByRounds(work: Promise<unknown>): Promise<string> {
  let end: string | null = null;
  void endOf(work).then((how) => (end = how));
  return until(async () => {
    if (end === null) await passRounds(1);
    return end;
  });
}

/** Stops the event loop. */
function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('a statement of a library is cut off, however it was asked', async () => {
  const proxy = await startProxy();
  const watchdog = startWatchdog(LIMIT_MS, clock);
  onTestFinished(() => watchdog.stop());
  const pool = new Pool(poolToPrimary(proxy.url));
  onTestFinished(() => pool.end());
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    guardAll(watchdog, client);
  });
  const one = await pool.connect();
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  proxy.fallSilent();
  const asked = [one.query('select 1'), pool.query('select 1')];
  const ends = await Promise.all(asked.map(endedByRounds));
  one.release(true);
  expect(ends).not.toContain('answered');
});

describe('a silent database', () => {
  test('is unavailable for each statement in time, while new ones keep arriving', async () => {
    const proxy = await startProxy();
    const db = open(proxy.url);
    // Opens both connections.
    await db.transaction((tx) => Promise.all([tx.query(ECHO, ['']), db.query(ECHO, [''])]));
    let ended = 0;
    const ends: Promise<string>[] = [];
    const ask = (asked: Pick<Db, 'query'>): void => {
      ends.push(endOf(asked.query(ECHO, ['silent'])).finally(() => (ended += 1)));
    };
    const asking = Promise.withResolvers<void>();
    const transaction = endOf(
      db.transaction(async (tx) => {
        await tx.query(ECHO, ['heard']);
        proxy.fallSilent();
        ask(tx);
        for (let round = 1; round <= ROUNDS; round += 1) {
          tx.send(ECHO, ['in a transaction']);
          ask(db);
          await passRounds(1);
        }
        asking.resolve();
        await tx.query(ECHO, ['the last']);
      }),
    );
    await asking.promise;
    expect(ended).toBe(0);
    await passRounds(1);
    expect(new Set(await Promise.all(ends))).toEqual(new Set(['unavailable']));
    expect(await transaction).toBe('unavailable');
  });

  test.each([
    ['asks about its session', 'pg_backend_pid', (db: Database) => db],
    [
      'limits its statements',
      'set statement_timeout',
      (db: Database) => db.forCaller({ share: 'a team' }),
    ],
  ])('does not keep a new connection that %s', async (_title, question, as) => {
    const proxy = await startProxy();
    const db = as(open(proxy.url));
    const silent = proxy.fallSilentAt(question);
    const asked = db.query(ECHO, ['silent']);
    await silent;
    expect(await endedByRounds(asked)).toBe('unavailable');
    proxy.recover();
    expect(await endOf(db.query(ECHO, ['heard']))).toBe('answered');
  });
});

describe('a healthy connection', () => {
  /** Holds an advisory lock that statements wait for; the test opens it. */
  const hold = (number: number): Promise<() => Promise<void>> =>
    holdLock({ databaseUrl: database.url }, `select pg_advisory_xact_lock(${number})`);
  const atDatabase = {
    db: {
      get pool() {
        return watcher;
      },
    },
  };

  test('is read before it is judged, if the event loop stalls just before the limit', async () => {
    const db = open();
    await db.query(ECHO, ['before']);
    const holder = new Client({ connectionString: database.url });
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query('select pg_advisory_lock(1)');
    const pending = endOf(db.query(WAIT, [1]));
    await untilWaiting(atDatabase, 1);
    await passRounds(ROUNDS);
    // It is released on the way: the answer comes while the event loop stands still.
    const released = holder.query('select pg_advisory_unlock(1)');
    await nextTurn();
    stall(1_000);
    clock.advance(ROUND_MS);
    expect(await pending).toBe('answered');
    await released;
  });

  test('is not cut while it answers, however long the last statement waits', async () => {
    const db = open();
    await db.query(ECHO, ['before']);
    const locks = [2, 3, 4, 5];
    const opened = await Promise.all(locks.map(hold));
    const slow = locks.map((number) => endOf(db.query(WAIT, [number])));
    const quick = endOf(db.query(ECHO, ['behind them']));
    for (const [place, release] of opened.entries()) {
      await passRounds(ROUNDS - 1);
      await release();
      expect(await slow[place]).toBe('answered');
    }
    expect(await quick).toBe('answered');
  });
});

test('a stall of the event loop is one round, however long it is', async () => {
  let rounds = 0;
  const stop = systemClock.every(50, () => (rounds += 1));
  stall(500);
  await nextTurn();
  await nextTurn();
  stop();
  // Were each of them made up for, there would be ten.
  expect(rounds).toBeLessThan(5);
});
