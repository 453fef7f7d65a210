// Nothing is written outside of a transaction: not when its BEGIN fails, and not after its end.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase, statement, type Database, type Tx } from '../../src/db/client.ts';
import { createTestDatabase } from '../support/database.ts';

const WRITE = statement('tx.write', 'insert into written (n, data) values ($1, $2::jsonb)');
const READ = statement<{ n: number }>('tx.read', 'select n from written order by n');
const FORGET_BEGIN = statement('tx.forgetBegin', 'deallocate "transactions.begin"');
const FORGET_ALL = statement('tx.forgetAll', 'deallocate all');

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
  db = openDatabase({ url, poolMax: 1, onError: () => undefined });
  await db.pool.query(
    'create table if not exists written (n int primary key, data jsonb); truncate written',
  );
  return () => db.close();
});

const written = async (): Promise<unknown[]> =>
  (await db.pool.query('select n from written order by n')).rows.map(({ n }) => n as number);

const BY_PRISMA = (tx: Tx) => tx.prisma.$executeRaw`insert into written (n) values (1)`;
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
  expect(() => tx.wakeAfterCommit('jobs')).toThrow(ended);
  expect(() => tx.send(WRITE, [1, {}])).toThrow(ended);
  await expect(tx.queryFirst(READ, [])).rejects.toThrow(ended);
  await expect(tx.transaction(() => Promise.resolve())).rejects.toThrow(ended);
});

test('Prisma that was taken from it is refused after its end', async () => {
  const taken: Tx['prisma'][] = [];
  await db.transaction(async (tx) => void taken.push(tx.prisma));
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
    const late = tx.prisma.$executeRaw`insert into written (n) values (2)`.then((n) => n);
    late.catch(() => undefined);
    begun.push(late);
  });
  const [inside, outside] = await Promise.allSettled(begun);
  expect(inside?.status).toBe('fulfilled');
  expect(await written()).toEqual(outside?.status === 'fulfilled' ? [1, 2] : [1]);
  expect(outside).toMatchObject({ status: 'rejected' });
});

test('fails with the error of the statement that failed, whoever meets it', async () => {
  const failed = db.transaction(async (tx) => {
    tx.send(WRITE, [1, {}]);
    tx.send(WRITE, [1, {}]);
    await tx.prisma.$executeRaw`insert into written (n) values (2)`;
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
