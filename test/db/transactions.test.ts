// Nothing is written outside of a transaction: not when its BEGIN fails, and not after its end.
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { statement, type Tx } from '../../src/db/client.ts';
import { leaving, ProblemError } from '../../src/core/problem.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { openTestDatabase } from '../support/wire.ts';
import { wholePrisma } from '../support/whole-prisma.ts';

const WRITE = statement('test.tx.write', 'insert into written (n, data) values ($1, $2::jsonb)');
/** Finds only what is committed, or of its own transaction. */
const COPY = statement('test.tx.copy', 'insert into written (n) select n + $1 from written');
const READ = statement<{ n: number }>('test.tx.read', 'select n from written order by n');
const DOUBLE = statement('test.tx.double', 'insert into late (n) values ($1)');
const PID = statement<{ pid: number }>('test.tx.pid', 'select pg_backend_pid() as pid');
const FORGET_BEGIN = statement('test.tx.forgetBegin', 'deallocate "transactions.begin"');
const FORGET_ALL = statement('test.tx.forgetAll', 'deallocate all');
/** What a test makes of BEGIN, which has no columns either: so it lasts until it is cancelled. */
const SLOW_BEGIN = 'insert into written (n) select 9 where pg_advisory_lock(7) is null';
const SLOW_DOWN = statement('test.tx.slowDown', `prepare "transactions.begin" as ${SLOW_BEGIN}`);
/** Its row cannot be read. */
const UNREADABLE = statement<{ at: string }>(
  'test.tx.unreadable',
  `insert into written (n) values ($1) returning 'infinity'::timestamptz as at`,
);

/** Cannot become JSON. */
const unsendable = (): object => {
  const circle: { self?: object } = {};
  circle.self = circle;
  return circle;
};

let db: Database;
let url: string;
beforeAll(async () => {
  const database = await createTestDatabase();
  ({ url } = database);
  return () => database.drop();
});
beforeEach(async () => {
  db = openTestDatabase({ url, poolMax: 1 });
  await db.pool.query(
    'create table if not exists written (n int primary key, data jsonb); truncate written',
  );
  return () => db.close();
});

const written = async (): Promise<unknown[]> =>
  (await db.pool.query('select n from written order by n')).rows.map(({ n }) => n as number);

const BY_PRISMA = (tx: Tx) => wholePrisma(tx).$executeRaw`insert into written (n) values (1)`;
const BY_STATEMENT = (tx: Tx) => tx.query(WRITE, [1, {}]);
const BY_SENDING = async (tx: Tx) => tx.send(WRITE, [1, {}]);

describe.each<[string, (tx: Tx) => Promise<unknown>]>([
  ['a statement', BY_STATEMENT],
  ['a statement that nobody waits for', BY_SENDING],
  ['a statement of Prisma', BY_PRISMA],
])('%s', (_what, write) => {
  // Such a BEGIN fails; as the caller hangs up, it may fail because it was cancelled.
  test.each([
    ['BEGIN', FORGET_BEGIN],
    ['every statement', FORGET_ALL],
  ])('leaves nothing on a connection that has lost %s', async (_lost, forget) => {
    await db.transaction(async (tx) => {
      await write(tx);
      await tx.query(READ, []);
      await tx.query(forget, []);
    });
    await db.pool.query('truncate written');
    await expect(db.transaction(write)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await written()).toEqual([]);
    // The connection is gone.
    await db.transaction(write);
    expect(await written()).toEqual([1]);
    await expect(
      db.transaction(async (tx) => {
        await tx.query(WRITE, [2, {}]);
        throw new Error('taken back');
      }),
    ).rejects.toThrow('taken back');
    expect(await written()).toEqual([1]);
  });

  test('is refused after the end of its transaction', async () => {
    const late = Promise.withResolvers<Tx>();
    await db.transaction(async (tx) => late.resolve(tx));
    const tx = await late.promise;
    await expect(async () => write(tx)).rejects.toThrow('the transaction has ended');
    await db.transaction(async (next) => {
      await next.query(READ, []);
      await expect(async () => write(tx)).rejects.toThrow('the transaction has ended');
    });
    expect(await written()).toEqual([]);
  });
});

test('a refusal commits only if it leaves something, also in a nested transaction', async () => {
  const refuseWith = (problem: ProblemError, n: number) =>
    db.transaction((outer) =>
      outer.transaction(async (tx) => {
        tx.send(WRITE, [n, {}]);
        throw problem;
      }),
    );
  const refusal = new ProblemError('conflict');
  await expect(refuseWith(refusal, 1)).rejects.toBe(refusal);
  expect(await written()).toEqual([]);
  await expect(refuseWith(leaving(refusal), 2)).rejects.toBe(refusal);
  expect(await written()).toEqual([2]);
});

