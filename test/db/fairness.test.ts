// What one caller of the database can do to others, and what becomes of callers who hang up.
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Queries, statement, type Db } from '../../src/db/client.ts';
import type { Database, DatabaseOptions } from '../../src/db/connections/database.ts';
import type { SlowStatement } from '../../src/db/connections/slow-statements.ts';
import { steppedClock } from '../support/clocks.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { countWaiting, holdLock, untilWaiting } from '../support/locks.ts';
import { ODD_SETTINGS, setOddly } from '../support/odd-database.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { until } from '../support/until.ts';
import { openTestDatabase } from '../support/wire.ts';
import { wholePrisma } from '../support/whole-prisma.ts';

/** As in production: 2 and 2 connections are shared, 3 are for slow statements. */
const POOL_MAX = 16;
/** A team's share of the 9 transactions. */
const SHARE = 4;
/** A team's share of what is in flight on the shared connections. */
const QUICK_SHARE = 4;

const ECHO = statement<{ value: string }>('test.fair.echo', 'select $1::text as value');
const SLEEP = statement<{ slept: string }>('test.fair.sleep', 'select pg_sleep($1)::text as slept');
/** Waits for the test, and then for `$1` seconds. */
const HELD = statement<{ locked: string; slept: string }>(
  'test.fair.held',
  `select l::text as locked, pg_sleep($1)::text as slept
   from pg_advisory_xact_lock_shared(1) l`,
);
const LIMIT = statement<{ value: string }>(
  'test.fair.limit',
  `select current_setting('statement_timeout') as value`,
);
const SESSION = statement<{ jit: string; instant: string; odd: string[] }>(
  'test.fair.session',
  `select current_setting('jit') as jit, timestamptz '2026-01-02T03:04:05Z'::text as instant,
     array(
       select name
       from unnest($1::text[], $2::text[]) set (name, value)
       where starts_with(current_setting(name), value)
     ) as odd`,
);
/** Fails as it does at a server that is read-only after a failover. */
const REFUSED = statement('test.fair.refused', 'select refuse() where $1::float8 is not null');
const LOCK = statement('test.fair.lock', 'select from team where id = $1 for no key update');
const RENAME = statement('test.fair.rename', `update team set name = $2 where id = $1`);

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  db = open();
  await db.pool.query(
    `insert into team (id, name, created_at) values ('a', 'before', now()), ('b', 'before', now())`,
  );
  return async () => {
    await db.close();
    await database.drop();
  };
});

function open(options: Partial<DatabaseOptions> = {}): Database {
  return openTestDatabase({ url: database.url, poolMax: POOL_MAX, ...options });
}

/** Lets any statement end on a shared connection, however busy the machine is. */
function openPatient(options: Partial<DatabaseOptions> = {}): Database {
  const patient = open({ quickStatementMs: 50_000, statementTimeoutMs: 60_000, ...options });
  onTestFinished(() => patient.close());
  return patient;
}

const repeat = <T>(count: number, work: () => Promise<T>): Promise<T>[] =>
  Array.from({ length: count }, work);
const valueOf = async (on: Pick<Db, 'query'>): Promise<string | undefined> =>
  (await on.query(LIMIT, []))[0]?.value;
const sessions = async (condition: string): Promise<number> =>
  (
    await db.pool.query(
      `select from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and ${condition}`,
    )
  ).rowCount ?? 0;
const sleeping = (): Promise<number> => sessions(`state = 'active' and query like '%pg_sleep%'`);
const waitingForLock = (): Promise<number> => countWaiting(db);
const nameOf = async (team: string): Promise<string> =>
  (await db.pool.query('select name from team where id = $1', [team])).rows[0].name;

