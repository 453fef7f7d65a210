// A database that no longer answers, and connections that only look silent.
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { statement } from '../../src/db/client.ts';
import { openDatabase, type Database } from '../../src/db/connections/database.ts';
import { guardAll, startWatchdog } from '../../src/db/connections/watchdog.ts';
import { poolToPrimary } from '../../src/db/wire/primary-client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { TEST_WIRE } from '../support/wire.ts';

const ECHO = statement<{ value: string }>('test.watchdog.echo', 'select $1::text as value');
const SLEEP = statement<{ slept: string }>(
  'test.watchdog.sleep',
  'select pg_sleep($1)::text as slept',
);
/** All statements share one connection. */
const POOL_MAX = 4;

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
  return () => database.drop();
});
afterEach(() => {
  vi.useRealTimers();
});

function open(answerTimeoutMs: number, url = database.url): Database {
  const options = { url, poolMax: POOL_MAX, answerTimeoutMs, onError: () => undefined };
  const db = openDatabase({ wire: TEST_WIRE, ...options });
  onTestFinished(() => db.close());
  return db;
}

/** How a statement ended: its problem's code or `answered`, and after what time. */
interface Outcome {
  readonly end: string;
  readonly ms: number;
}

async function outcomeOf(work: Promise<unknown>): Promise<Outcome> {
  const sentAt = performance.now();
  const end = await work.then(
    () => 'answered',
    (error: Error & { code?: string }) => error.code ?? error.message,
  );
  return { end, ms: performance.now() - sentAt };
}

/** Stops the event loop. */
function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('a statement of a library is cut off, however it was asked', async () => {
  const proxy = await startPostgresProxy(database.url);
  onTestFinished(() => proxy.stop());
  const watchdog = startWatchdog(2_000);
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
  const [byClient, byPool] = await Promise.allSettled([
    one.query('select 1'),
    pool.query('select 1'),
  ]);
  one.release(true);
  expect([byClient.status, byPool.status]).toEqual(['rejected', 'rejected']);
});

describe('a silent database', () => {
  const LIMIT_MS = 2_000;
  /** The limit, and a tick. */
  const LATEST_MS = LIMIT_MS * 1.1;
  const PAUSE_MS = 100;

  test('is unavailable for each statement in time, while new ones keep arriving', async () => {
    const proxy = await startPostgresProxy(database.url);
    onTestFinished(() => proxy.stop());
    const db = open(LIMIT_MS, proxy.url);
    // Opens both connections. A new one would fail by the time limit of connecting.
    await db.transaction((tx) => Promise.all([tx.query(ECHO, ['']), db.query(ECHO, [''])]));
    proxy.fallSilent();
    /** How much later than they should the timers of this process fire: the machine is busy. */
    let lateMs = 0;
    let firedAt = performance.now();
    const measure = (): void => {
      const now = performance.now();
      lateMs = Math.max(lateMs, now - firedAt - PAUSE_MS);
      firedAt = now;
    };
    const measuring = setInterval(measure, PAUSE_MS);
    onTestFinished(() => clearInterval(measuring));
    const ends: Promise<Outcome>[] = [];
    const transaction = outcomeOf(
      db.transaction(async (tx) => {
        ends.push(outcomeOf(tx.query(ECHO, ['first'])));
        for (let n = 0; n < 40; n++) {
          tx.send(ECHO, ['in a transaction']);
          await delay(PAUSE_MS);
        }
      }),
    );
    for (let n = 0; n < 40; n++) {
      ends.push(outcomeOf(db.query(ECHO, ['alone'])));
      await delay(PAUSE_MS);
    }
    const outcomes = await Promise.all(ends);
    measure();
    expect(new Set(outcomes.map(({ end }) => end))).toEqual(new Set(['unavailable']));
    expect(Math.max(...outcomes.map(({ ms }) => ms))).toBeLessThan(LATEST_MS + 1_000 + 10 * lateMs);
    expect(outcomes[0]?.ms).toBeGreaterThan(LIMIT_MS - 50);
    expect((await transaction).end).toBe('unavailable');
  });

  test.each([
    ['asks about its session', 'pg_backend_pid', (db: Database) => db],
    [
      'limits its statements',
      'set statement_timeout',
      (db: Database) => db.forCaller({ share: 'a team' }),
    ],
  ])('does not keep a new connection that %s', async (_title, question, as) => {
    const proxy = await startPostgresProxy(database.url);
    onTestFinished(() => proxy.stop());
    const db = as(open(LIMIT_MS, proxy.url));
    void proxy.fallSilentAt(question);
    expect((await outcomeOf(db.query(ECHO, ['silent']))).end).toBe('unavailable');
    proxy.recover();
    expect((await outcomeOf(db.query(ECHO, ['heard']))).end).toBe('answered');
  });

  test('is given the whole limit, and a tenth of it at most', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const db = open(1_000);
    await db.query(ECHO, ['before']);
    let isOver = false;
    const silent = outcomeOf(db.query(SLEEP, [60])).finally(() => {
      isOver = true;
    });
    const next = outcomeOf(db.query(ECHO, ['behind it']));
    await delay(10);
    vi.advanceTimersByTime(1_000);
    await delay(100);
    expect(isOver).toBe(false);
    vi.advanceTimersByTime(100);
    expect([(await silent).end, (await next).end]).toEqual(['unavailable', 'unavailable']);
  });
});

describe('a healthy connection', () => {
  test('survives a stall of our own event loop', async () => {
    const db = open(2_000);
    await db.query(ECHO, ['before']);
    const pending = [outcomeOf(db.query(SLEEP, [0.1])), outcomeOf(db.query(ECHO, ['behind']))];
    await delay(20);
    stall(4_000);
    const ends = (await Promise.all(pending)).map(({ end }) => end);
    expect(ends).toEqual(['answered', 'answered']);
  });

  test('is read before it is judged, if a stall begins just before the limit', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const db = open(1_000);
    await db.query(ECHO, ['before']);
    const pending = outcomeOf(db.query(SLEEP, [0.2]));
    await delay(10);
    vi.advanceTimersByTime(1_000);
    // Meanwhile Postgres answers, on any machine.
    stall(3_000);
    vi.advanceTimersByTime(100);
    expect((await pending).end).toBe('answered');
  });

  test('is not cut while it answers, however long the last statement waits', async () => {
    const db = open(2_000);
    await db.query(ECHO, ['before']);
    const slow = Array.from({ length: 7 }, () => outcomeOf(db.query(SLEEP, [0.4])));
    const quick = outcomeOf(db.query(ECHO, ['behind them']));
    const outcomes = await Promise.all([...slow, quick]);
    expect(outcomes.map(({ end }) => end)).toEqual(Array(8).fill('answered'));
    expect(outcomes[7]?.ms).toBeGreaterThan(2_700);
  });
});