test('every other method refuses its use after the end, too', async () => {
  const late = Promise.withResolvers<Tx>();
  const failed = db.transaction(async (tx) => {
    late.resolve(tx);
    await tx.query(READ, []);
    throw new Error('taken back');
  });
  await expect(failed).rejects.toThrow('taken back');
  const tx = await late.promise;
  const ended = 'the transaction has ended';
  expect(() => tx.prisma).toThrow(ended);
  expect(() => tx.afterCommit(() => Promise.resolve())).toThrow(ended);
  expect(() => tx.send(WRITE, [1, {}])).toThrow(ended);
  await expect(tx.queryFirst(READ, [])).rejects.toThrow(ended);
  await expect(tx.transaction(() => Promise.resolve())).rejects.toThrow(ended);
});

describe('what follows its commit', () => {
  test('is done when it ends, also of a caller who hangs up meanwhile', async () => {
    const caller = new AbortController();
    await db.forCaller({ share: 'a', signal: caller.signal }).transaction(async (tx) => {
      for (const n of [10, 100])
        tx.afterCommit((later) => later.transaction(async (next) => next.send(COPY, [n])));
      tx.send(WRITE, [1, {}]);
      // COMMIT is on its way in the next turn.
      setImmediate(() => caller.abort());
    });
    expect(caller.signal.aborted).toBe(true);
    expect(await written()).toEqual([1, 11, 101, 111]);
  });

  test('is never done without one', async () => {
    const work = async (tx: Tx) => {
      tx.afterCommit(async (later) => void (await later.query(WRITE, [2, {}])));
      await tx.query(WRITE, [1, {}]);
      tx.send(WRITE, [1, {}]);
    };
    await expect(db.transaction(work)).rejects.toMatchObject({ code: '23505' });
    expect(await written()).toEqual([]);
  });
});

test('Prisma that was taken from it is refused after its end', async () => {
  const taken: ReturnType<typeof wholePrisma>[] = [];
  await db.transaction(async (tx) => void taken.push(wholePrisma(tx)));
  const write = async () => {
    for (const prisma of taken) await prisma.$executeRaw`insert into written (n) values (1)`;
  };
  await expect(write()).rejects.toThrow('the transaction has ended');
  expect(await written()).toEqual([]);
});

test('what its work does not wait for is inside of it, or refused', async () => {
  const begun: Promise<unknown>[] = [];
  await db.transaction(async (tx) => {
    await tx.query(READ, []);
    begun.push(tx.query(WRITE, [1, {}]));
    // Prisma needs a moment before it sends.
    const late = wholePrisma(tx).$executeRaw`insert into written (n) values (2)`.then((n) => n);
    late.catch(() => undefined);
    begun.push(late);
  });
  const [inside, outside] = await Promise.allSettled(begun);
  expect(inside?.status).toBe('fulfilled');
  expect(await written()).toEqual(outside?.status === 'fulfilled' ? [1, 2] : [1]);
  expect(outside).toMatchObject({ status: 'rejected' });
});

test('sends nothing more as soon as its caller has hung up', async () => {
  const caller = new AbortController();
  const refused = expect.objectContaining({ code: 'unavailable' });
  const late: unknown[] = [];
  const failed = db.forCaller({ share: null, signal: caller.signal }).transaction(async (tx) => {
    await tx.query(READ, []);
    caller.abort();
    for (const write of [BY_STATEMENT, BY_PRISMA])
      late.push(await write(tx).catch((error: unknown) => error));
    throw new Error('too late');
  });
  await expect(failed).rejects.toEqual(refused);
  expect(late).toEqual([refused, refused]);
  expect(await written()).toEqual([]);
});

test('keeps its connection if it fails before BEGIN is answered', async () => {
  const pid = () => db.transaction((tx) => tx.queryFirst(PID, []));
  const before = await pid();
  const failed = db.transaction(async (tx) => {
    tx.query(WRITE, [1, {}]).catch(() => undefined);
    throw new Error('taken back');
  });
  await expect(failed).rejects.toThrow('taken back');
  expect(await pid()).toEqual(before);
  expect(await written()).toEqual([]);
});

test('fails with the error of the statement that failed, whoever meets it', async () => {
  const failed = db.transaction(async (tx) => {
    tx.send(WRITE, [1, {}]);
    tx.send(WRITE, [1, {}]);
    await wholePrisma(tx).$executeRaw`insert into written (n) values (2)`;
  });
  await expect(failed).rejects.toMatchObject({ code: '23505' });
  expect(await written()).toEqual([]);
});