describe('a slow statement', () => {
  test('is begun again with all its time, and delays no statement of another team', async () => {
    const holder = await db.pool.connect();
    await holder.query('select pg_advisory_lock(1)');
    const slow = Promise.all(repeat(3, () => db.forCaller({ share: 'slow' }).query(HELD, [0.3])));
    for (let n = 0; n < 10; n++) {
      const team = db.forCaller({ share: `quick ${n}` });
      expect(await team.query(ECHO, ['quick'])).toEqual([{ value: 'quick' }]);
    }
    // Whatever waits for the slow ones would have waited for this.
    await holder.query('select pg_advisory_unlock(1)');
    holder.release();
    expect((await slow).flat()).toEqual(Array(3).fill({ locked: '', slept: '' }));
  });

  test('of Prisma is begun again, too', async () => {
    const prisma = wholePrisma(db.forCaller({ share: 'slow, by Prisma' }));
    expect(await prisma.$queryRaw`select pg_sleep(0.3)::text as slept`).toEqual([{ slept: '' }]);
  });

  test('takes those that wait behind it away from the shared connections', async () => {
    // So many connections that the slow ones need not wait for each other.
    const patient = openPatient({ poolMax: 60 });
    const team = patient.forCaller({ share: 'behind' });
    const holder = await db.pool.connect();
    onTestFinished(() => holder.release(true));
    await holder.query('select pg_advisory_lock(1)');
    const slow = repeat(QUICK_SHARE, () => team.query(HELD, [0]));
    const behind = valueOf(team);
    // One on each of the shared connections; the others are behind these.
    await untilWaiting({ db }, 2);
    // As the server ends what takes too long there.
    const cancel = `select pg_cancel_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'
        and query like '%pg_advisory_xact_lock_shared%'`;
    await db.pool.query(cancel);
    expect(await behind).toBe('1min');
    await holder.query('select pg_advisory_unlock(1)');
    await Promise.all(slow);
    expect(await valueOf(patient.forCaller({ share: 'quick' }))).toBe('50s');
  });

  test('leaves connections for slow statements to others, however many there are', async () => {
    const calling = new AbortController();
    const team = db.forCaller({ share: 'many', signal: calling.signal });
    let settled = 0;
    const many = repeat(20, () =>
      team.query(SLEEP, [60]).catch(() => {
        settled += 1;
      }),
    );
    await db.forCaller({ share: 'another' }).query(SLEEP, [0.2]);
    expect(settled).toBe(0);
    calling.abort();
    await Promise.all(many);
    expect(settled).toBeGreaterThan(15);
  });

  test('is ended by the server after the limit', async () => {
    const hasty = open({ statementTimeoutMs: 300 });
    onTestFinished(() => hasty.close());
    const tooSlow = { code: 'unavailable', cause: { code: '57014' } };
    const team = hasty.forCaller({ share: 'a' });
    const slow = [
      team.query(SLEEP, [30]),
      hasty.query(SLEEP, [30]),
      team.transaction((tx) => tx.query(SLEEP, [30])),
    ];
    for (const { reason } of (await Promise.allSettled(slow)) as PromiseRejectedResult[])
      expect(reason).toMatchObject(tooSlow);
    expect(await sleeping()).toBe(0);
  });
});

test('a statement that ends the use of its connection leaves those behind it alone', async () => {
  await db.pool.query(
    `create function refuse() returns text language plpgsql as $$
     begin
       raise exception 'read-only' using errcode = 'read_only_sql_transaction';
     end $$`,
  );
  // Two for each connection.
  const inTurn = [REFUSED, REFUSED, SLEEP, SLEEP];
  const outcomes = await Promise.allSettled(
    inTurn.map((what, n) => db.forCaller({ share: `mixed ${n}` }).query(what, [0.05])),
  );
  expect(outcomes.map(({ status }) => status)).toEqual([
    'rejected',
    'rejected',
    'fulfilled',
    'fulfilled',
  ]);
});

describe('transactions of a team that wait for a lock', () => {
  test('leave half of the connections to others', async () => {
    const release = await holdLock(
      { databaseUrl: database.url },
      `select from team where id = 'a' for update`,
    );
    const team = db.forCaller({ share: 'a' });
    const stuck = repeat(20, () => team.transaction((tx) => tx.query(LOCK, ['a'])));
    await until(async () => (await waitingForLock()) === SHARE);
    const other = db.forCaller({ share: 'b' });
    for (let n = 0; n < 10; n++)
      await other.transaction(async (tx) => tx.send(RENAME, ['b', `name ${n}`]));
    expect(await nameOf('b')).toBe('name 9');
    expect(await waitingForLock()).toBe(SHARE);
    await release();
    await Promise.all(stuck);
  });
});

