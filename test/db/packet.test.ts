// The statements of a transaction that travel together: one answer for all, and nothing of them
// after an error.
import type { EventEmitter } from 'node:events';
import type pg from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { openPackets, type Packets } from '../../src/db/packet.ts';
import { streamOf } from '../../src/db/primary-client.ts';
import { ask, statement, type Statement } from '../../src/db/statement.ts';
import { startWatchdog } from '../../src/db/watchdog.ts';
import { openTestConnection } from '../support/connection.ts';

const BEGIN = statement('packet.begin', 'begin');
const COMMIT = statement('packet.commit', 'commit');
const WRITE = statement('packet.write', 'insert into written (n, data) values ($1, $2::jsonb)');
const READ = statement<{ n: number }>('packet.read', 'select n from written order by n');

const watchdog = startWatchdog(5_000);
afterAll(() => watchdog.stop());

let client: pg.PoolClient;
let packets: Packets;
let answers = 0;

const observe = (): void => undefined;
const add = async <Row>(what: Statement<Row>, values: readonly unknown[] = []): Promise<Row[]> =>
  (await packets.add({ what, values, observe })).rows;
const askAlone = <Row>(what: Statement<Row>, values: readonly unknown[] = []): Promise<Row[]> =>
  ask(client, { what, values, observe });
/** Sends what was added. Resolves with the rows of each statement, or the code of its error. */
const send = (results: readonly Promise<unknown>[]): Promise<unknown[]> => {
  packets.send();
  return Promise.all(
    results.map((result) => result.catch((error: { code?: string }) => error.code ?? error)),
  );
};
const written = async (): Promise<number[]> => (await askAlone(READ)).map(({ n }) => n);
/** Cannot become JSON. */
const unsendable = (): object => {
  const circle: { self?: object } = {};
  circle.self = circle;
  return circle;
};

beforeEach(async () => {
  const connection = await openTestConnection(5_000);
  ({ client } = connection);
  packets = openPackets(client, watchdog);
  await client.query('create table written (n int primary key, data jsonb)');
  (client as unknown as { connection: EventEmitter }).connection.on('readyForQuery', () => {
    answers += 1;
  });
  answers = 0;
  return () => connection.close();
});

describe('statements that the connection has executed before', () => {
  beforeEach(async () => {
    await askAlone(BEGIN);
    await askAlone(WRITE, [0, {}]);
    await askAlone(READ);
    await askAlone(COMMIT);
    await client.query('truncate written');
    answers = 0;
  });

  test('have one answer', async () => {
    const results = [add(BEGIN), add(WRITE, [1, {}]), add(READ), add(WRITE, [2, {}]), add(COMMIT)];
    expect(await send(results)).toEqual([[], [], [{ n: 1 }], [], []]);
    expect(answers).toBe(1);
    expect(await written()).toEqual([1, 2]);
  });

  test('are not executed after an error, and can be executed again', async () => {
    const results = [
      add(BEGIN),
      add(READ),
      add(WRITE, [1, {}]),
      add(WRITE, [1, {}]),
      add(WRITE, [2, {}]),
      add(COMMIT),
    ];
    expect(await send(results)).toEqual([[], [], [], '23505', '25P02', '25P02']);
    await client.query('rollback');
    expect(await written()).toEqual([]);
    expect(await send([add(BEGIN), add(WRITE, [3, {}]), add(COMMIT)])).toEqual([[], [], []]);
    expect(await written()).toEqual([3]);
  });

  test('are not executed after one whose values cannot be sent', async () => {
    const results = [add(BEGIN), add(WRITE, [1, {}]), add(WRITE, [2, unsendable()]), add(COMMIT)];
    expect(await send(results)).toEqual([[], [], expect.any(TypeError), '25P02']);
    await client.query('rollback');
    expect(await written()).toEqual([]);
    expect(await send([add(BEGIN), add(WRITE, [3, {}]), add(COMMIT)])).toEqual([[], [], []]);
    expect(await written()).toEqual([3]);
  });

  test('all fail when the connection breaks', async () => {
    const results = [add(BEGIN), add(WRITE, [1, {}]), add(COMMIT)];
    const outcomes = Promise.allSettled(results);
    client.on('error', () => undefined);
    packets.send();
    streamOf(client).destroy();
    for (const outcome of await outcomes)
      expect(outcome).toMatchObject({ reason: { code: 'unavailable' } });
  });
});

describe('a statement that the connection has not executed before', () => {
  test('has an answer of its own, and may be sent twice in a packet', async () => {
    const results = [add(BEGIN), add(WRITE, [1, {}]), add(WRITE, [2, {}]), add(READ), add(COMMIT)];
    expect(await send(results)).toEqual([[], [], [], [{ n: 1 }, { n: 2 }], []]);
    expect(answers).toBe(5);
    expect(await written()).toEqual([1, 2]);
  });

  test('is prepared although an earlier one has failed', async () => {
    await askAlone(WRITE, [0, {}]);
    const results = [add(BEGIN), add(WRITE, [0, {}]), add(READ), add(COMMIT)];
    expect(await send(results)).toEqual([[], '23505', '25P02', []]);
    expect(await written()).toEqual([0]);
  });

  test('and those after it are not executed if its values cannot be sent', async () => {
    await askAlone(BEGIN);
    await askAlone(COMMIT);
    const results = [add(BEGIN), add(WRITE, [2, unsendable()]), add(COMMIT)];
    expect(await send(results)).toEqual([[], expect.any(TypeError), '25P02']);
    await client.query('rollback');
    expect(await written()).toEqual([]);
  });
});
