// A transaction on the wire: its statements share a Sync with its BEGIN, so none of them is ever
// executed without it, and none after its end.
import type { EventEmitter } from 'node:events';
import type pg from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { statement, type Statement } from '../../src/db/client.ts';
import { openTransaction, type Transaction } from '../../src/db/connections/transaction.ts';
import { startWatchdog } from '../../src/db/connections/watchdog.ts';
import { ask, toQuery } from '../../src/db/wire/ask.ts';
import { breakConnection } from '../../src/db/wire/primary-client.ts';
import { senderOn } from '../../src/db/wire/query-group.ts';
import { openTestConnection } from '../support/connection.ts';

const WRITE = statement(
  'test.transaction.write',
  'insert into written (n, data) values ($1, $2::jsonb)',
);
const READ = statement<{ n: number }>('test.transaction.read', 'select n from written order by n');
const SLEEP = statement('test.transaction.sleep', 'select pg_sleep(0.05)');

const observe = (): void => undefined;
/** Cannot become JSON. */
const unsendable = (): object => {
  const circle: { self?: object } = {};
  circle.self = circle;
  return circle;
};

const watchdog = startWatchdog(5_000);
afterAll(() => watchdog.stop());

let client: pg.PoolClient;
let transaction: Transaction;
let answers = 0;

const begin = (): void => {
  transaction = openTransaction(client, { watchdog, limits: [] });
};
const add = async <Row>(what: Statement<Row>, values: readonly unknown[] = []): Promise<Row[]> =>
  (await transaction.add(() => toQuery({ what, values, observe }))).rows;
const commit = () =>
  transaction.commit({ observe, before: () => undefined, behind: () => undefined });
const askAlone = <Row>(what: Statement<Row>, values: readonly unknown[] = []): Promise<Row[]> =>
  ask(senderOn(client), { what, values, observe });
/** Resolves with the rows of each statement, or the code of its error. */
const outcomes = (results: readonly Promise<unknown>[]): Promise<unknown[]> =>
  Promise.all(
    results.map((result) => result.catch((error: { code?: string }) => error.code ?? error)),
  );
const written = async (): Promise<number[]> => (await askAlone(READ)).map(({ n }) => n);

beforeEach(async () => {
  const connection = await openTestConnection(5_000);
  ({ client } = connection);
  await client.query('create table written (n int primary key, data jsonb)');
  (client as unknown as { connection: EventEmitter }).connection.on('readyForQuery', () => {
    answers += 1;
  });
  answers = 0;
  begin();
  return () => connection.close();
});

describe.each(['new to the connection', 'known to it'])('statements that are %s', (kind) => {
  beforeEach(async () => {
    if (kind === 'new to the connection') return;
    const all = [add(WRITE, [0, {}]), add(READ), commit()];
    await outcomes(all);
    await client.query('truncate written');
    answers = 0;
    begin();
  });

  test('have one answer with BEGIN if they are sent side by side', async () => {
    const sendOne = (what: Statement<unknown>, values: readonly unknown[] = []) => {
      const result = add(what, values);
      transaction.send();
      return result;
    };
    const results = [sendOne(WRITE, [1, {}]), sendOne(READ)];
    expect(await outcomes(results)).toEqual([[], [{ n: 1 }]]);
    expect(answers).toBe(1);
    await commit();
  });

  test('have one answer, BEGIN and COMMIT included', async () => {
    const results = [add(WRITE, [1, {}]), add(READ), add(WRITE, [2, {}]), commit()];
    expect(await outcomes(results)).toEqual([[], [{ n: 1 }], [], undefined]);
    expect(answers).toBe(1);
    expect(transaction.isClean()).toBe(true);
    expect(await written()).toEqual([1, 2]);
  });

  test('are not executed after an error, and can be executed again', async () => {
    const results = [
      add(WRITE, [1, {}]),
      add(WRITE, [1, {}]),
      add(READ),
      add(WRITE, [2, {}]),
      commit(),
    ];
    expect(await outcomes(results)).toEqual([[], '23505', '25P02', '25P02', '25P02']);
    await transaction.rollback();
    expect(transaction.isClean()).toBe(true);
    expect(await written()).toEqual([]);
    begin();
    expect(await outcomes([add(WRITE, [3, {}]), add(READ), commit()])).toEqual([
      [],
      [{ n: 3 }],
      undefined,
    ]);
    expect(await written()).toEqual([3]);
  });

  test('all fail when the connection breaks', async () => {
    const results = Promise.allSettled([add(WRITE, [1, {}]), add(READ), commit()]);
    client.on('error', () => undefined);
    breakConnection(client, new Error('Connection terminated'));
    for (const outcome of await results)
      expect(outcome).toMatchObject({ reason: { code: 'unavailable' } });
    await transaction.rollback();
    expect(transaction.isClean()).toBe(false);
  });
});

test('a statement whose value cannot be sent is refused before anything is sent', async () => {
  expect(await outcomes([add(WRITE, [1, unsendable()])])).toEqual([expect.any(TypeError)]);
  await transaction.rollback();
  expect(answers).toBe(0);
  expect(transaction.isClean()).toBe(true);
});

test('what comes while BEGIN is on its way waits for its answer', async () => {
  const first = add(SLEEP);
  transaction.send();
  const second = add(WRITE, [1, {}]);
  transaction.send();
  await first;
  expect(answers).toBe(1);
  await outcomes([second, commit()]);
  expect(await written()).toEqual([1]);
});

test.each([
  ['sent with it', false],
  ['held back for it', true],
])('after a BEGIN that fails nothing is executed that was %s', async (_what, isLater) => {
  await outcomes([add(WRITE, [0, {}]), add(READ), commit()]);
  await client.query('deallocate "transactions.begin"; truncate written');
  begin();
  const results = [add(WRITE, [1, {}])];
  if (isLater) transaction.send();
  results.push(add(WRITE, [2, {}]));
  transaction.send();
  expect(await outcomes(results)).toEqual(['unavailable', 'unavailable']);
  await transaction.rollback();
  expect(transaction.isClean()).toBe(false);
  expect(await written()).toEqual([]);
});

test('a connection that is left in a transaction is not clean', async () => {
  await outcomes([add(WRITE, [1, {}]), commit()]);
  await client.query('begin');
  expect(transaction.isClean()).toBe(false);
  await client.query('rollback');
});