describe('a caller who hangs up', () => {
  test('has the statement cancelled; its connection goes on to serve others', async () => {
    const calling = new AbortController();
    const patient = openPatient({ statementTimeoutMs: 600_000, answerTimeoutMs: 600_000 });
    const running = patient.forCaller({ share: null, signal: calling.signal }).query(SLEEP, [300]);
    running.catch(() => undefined);
    await until(async () => (await sleeping()) === 1);
    const { rows } = await db.pool.query<{ pid: number }>(
      `select pid from pg_stat_activity
       where datname = current_database() and state = 'active' and pid <> pg_backend_pid()
         and query like '%pg_sleep($1)%'`,
    );
    calling.abort();
    await expect(running).rejects.toMatchObject({ code: 'unavailable' });
    // Neither its sleep nor its limit of time ends within the test's.
    await until(async () => (await sleeping()) === 0);
    await Promise.all(repeat(20, () => patient.forCaller({ share: null }).query(ECHO, ['x'])));
    expect(await sessions(`pid = ${rows[0]?.pid}`)).toBe(1);
  });

  test('leaves nothing of a transaction behind, and no lock', async () => {
    const release = await holdLock(
      { databaseUrl: database.url },
      `select from team where id = 'b' for update`,
    );
    const calling = new AbortController();
    const given = db.forCaller({ share: 'a', signal: calling.signal });
    const running = given.transaction(async (tx) => {
      tx.send(RENAME, ['a', 'half done']);
      await tx.query(LOCK, ['b']);
    });
    running.catch(() => undefined);
    await until(async () => (await waitingForLock()) === 1);
    calling.abort();
    await expect(running).rejects.toMatchObject({ code: 'unavailable' });
    await db.forCaller({ share: 'a' }).transaction((tx) => tx.query(LOCK, ['a']));
    expect(await nameOf('a')).toBe('before');
    await release();
  });

  test('between two statements does not commit', async () => {
    const calling = new AbortController();
    const given = db.forCaller({ share: 'a', signal: calling.signal });
    const running = given.transaction(async (tx) => {
      await tx.query(RENAME, ['a', 'half done']);
      calling.abort();
    });
    await expect(running).rejects.toMatchObject({ code: 'unavailable' });
    expect(await nameOf('a')).toBe('before');
  });
});

describe('a caller who hangs up as its work ends', () => {
  const BY_STATEMENT = (caller: Db) => caller.query(HELD, [0]);
  const BY_TRANSACTION = (caller: Db) => caller.transaction((tx) => tx.query(HELD, [0]));

  test.each([
    { what: 'a statement', work: BY_STATEMENT, isLate: false },
    { what: 'a transaction', work: BY_TRANSACTION, isLate: false },
    { what: 'a statement, even seconds later,', work: BY_STATEMENT, isLate: true },
    { what: 'a transaction, even seconds later,', work: BY_TRANSACTION, isLate: true },
  ])('by $what cancels nothing of the next caller', async ({ work, isLate }) => {
    const proxy = await startPostgresProxy(database.url);
    const clock = steppedClock(new Date());
    const behind = open({ url: proxy.url, statementTimeoutMs: 60_000, clock });
    const holder = await db.pool.connect();
    onTestFinished(async () => {
      holder.release(true);
      await behind.close();
      await proxy.stop();
    });
    const calling = new AbortController();
    const callerOf = (signal?: AbortSignal): Db =>
      behind.forCaller({ share: null, ...(signal && { signal }) });
    await holder.query('select pg_advisory_lock(1)');
    const ended = work(callerOf(calling.signal)).catch(() => undefined);
    await until(async () => (await waitingForLock()) === 1);
    const cancellation = proxy.holdCancellation();
    calling.abort();
    const cancel = await cancellation;
    await holder.query('select pg_advisory_unlock(1)');
    await holder.query('select pg_advisory_lock(1)');
    if (isLate) {
      // The service gives up waiting for an answer to the cancellation.
      clock.advance(2_000);
      await ended;
    }
    // By the end of these, the service has the result.
    for (let n = 0; n < 10; n++) await callerOf().query(ECHO, ['x']);
    // One of them gets the connection, if nobody has it any more.
    const next = Promise.allSettled(repeat(2, () => work(callerOf())));
    await until(async () => (await waitingForLock()) === 2);
    await cancel();
    await ended;
    await holder.query('select pg_advisory_unlock(1)');
    const value = [{ locked: '', slept: '' }];
    expect(await next).toEqual(Array(2).fill({ status: 'fulfilled', value }));
  });
});

