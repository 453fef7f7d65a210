// A row type is a promise about what a statement returns. Each is compared with what Postgres says
// of the statement's columns, and with what its text and the tables say about null.
import { Client, type Connection, type Submittable } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Statement } from '../../src/db/statement.ts';
import { resultColumns, type Nullness, type TableColumns } from '../checks/sql/nulls.ts';
import {
  faultsOf,
  readDeclarations,
  type Declaration,
  type DescribedColumn,
} from '../checks/sql/row-types.ts';
import { loadParser } from '../checks/tenancy.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { loadStatements, readSources, ROOT } from '../support/statement-sources.ts';
import { serviceStatements } from '../support/statements.ts';
import { VOCABULARIES } from '../support/vocabularies.ts';

const ENDED = 'only an ended member has no address (member_live_has_email_check)';

/** Columns that are not null although the text and the tables do not tell. */
const NEVER_NULL: Readonly<Record<string, string>> = {
  'crm.findDueSyncs.all queue': 'its parts are not null, and each lane has a number of queues',
  'crm.findDueSyncs.team queue': 'its parts are not null, and each lane has a number of queues',
  'team.listAdmins email': ENDED,
  'members.list email': ENDED,
  'members.find email': ENDED,
  'members.findByAddress email': ENDED,
  'members.findTarget email': ENDED,
  'members.findForResend email': ENDED,
  'members.findInvitation email': ENDED,
  'webhooks.findPauseMail email': ENDED,
  'assignments.readRecipients email': ENDED,
  'assignments.readRecipient email': ENDED,
  'alerts.findRecipient email': ENDED,
  'announcements.list email': 'asked for: whoever has none is left out',
  'announcements.list member_id': 'whoever has an email has an id',
  'sandbox.findLongest user_id': 'an active member has one: member_active_has_user_check',
  'sandbox.findNewest user_id': 'the same',
  'crm.endSync is_due': 'the statement has just set it, to its parameter if to nothing else',
};

const SHOWN = 'the shape that shows it refuses any other';
const OF_CASE = 'its expression has no others';

/** Columns with no other words than their type has, although no `CHECK` tells. */
const NO_OTHER_WORDS: Readonly<Record<string, string>> = {
  'apiKeys.find state': OF_CASE,
  'apiKeys.list state': OF_CASE,
  'apiKeys.listLive state': OF_CASE,
  'trace.findKey state': OF_CASE,
  'assignments.readRecipient forbidden': OF_CASE,
  'assignments.readRecipients forbidden': OF_CASE,
  'http.authenticate key_fault': OF_CASE,
  'metrics.retries age': OF_CASE,
  'webhooks.findGrownTables name': OF_CASE,
  'crm.findConnectionLocked provider': SHOWN,
  'crm.listConnections provider': SHOWN,
};

/** These ask Citus about itself, and plain Postgres cannot describe them. */
const ONLY_ON_CITUS = new Set([
  'shards.isCoordinator',
  'shards.isDistributed',
  'shards.list',
  'shards.ofTeams',
  'teamNodes.find',
  'trace.listWorkersOfNodes',
]);

let database: TestDatabase;
let client: Client;
let tables: TableColumns;
let typeNames: ReadonlyMap<number, string>;
/** The words of a column, by the oid of its table and its number. */
let vocabularies: ReadonlyMap<string, readonly string[]>;
let declarations: readonly Declaration[];

