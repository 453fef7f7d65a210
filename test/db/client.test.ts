import { beforeAll, describe, expect, test } from 'vitest';
import type { ProblemError } from '../../src/core/problem.ts';
import { statement, type Tx } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { openTestDatabase } from '../support/wire.ts';
import { wholePrisma } from '../support/whole-prisma.ts';

/** The field with the constraint is empty if the row is in a shard. */
const TEAM_ID_CHECK = expect.stringContaining('violates check constraint "team_id_check"');
const POOL_MAX = 16;
/** How many of them carry the statements of all requests, and how many are for transactions. */
const COMMON = 2;
const TRANSACTIONS = 9;
const PID = statement<{ pid: number }>('test.client.pid', 'select pg_backend_pid() as pid');
const SLEEP = statement<{ slept: string }>(
  'test.client.sleep',
  'select pg_sleep($1)::text as slept',
);
const LOCK = statement<{ locked: string }>(
  'test.lock',
  'select pg_advisory_xact_lock(1)::text as locked',
);
const ECHO = statement<{ value: string }>('test.client.echo', 'select $1::text as value');
const INSERT = statement(
  'test.insert',
  `insert into team (id, name, created_at) values ($1, 'x', now())`,
);

/** Finds the connections whose latest statement is one of these. */
const SLEEPING = `select from pg_stat_activity
  where datname = current_database() and state = 'active' and query like '%pg_sleep%'
    and pid <> pg_backend_pid()`;

let db: Database;
beforeAll(async () => {
  const database = await createTestDatabase();
  db = openTestDatabase({ url: database.url, poolMax: POOL_MAX });
  return async () => {
    await db.close();
    await database.drop();
  };
});

const repeat = <T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)));

describe('a statement', () => {
  test('has a unique name: a second one with that name is refused at once', () => {
    expect(() => statement('test.client.echo', 'select $1::int as value')).toThrow(
      'test.client.echo is declared twice',
    );
  });

  test('gives its first row, or null without one, to whoever asks for one', async () => {
    const count = statement<{ n: number }>('test.count', 'select generate_series($1::int, 9) as n');
    for (const asked of [db, db.forCaller({ share: null })]) {
      expect(await asked.queryFirst(count, [7])).toEqual({ n: 7 });
      expect(await asked.queryFirst(count, [10])).toBeNull();
      expect(await asked.transaction((tx) => tx.queryFirst(count, [10]))).toBeNull();
    }
  });
});

// V8 keeps it in the old generation, so it outlives minor garbage collections, and so does all that
// it knows of its request. That was a sixth of the processor time of a change.
test('what a request gets has no getter of its own', async () => {
  const tx = await db.transaction((own) => Promise.resolve(own));
  for (const made of [db.forCaller({ share: 'a' }), tx]) {
    const own = Object.values(Object.getOwnPropertyDescriptors(made));
    expect(own.filter((property) => 'get' in property)).toEqual([]);
    expect('prisma' in made).toBe(true);
  }
});

