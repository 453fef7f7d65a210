// Every text arrives as Postgres has it.
import type pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { statement } from '../../src/db/statement.ts';
import { ask } from '../../src/db/wire/ask.ts';
import { senderOn } from '../../src/db/wire/query-group.ts';
import { openTestConnection } from '../support/connection.ts';

const ECHO = statement<{ a: string | null; b: string | null; c: string | null }>(
  'test.rowTexts.echo',
  'select t.a, t.b, t.c from unnest($1::text[], $2::text[], $3::text[]) as t (a, b, c)',
);

let client: pg.PoolClient;

beforeAll(async () => {
  const connection = await openTestConnection(20_000);
  ({ client } = connection);
  return () => connection.close();
});

type Texts = readonly [string | null, string | null, string | null];

/** Sends the rows to Postgres and back, twice: the second time their columns are known. */
async function echoTwice(rows: readonly Texts[]): Promise<Texts[]> {
  const values = [0, 1, 2].map((place) => rows.map((row) => row[place]));
  const echo = () => ask(senderOn(client), { what: ECHO, values, observe: () => undefined });
  return [...(await echo()), ...(await echo())].map(({ a, b, c }) => [a, b, c]);
}

/** One of one byte in UTF-8, and those at the ends of two, three and four. */
const CHARACTERS = [
  'a',
  '\u{80}',
  'ü',
  'ÿ',
  '\u{7ff}',
  '\u{800}',
  '€',
  '\u{ffff}',
  '😀',
  '\u{10ffff}',
];

test('texts of all kinds of characters, in any column, beside nulls and empty texts', async () => {
  const texts = [
    null,
    '',
    'NULL',
    '"',
    '\\',
    '{,}',
    ...CHARACTERS.map((one) => `<${one}>`),
    ...CHARACTERS,
  ];
  const rows = texts.flatMap((a) => texts.flatMap((b) => texts.map((c): Texts => [a, b, c])));
  expect(await echoTwice(rows)).toEqual([...rows, ...rows]);
});

test('texts of every length whose bytes could be taken for characters', async () => {
  const lengths = [
    ...Array.from({ length: 600 }, (_, length) => length),
    4_088,
    0xc3a9,
    0xe282,
    0xff80,
  ];
  const rows = lengths.flatMap((length): Texts[] => [
    ['x'.repeat(length), 'é', 'end'],
    ['x'.repeat(length), null, 'end'],
    ['ü'.repeat(length), 'x'.repeat(length), '€'],
  ]);
  expect(await echoTwice(rows)).toEqual([...rows, ...rows]);
});

test('rows that arrive in many pieces', async () => {
  const long = Array.from({ length: 100_000 }, (_, place) => CHARACTERS[place % 10]).join('');
  const rows = Array.from({ length: 8 }, (): Texts => [long, `${'x'.repeat(99_999)}ü`, null]);
  expect(await echoTwice(rows)).toEqual([...rows, ...rows]);
});

const BYTES = statement<{ hex: string | null }>(
  'test.rowTexts.bytes',
  `select encode(bytes, 'hex') as hex from unnest(array[$1::bytea] || $2::bytea[]) bytes`,
);
const OTHERS = statement(
  'test.rowTexts.others',
  `select $1::int as number, $2::boolean as flag, $3::jsonb as data, $4::timestamptz as at,
     $5::int[] as nested, $6::text as nothing`,
);

test('values of every kind arrive as they were sent', async () => {
  const observe = (): void => undefined;
  const send = senderOn(client);
  const bytes = [Buffer.from('a"\\'), new Uint8Array([0, 255]).subarray(1), null];
  const hex = await ask(send, { what: BYTES, values: [bytes[0], bytes], observe });
  expect(hex.map((row) => row.hex)).toEqual(['61225c', '61225c', 'ff', null]);
  const values = [
    1,
    true,
    { a: ['ü', null] },
    new Date(1_600),
    [
      [1, null],
      [2, 3],
    ],
    undefined,
  ];
  expect(await ask(send, { what: OTHERS, values, observe })).toEqual([
    {
      number: 1,
      flag: true,
      data: { a: ['ü', null] },
      at: '1970-01-01T00:00:01.600Z',
      nested: [
        [1, null],
        [2, 3],
      ],
      nothing: null,
    },
  ]);
});