describe('the limit on a statement', () => {
  test('is shorter where statements of several teams follow each other', async () => {
    const patient = openPatient();
    const team = patient.forCaller({ share: 'c' });
    expect(await valueOf(team)).toBe('50s');
    expect(await valueOf(patient)).toBe('1min');
    expect(await team.transaction(valueOf)).toBe('1min');
  });

  test('is 150 ms where nothing else is said, unless the machine was slower', async () => {
    const usual = open();
    const limits: unknown[] = [];
    for (let number = 0; number < 20; number += 1)
      limits.push(await valueOf(usual.forCaller({ share: `usual ${number}` })));
    expect(limits).toContain('150ms');
  });

  test('is the same for statements of Prisma', async () => {
    const read = async (asked: Pick<Db, 'prisma'>): Promise<unknown> =>
      wholePrisma(asked).$queryRaw`select current_setting('statement_timeout') as value`;
    const patient = openPatient();
    const team = patient.forCaller({ share: 'c' });
    expect(await read(team)).toEqual([{ value: '50s' }]);
    expect(await read(patient)).toEqual([{ value: '1min' }]);
    expect(await team.transaction(read)).toEqual([{ value: '1min' }]);
  });

  test('holds behind a pooler that refuses the parameters of a session', async () => {
    const proxy = await startPostgresProxy(database.url, { refused: 'statement_timeout' });
    onTestFinished(() => proxy.stop());
    const pooled = openPatient({ url: proxy.url });
    const team = pooled.forCaller({ share: 'c' });
    expect(await valueOf(team)).toBe('50s');
    expect(await valueOf(pooled)).toBe('1min');
    expect(await team.transaction(valueOf)).toBe('1min');
    expect((await pooled.pool.query('show statement_timeout')).rows).toEqual([
      { statement_timeout: '0' },
    ]);
    const quick = open({ url: proxy.url, quickStatementMs: 100 });
    onTestFinished(() => quick.close());
    // It is begun again.
    await quick.forCaller({ share: 'c' }).query(SLEEP, [0.2]);
    await team.query(RENAME, ['a', 'behind a pooler']);
    expect(await nameOf('a')).toBe('behind a pooler');
    await expect(
      pooled.query(statement('test.fair.wrong', 'select 1 / $1::int'), [0]),
    ).rejects.toThrow('division by zero');
    await until(async () => (await sessions(`state like 'idle in transaction%'`)) === 0);
  });
});

test.each(['statement_timeout', 'options'])(
  'a session has none of the settings of its database, also behind a pooler that refuses %s',
  async (refused) => {
    const odd = { ...ODD_SETTINGS, lock_timeout: '5ms', statement_timeout: '4s' };
    const own = await createTestDatabase();
    await setOddly(own.url, odd);
    const proxy = await startPostgresProxy(own.url, { refused });
    const pooled = open({ url: proxy.url });
    onTestFinished(async () => {
      await Promise.all([pooled.close(), straight.close()]);
      await proxy.stop();
      await own.drop();
    });
    const straight = open({ url: own.url });
    const read = (asked: Queries) => asked.query(SESSION, [Object.keys(odd), Object.values(odd)]);
    for (const each of [straight, pooled]) {
      const session = [{ jit: 'off', instant: '2026-01-02 03:04:05+00', odd: [] }];
      expect(await read(each)).toEqual(session);
      expect(await read(each.forCaller({ share: 'c' }))).toEqual(session);
      expect(await each.transaction(read)).toEqual(session);
    }
  },
);