describe('statements that stand alone', () => {
  test('share a few connections, and each gets its own result', async () => {
    const pids = await repeat(100, async () => (await db.query(PID, []))[0]?.pid);
    expect(new Set(pids).size).toBe(COMMON);
    const answers = await repeat(
      200,
      async (n) => (await db.query(ECHO, [`answer ${n}`]))[0]?.value,
    );
    expect(answers).toEqual(Array.from({ length: 200 }, (_, n) => `answer ${n}`));
  });

  test('a slow one only delays those behind it on its connection', async () => {
    const holder = await db.pool.connect();
    await holder.query('select pg_advisory_lock(1)');
    let isSlow = true;
    const slow = db.query(LOCK, []).finally(() => {
      isSlow = false;
    });
    for (let n = 0; n < 20; n++) await db.query(ECHO, ['quick']);
    expect(isSlow).toBe(true);
    await holder.query('select pg_advisory_unlock(1)');
    await slow;
    holder.release();
  });

  test('a failing one does not affect the others on its connection', async () => {
    const wrong = statement('test.wrong', 'select 1 / $1::int');
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, n) =>
        n % 3 ? db.query(ECHO, ['fine']) : db.query(wrong, [0]),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(10);
    expect(await db.query(ECHO, ['still there'])).toEqual([{ value: 'still there' }]);
  });

  test('a broken connection fails its statements as unavailable, but no later ones', async () => {
    const sleeping = repeat(4, () => db.query(SLEEP, [20]).catch((error: unknown) => error));
    await until(async () => (await db.pool.query(SLEEPING)).rowCount === COMMON);
    await db.transaction((tx) =>
      tx.query(
        statement(
          'test.kill',
          `select pg_terminate_backend(pid)
           from pg_stat_activity
           where query like '%pg_sleep%' and datname = current_database()
             and pid <> pg_backend_pid()`,
        ),
        [],
      ),
    );
    for (const outcome of await sleeping)
      expect((outcome as ProblemError).code).toBe('unavailable');
    expect(await repeat(20, () => db.query(ECHO, ['back']))).toHaveLength(20);
    expect(db.pool.totalCount).toBeLessThanOrEqual(POOL_MAX);
  });

  test('keep their connections while as many transactions run as can', async () => {
    const before = await repeat(50, async () => (await db.query(PID, []))[0]?.pid);
    const inTransactions = repeat(TRANSACTIONS + 5, () =>
      db.transaction(async (tx) => {
        await tx.query(SLEEP, [0.2]);
        return (await tx.query(PID, []))[0]?.pid;
      }),
    );
    const during = await repeat(50, async () => (await db.query(PID, []))[0]?.pid);
    expect(new Set([...before, ...during]).size).toBe(COMMON);
    expect(new Set(await inTransactions).size).toBe(TRANSACTIONS);
  });

  test('are not hurt by a connection that broke while it was idle', async () => {
    await repeat(20, () => db.query(ECHO, ['x']));
    const gone = new Set(await repeat(20, async () => (await db.query(PID, []))[0]?.pid));
    let removed = 0;
    db.pool.on('remove', () => {
      removed += 1;
    });
    await db.pool.query('select pg_terminate_backend(pid, 5000) from unnest($1::int[]) as pid', [
      [...gone],
    ]);
    // The process has read the end of the connections.
    await until(() => removed === gone.size);
    expect(await repeat(20, () => db.query(ECHO, ['back']))).toHaveLength(20);
  });
});

describe('a transaction', () => {
  test('rolls back when a statement fails that was sent without waiting', async () => {
    const failed = db.transaction(async (tx) => {
      tx.send(INSERT, ['kept']);
      tx.send(INSERT, ['']);
      await tx.query(ECHO, ['not reached']).catch(() => undefined);
    });
    await expect(failed).rejects.toMatchObject({ code: '23514', message: TEAM_ID_CHECK });
    expect((await db.pool.query('select id from team')).rows).toEqual([]);
  });

  test('fails with the error of the statement that failed, not of those after it', async () => {
    const failed = db.transaction(async (tx) => {
      tx.send(INSERT, ['']);
      await tx.query(ECHO, ['refused, because the transaction is aborted']);
    });
    await expect(failed).rejects.toMatchObject({ code: '23514', message: TEAM_ID_CHECK });
  });

  test.each<[string, (tx: Tx) => Promise<unknown>]>([
    ['a statement', (tx) => tx.query(statement('test.divide', 'select 1 / $1::int'), [0])],
    ['a statement of Prisma', (tx) => wholePrisma(tx).$queryRaw`select 1 / ${0}::int`],
  ])('is not acknowledged when %s failed and its failure was swallowed', async (_what, fail) => {
    const swallowing = db.transaction(async (tx) => {
      await tx.query(INSERT, ['lost']);
      await expect(fail(tx)).rejects.toThrow('division by zero');
      return 'done';
    });
    await expect(swallowing).rejects.toThrow('division by zero');
    expect((await db.pool.query('select id from team')).rows).toEqual([]);
  });
});
