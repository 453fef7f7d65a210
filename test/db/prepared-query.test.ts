// A prepared statement on one connection: its columns are described once, and its rows stay right.
import type { EventEmitter } from 'node:events';
import type pg from 'pg';
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { statement, type Statement } from '../../src/db/statement.ts';
import { ask } from '../../src/db/wire/ask.ts';
import { senderOn } from '../../src/db/wire/query-group.ts';
import { openTestConnection } from '../support/connection.ts';

interface Kinds {
  readonly text: string;
  readonly number: number;
  readonly at: string;
  readonly nothing: null;
  readonly data: object;
}
const KINDS = statement<Kinds>(
  'test.prepared.kinds',
  `select $1::text as text, n as number, '2026-01-02 03:04:05.6+00'::timestamptz as at,
     null as nothing, '{"a":[1]}'::jsonb as data
   from generate_series(1, $2::int) n`,
);
const WRITE = statement('test.prepared.write', `update team set name = name where id = $1`);
const DIVIDE = statement<{ result: number }>(
  'test.prepared.divide',
  'select 6 / $1::int as result',
);
const QUOTED = statement(
  'test.prepared.quoted',
  `select 1 as "it's ""quoted"" \\ \n\u2028", 'x' as "a}) + (b"`,
);
const SAME_NAMES = ['int', 'text', 'bool', 'json', 'text[]'].map((type) =>
  statement(`test.prepared.same.${type}`, `select a::${type} from (select $1::text as a) t`),
);
const BY_POSITION = statement('test.prepared.byPosition', 'select * from by_position');
const POOLED = statement('test.prepared.pooled', 'select * from pooled');
const AT = statement<{ at: string }>('test.prepared.at', 'select $1::timestamptz as at');

let client: pg.PoolClient;
let described = 0;

beforeAll(async () => {
  const connection = await openTestConnection(5_000);
  ({ client } = connection);
  (client as unknown as { connection: EventEmitter }).connection.on('rowDescription', () => {
    described += 1;
  });
  return () => connection.close();
});
beforeEach(() => {
  described = 0;
});

const run = <Row>(what: Statement<Row>, values: readonly unknown[], on = client): Promise<Row[]> =>
  ask(senderOn(on), { what, values, observe: () => undefined });
const row = (number: number, text: string | null = 'x') => ({
  text,
  number,
  at: '2026-01-02T03:04:05.600Z',
  nothing: null,
  data: { a: [1] },
});

test('the columns are described at the first execution only', async () => {
  expect(await run(KINDS, ['x', 2])).toEqual([row(1), row(2)]);
  expect(await run(KINDS, [null, 1])).toEqual([row(1, null)]);
  expect(await run(KINDS, ['x', 0])).toEqual([]);
  expect(described).toBe(1);
});

test('executions that travel together each get their own rows', async () => {
  const all = await Promise.all([
    run(DIVIDE, [3]),
    run(WRITE, ['nobody']),
    run(KINDS, ['y', 1]),
    run(DIVIDE, [2]),
    run(WRITE, ['nobody']),
  ]);
  expect(all).toEqual([[{ result: 2 }], [], [row(1, 'y')], [{ result: 3 }], []]);
});

test('columns may have names that need quotes', async () => {
  const expected = [{ 'it\'s "quoted" \\ \n\u2028': 1, 'a}) + (b': 'x' }];
  expect(await run(QUOTED, [])).toEqual(expected);
  expect(await run(QUOTED, [])).toEqual(expected);
});

test('columns with the same names and other types are read by their types', async () => {
  const texts = ['1', '', 't', '{"a":null}', '{a,NULL}'];
  const expected = [1, '', true, { a: null }, ['a', null]];
  for (const [place, what] of SAME_NAMES.entries())
    for (const text of [texts[place], null])
      expect(await run(what, [text])).toEqual([{ a: text === null ? null : expected[place] }]);
});

test('an error of an execution changes nothing for the next one', async () => {
  await run(DIVIDE, [1]);
  described = 0;
  await expect(run(DIVIDE, [0])).rejects.toThrow('division by zero');
  expect(await run(DIVIDE, [6])).toEqual([{ result: 1 }]);
  expect(await run(DIVIDE, [1])).toEqual([{ result: 6 }]);
  expect(described).toBe(0);
});

test('a value that cannot be read rejects its own execution only', async () => {
  const [bad, good] = await Promise.allSettled([run(AT, ['infinity']), run(DIVIDE, [2])]);
  expect(bad).toMatchObject({ status: 'rejected', reason: { name: 'RangeError' } });
  expect(good).toMatchObject({ status: 'fulfilled', value: [{ result: 3 }] });
  expect(await run(AT, ['2026-01-02T00:00:00Z'])).toEqual([{ at: '2026-01-02T00:00:00.000Z' }]);
});

test('a result with other columns than on another connection is refused each time', async () => {
  const other = await openTestConnection(5_000);
  onTestFinished(() => other.close());
  await client.query('create table by_position as select 1 as a, 2 as b');
  await other.client.query('create table by_position as select 2 as b, 1 as a');
  expect(await run(BY_POSITION, [])).toEqual([{ a: 1, b: 2 }]);
  for (let times = 0; times < 3; times += 1)
    await expect(run(BY_POSITION, [], other.client)).rejects.toThrow('byPosition have changed');
  expect(await run(BY_POSITION, [])).toEqual([{ a: 1, b: 2 }]);
});

test('behind a pooler no row is read by the columns of another session', async () => {
  const pooled = await openTestConnection(5_000, { isPooled: true });
  onTestFinished(() => pooled.close());
  await pooled.client.query('create table pooled as select 1 as a, 2 as b');
  expect(await run(POOLED, [], pooled.client)).toEqual([{ a: 1, b: 2 }]);
  // Its next session, in which the statement is prepared after a migration.
  await pooled.client.query(
    `drop table pooled;
     create table pooled as select 2 as b, 1 as a;
     deallocate "test.prepared.pooled";
     prepare "test.prepared.pooled" as select * from pooled`,
  );
  await expect(run(POOLED, [], pooled.client)).rejects.toThrow('pooled have changed');
});