beforeAll(async () => {
  await loadParser();
  database = await createTestDatabase();
  client = new Client(database.url);
  await client.connect();
  tables = await readTables();
  const { rows } = await client.query<{ oid: number; name: string }>(
    'select oid::int, typname::text as name from pg_type',
  );
  typeNames = new Map(rows.map(({ oid, name }) => [oid, name]));
  const { rows: columns } = await client.query<{ name: string; place: string }>(
    `select attrelid::regclass || ' ' || attname as name, attrelid::oid || ' ' || attnum as place
     from pg_attribute
     where attrelid::regclass || ' ' || attname = any ($1)`,
    [Object.keys(VOCABULARIES)],
  );
  vocabularies = new Map(columns.map(({ name, place }) => [place, VOCABULARIES[name] ?? []]));
  declarations = readDeclarations(ROOT, await loadStatements(await readSources()));
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

async function readTables(): Promise<TableColumns> {
  const { rows } = await client.query<{ name: string; columns: Record<string, boolean> }>(
    `select c.relname::text as name,
       json_object_agg(a.attname, a.attnotnull order by a.attnum) as columns
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
     group by c.oid`,
  );
  return new Map(rows.map(({ name, columns }) => [name, new Map(Object.entries(columns))]));
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
  /** Both are 0 for what is no column of a table. */
  readonly tableID: number;
  readonly columnID: number;
}

/** Asks Postgres for the names, types and words of a statement's columns. */
async function describeColumns(
  text: string,
): Promise<readonly Pick<DescribedColumn, 'name' | 'type' | 'words'>[]> {
  const done = Promise.withResolvers<readonly Field[]>();
  let fields: readonly Field[] = [];
  const description: Submittable & Record<string, unknown> = {
    submit: (connection: Connection) => {
      connection.parse({ name: '', text, types: [] }, true);
      connection.describe({ type: 'S', name: '' }, true);
      connection.sync();
    },
    handleRowDescription: (message: { fields: typeof fields }) => {
      fields = message.fields;
    },
    handleError: done.reject,
    handleReadyForQuery: () => done.resolve(fields),
  };
  client.query(description);
  return (await done.promise).map(({ name, dataTypeID, tableID, columnID }) => ({
    name,
    type: typeNames.get(dataTypeID) ?? '',
    words: tableID === 0 ? 'unknown' : (vocabularies.get(`${tableID} ${columnID}`) ?? null),
  }));
}

async function columnsOf(text: string): Promise<readonly DescribedColumn[]> {
  const described = await describeColumns(text);
  const known = resultColumns(text, tables);
  return described.map((column, place) => ({
    ...column,
    nulls: known.length === described.length ? (known[place]?.nulls ?? 'unknown') : 'unknown',
  }));
}

/** The call that has declared the statement. Of several with one beginning, the longest counts. */
function declarationOf({ name }: Statement<unknown>): Declaration {
  const fitting = declarations
    .filter(({ start, isWholeName }) => (isWholeName ? start === name : name.startsWith(start)))
    .toSorted((a, b) => b.start.length - a.start.length);
  const [first, second] = fitting;
  if (!first || first.start === second?.start)
    throw new Error(`${name} could be of ${fitting.length} declarations`);
  return first;
}

test('every row type is what its statement returns', async () => {
  const faults: string[] = [];
  for (const one of serviceStatements()) {
    if (ONLY_ON_CITUS.has(one.name)) continue;
    const { columns } = declarationOf(one);
    if (!columns) faults.push(`${one.name}: no row type`);
    // Without a row type, nobody reads the result.
    else if (columns.length > 0)
      for (const fault of faultsOf(columns, await columnsOf(one.text)))
        faults.push(`${one.name} ${fault}`);
  }
  const known = [
    ...Object.keys(NEVER_NULL).map((column) => `${column}: may be null`),
    ...Object.keys(NO_OTHER_WORDS).map((column) => `${column}: may be any text`),
  ];
  expect(faults.toSorted()).toEqual(known.toSorted());
});

test('no store casts rows that Prisma has found to another type', async () => {
  const casts = (await readSources()).filter(
    ({ fileName, text }) =>
      fileName.endsWith('store.ts') && /toRow\(\w*\) as |as Promise</.test(text),
  );
  expect(casts.map(({ fileName }) => fileName)).toEqual([]);
});

describe('a row type with', () => {
  const typed = { words: null, isNullable: false, isOptional: false };
  const UNKNOWN = { words: 'unknown' as const };
  const column = { name: 'a', type: 'text', nulls: 'never' as Nullness, words: null };
  test.each([
    ['a number for text', { kinds: ['number'] }, {}],
    ['text for a number', { kinds: ['string'] }, { type: 'int4' }],
    ['a number for a bigint, which is read as text', { kinds: ['number'] }, { type: 'int8' }],
    ['a number for a numeric', { kinds: ['number'] }, { type: 'numeric' }],
    ['a Date for a timestamp', { kinds: ['json'] }, { type: 'timestamptz' }],
    ['text for a boolean', { kinds: ['string'] }, { type: 'bool' }],
    ['text for bytes', { kinds: ['string'] }, { type: 'bytea' }],
    ['text for a list', { kinds: ['string'] }, { type: '_text' }],
    ['a list of numbers for texts', { kinds: ['number[]'] }, { type: '_text' }],
    ['no null', { kinds: ['string'] }, { nulls: 'maybe' as Nullness }],
    ['words for any text', { kinds: ['string'], words: ['open'] }, {}],
    ['words that are no whole vocabulary', { kinds: ['string'], words: ['open'] }, UNKNOWN],
    ['too few words', { kinds: ['string'], words: ['open'] }, { words: ['open', 'done'] }],
    ['a column that is not selected', { name: 'b', kinds: ['string'] }, {}],
  ])('%s is wrong', (_what, type, result) => {
    const one = { name: 'a', ...typed, ...type, kinds: new Set(type.kinds) };
    expect(faultsOf([one], [{ ...column, ...result }])).not.toEqual([]);
  });

  test('what Postgres describes is right', () => {
    const text = { name: 'a', ...typed, kinds: new Set(['string']) };
    expect(faultsOf([text], [column])).toEqual([]);
    const words = ['de', 'en'];
    expect(faultsOf([{ ...text, words }], [{ ...column, words }])).toEqual([]);
    expect(faultsOf([{ ...text, words }], [{ ...column, ...UNKNOWN }])).toEqual([]);
  });
});

describe('a column of', () => {
  const OF_MEMBER = 'from member m join team t on t.id = m.team_id';
  const cases: readonly (readonly [string, Nullness])[] = [
    [`select m.id ${OF_MEMBER}`, 'never'],
    [`select m.user_id ${OF_MEMBER}`, 'maybe'],
    [`select m.user_id ${OF_MEMBER} where m.user_id is not null`, 'never'],
    [`select m.user_id ${OF_MEMBER} where m.user_id = $1`, 'never'],
    [`select m.user_id ${OF_MEMBER} where m.user_id = $1 or t.id = $2`, 'maybe'],
    [`select lower(m.email) ${OF_MEMBER}`, 'maybe'],
    [`select coalesce(m.language, t.language) ${OF_MEMBER}`, 'never'],
    [`select m.email is not null ${OF_MEMBER}`, 'never'],
    [`select m.email || 'x' ${OF_MEMBER}`, 'maybe'],
    [`select case when m.email = $1 then 1 end ${OF_MEMBER}`, 'maybe'],
    [`select case when m.email = $1 then 1 else 2 end ${OF_MEMBER}`, 'never'],
    [`select count(*) ${OF_MEMBER}`, 'never'],
    [`select max(m.created_at) ${OF_MEMBER}`, 'maybe'],
    [`select max(m.created_at) ${OF_MEMBER} group by m.id`, 'never'],
    [`select exists (select ${OF_MEMBER})`, 'never'],
    [`select array(select m.email ${OF_MEMBER})`, 'never'],
    [`select (select m.id ${OF_MEMBER} limit 1)`, 'maybe'],
    [`select (select count(*) ${OF_MEMBER})`, 'never'],
    [`select (select max(m.id) ${OF_MEMBER})`, 'maybe'],
    [`select (select coalesce(max(m.id), '') ${OF_MEMBER})`, 'never'],
    [`select (select coalesce(max(m.id), '') ${OF_MEMBER} group by t.id)`, 'maybe'],
    ['select m.id from team t left join member m on m.team_id = t.id', 'maybe'],
    ['select t.id from team t right join member m on m.team_id = t.id', 'maybe'],
    ['select m.id from team t left join lateral (select id from member) m on true', 'maybe'],
    ['with m as (select email from member) select email from m', 'maybe'],
    ['select id from team union all select user_id from member', 'maybe'],
    ['update member set role = $1 returning user_id', 'maybe'],
    ['select $1::text', 'unknown'],
    ['select n.a from unnest($1::text[]) as n (a)', 'unknown'],
  ];
  test.each(cases)('%s: %s', (sql, nulls) => {
    expect(resultColumns(sql, tables).map((one) => one.nulls)).toEqual([nulls]);
  });
});