test('fails if a value cannot be sent, even if nobody waits for the statement', async () => {
  const failed = db.transaction(async (tx) => {
    tx.send(WRITE, [1, {}]);
    expect(() => tx.send(WRITE, [2, unsendable()])).toThrow(TypeError);
  });
  await expect(failed).rejects.toThrow(TypeError);
  expect(await written()).toEqual([]);
});

describe.each(['new to its connection', 'known there'])('a BEGIN that is %s', (kind) => {
  // What is sent while BEGIN runs must not run outside, nor what shares its packet.
  test.each<[string, (tx: Tx) => Promise<unknown>]>([
    ['statements', (tx) => Promise.all([1, 2].map((n) => tx.query(WRITE, [n, {}])))],
    [
      'statements that nobody waits for',
      async (tx) => {
        tx.send(WRITE, [1, {}]);
        await tx.query(READ, []);
      },
    ],
    [
      'statements of Prisma',
      (tx) =>
        Promise.all(
          [1, 2].map((n) => wholePrisma(tx).$executeRaw`insert into written (n) values (${n})`),
        ),
    ],
  ])('and is cancelled, as the caller hangs up, leaves nothing of %s', async (_what, work) => {
    const proxy = await startPostgresProxy(url);
    const behind = openTestDatabase({ url: proxy.url, poolMax: 1 });
    onTestFinished(async () => {
      await behind.close();
      await proxy.stop();
    });
    // Otherwise the first transaction's connection might be taken for single statements.
    await behind.query(READ, []);
    if (kind === 'known there')
      await behind.transaction(async (tx) => {
        await tx.query(FORGET_BEGIN, []);
        await tx.query(SLOW_DOWN, []);
      });
    else proxy.prepareInstead('transactions.begin', SLOW_BEGIN);
    await holdLock({ databaseUrl: url }, 'select pg_advisory_xact_lock(7)');
    const calling = new AbortController();
    const caller = behind.forCaller({ share: 'a', signal: calling.signal });
    const outcome = caller.transaction(work).catch((error: unknown) => error);
    await untilWaiting({ db }, 1, `%${SLOW_BEGIN}%`);
    calling.abort();
    expect(await outcome).toMatchObject({
      code: 'unavailable',
      cause: { message: 'the caller has hung up' },
    });
    expect(await written()).toEqual([]);
  });
});

describe.each(['first', 'second'])('a row that cannot be read, at the %s execution', (which) => {
  beforeEach(async () => {
    if (which === 'first') return;
    await db.transaction(async (tx) => tx.send(UNREADABLE, [0]));
    await db.pool.query('truncate written');
  });

  test('takes its transaction back', async () => {
    const failed = db.transaction(async (tx) => tx.query(UNREADABLE, [1]));
    await expect(failed).rejects.toThrow(RangeError);
    expect(await written()).toEqual([]);
  });

  test('is no error if nobody reads it, for it would come with the commit', async () => {
    await db.transaction(async (tx) => tx.send(UNREADABLE, [1]));
    expect(await written()).toEqual([1]);
  });

  test('takes its transaction back, even if its error is swallowed', async () => {
    const failed = db.transaction(async (tx) => {
      await tx.query(UNREADABLE, [1]).catch(() => undefined);
    });
    await expect(failed).rejects.toThrow(RangeError);
    expect(await written()).toEqual([]);
  });
});

// The statement itself succeeds: Postgres looks for doubles at the commit.
test.each(['straight', 'behind a pooler'])(
  'what its commit refuses has failed, %s',
  async (way) => {
    await db.pool.query(
      `create table if not exists late (n int unique deferrable initially deferred);
     truncate late; insert into late values (1)`,
    );
    const refused = way === 'straight' ? undefined : 'statement_timeout';
    const proxy = await startPostgresProxy(url, refused === undefined ? {} : { refused });
    const asked = openTestDatabase({ url: proxy.url, poolMax: 1 });
    onTestFinished(async () => {
      await asked.close();
      await proxy.stop();
    });
    const doubled = { code: '23505' };
    await expect(asked.query(DOUBLE, [1])).rejects.toMatchObject(doubled);
    await expect(asked.transaction((tx) => tx.query(DOUBLE, [1]))).rejects.toMatchObject(doubled);
    await expect(asked.transaction(async (tx) => tx.send(DOUBLE, [1]))).rejects.toMatchObject(
      doubled,
    );
    await asked.query(DOUBLE, [2]);
    expect((await db.pool.query('select n from late order by n')).rows).toEqual([
      { n: 1 },
      { n: 2 },
    ]);
  },
);