test('tells how much waits for its turn, by kind', async () => {
  const busy = open();
  onTestFinished(() => busy.close());
  const release = await holdLock(
    { databaseUrl: database.url },
    `${LOCK.text.replace('$1', `'a'`)}`,
  );
  const rename = () =>
    busy
      .forCaller({ share: 'a' })
      .transaction(async (tx) => void (await tx.query(RENAME, ['a', 'again'])));
  const renamed = repeat(SHARE + 3, rename);
  await until(async () => (await waitingForLock()) === SHARE);
  expect(busy.waiting()).toEqual({ statements: 0, slowStatements: 0, transactions: 3 });
  await release();
  await Promise.all(renamed);
  expect(busy.waiting().transactions).toBe(0);
});

test.each([
  ['statements', 0.05, { quickStatementMs: 60_000 }],
  ['slowStatements', 60, {}],
] as const)('tells how many %s wait, and nothing else', async (kind, seconds, options) => {
  const busy = open(options);
  const calling = new AbortController();
  const team = busy.forCaller({ share: 'a', signal: calling.signal });
  const many = repeat(20, () => team.query(SLEEP, [seconds]).catch(() => undefined));
  const none = { statements: 0, slowStatements: 0, transactions: 0 };
  await until(() => {
    const { [kind]: waiting, ...others } = busy.waiting();
    return waiting > 0 && Object.values(others).every((other) => other === 0);
  });
  calling.abort();
  await Promise.all(many);
  expect(busy.waiting()).toEqual(none);
  await busy.close();
});

test('reports slow statements by name and team, each name once a second', async () => {
  const clock = steppedClock(new Date());
  const reports: SlowStatement[] = [];
  const onSlow = (slow: SlowStatement) => reports.push(slow);
  const watched = openPatient({ slowStatementMs: 20, onSlow, clock });
  const ofA = watched.forCaller({ share: 'a' });
  const sleep = (on: Pick<Db, 'query'>) => on.query(SLEEP, [0.05]);
  const ofSleep = () => reports.filter(({ statement: name }) => name === SLEEP.name);
  await sleep(ofA);
  expect(ofSleep()).toMatchObject([{ share: 'a', count: 1 }]);
  expect(ofSleep()[0]?.ms).toBeGreaterThanOrEqual(50);
  await ofA.transaction(sleep);
  clock.advance(999);
  await sleep(ofA);
  expect(ofSleep()).toHaveLength(1);
  clock.advance(1);
  await sleep(watched);
  // Each one since the first report is counted.
  expect(ofSleep()[1]).toMatchObject({ share: null, count: 3 });
});

test('reports no quick statement', async () => {
  const reports: SlowStatement[] = [];
  const watched = openPatient({ slowStatementMs: 60_000, onSlow: (slow) => reports.push(slow) });
  await watched.forCaller({ share: 'a' }).query(ECHO, ['quick']);
  expect(reports).toEqual([]);
});

test('tells a trace of its own statements only, and of an error its code only', async () => {
  const steps: unknown[] = [];
  const times: number[] = [];
  const step = (name: string, sentAt: number, code: string | null): void => {
    times.push(sentAt);
    steps.push([name, code]);
  };
  const watched = open({});
  onTestFinished(() => watched.close());
  const traced = watched.forCaller({ share: 'a', trace: { step, event: () => '' } });
  const other = watched.forCaller({ share: 'a' });
  await Promise.all([traced.query(ECHO, ['secret']), other.query(SLEEP, [0])]);
  await expect(traced.query(SLEEP, ['no number'])).rejects.toThrow('invalid input syntax');
  await traced.transaction(async (tx) => {
    tx.send(ECHO, ['secret']);
    await tx.prisma.team.findMany({ where: { id: 'secret' } });
  });
  expect(steps).toEqual([
    [ECHO.name, null],
    [SLEEP.name, '22P02'],
    [ECHO.name, null],
    ['prisma.select', null],
    ['transactions.commit', null],
  ]);
  expect(Math.min(...times)).toBeGreaterThan(0);
});
