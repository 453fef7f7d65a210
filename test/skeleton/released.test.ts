// What processes of released versions call in the database. They run on while `migrate` runs, and
// after it until they are replaced, on connections that have prepared these statements.
import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { openEmptyDatabase, type OpenDatabase } from '../support/database.ts';
import { AFTER_100, migrateBefore } from '../support/migrations.ts';

interface Call {
  readonly text: string;
  readonly values: readonly unknown[];
  /** The function and what it takes and returns. A release adds those that it calls. */
  readonly name: string;
  readonly signature: string;
}

const NONCE = Buffer.alloc(16);
const SECRET_HASH = hash('sha256', 'secret', 'buffer');
const PROOF = hash('sha256', Buffer.concat([SECRET_HASH, NONCE]), 'buffer');
const NOW = new Date('2026-11-20T09:15:30Z');

const CALLS: readonly Call[] = [
  {
    text: 'select * from authenticate_request($1, $2, $3, $4, $5, $6, $7)',
    values: ['prefixone', NONCE, PROOF, '198.51.100.1', 10, 10, NOW],
    name: 'authenticate_request',
    signature:
      'p_prefix text, p_nonce bytea, p_proof bytea, p_ip text, p_key_limit integer, ' +
      'p_ip_limit integer, p_now timestamp with time zone, OUT key_id text, OUT team_id text, ' +
      'OUT scopes text, OUT creator_id text, OUT creator_role text, OUT creator_status text, ' +
      'OUT plan text, OUT team_status text, OUT language text, OUT rate_limit_per_min integer, ' +
      'OUT member_detail_enabled boolean, OUT leaderboard_enabled boolean, OUT counted boolean, ' +
      'OUT bucket_limit integer, OUT bucket_remaining integer, OUT reset_s integer',
  },
  {
    text: 'select * from begin_idempotent($1, $2, $3)',
    values: ['t', 'key', NOW],
    name: 'begin_idempotent',
    signature:
      'p_team_id text, p_key text, p_valid_from timestamp with time zone, OUT locked boolean, ' +
      'OUT fingerprint bytea, OUT status integer, OUT body bytea, OUT encrypted boolean, ' +
      'OUT location text',
  },
];

let database: OpenDatabase;
let before: unknown[];
beforeAll(async () => {
  database = await openEmptyDatabase();
  await migrateBefore(database, AFTER_100);
  await database.client.query(`
    insert into team (id, name, created_at) values ('t', 't', now());
    insert into member (team_id, id, role, status, created_at, email)
    values ('t', 'm', 'owner', 'invited', now(), 'o@t.test');
    insert into api_key (team_id, id, name, prefix, secret_hash, scopes, created_by, created_at)
    values ('t', 'key_1', 'k', 'prefixone', sha256('secret'), '{me:read}', 'm', now())`);
  before = await callAll();
  await migrate(database.url);
});
afterAll(() => database.drop());

/** Calls all functions, each by the statement of its name. */
async function callAll(): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const call of CALLS)
    answers.push((await database.client.query({ ...call, values: [...call.values] })).rows[0]);
  return answers;
}

test('processes of 1.0.0 call on, by the statements that they have prepared', async () => {
  const [authenticated, begun] = before;
  expect(authenticated).toMatchObject({ key_id: 'key_1', team_id: 't', bucket_remaining: 9 });
  expect(begun).toMatchObject({ locked: true });
  // The counter of the key has come along.
  expect(await callAll()).toEqual([{ ...(authenticated as object), bucket_remaining: 8 }, begun]);
});

// The functions come after the migrations: until then 1.0.0 looks for the prefix in all teams.
test.each(['20261125000020', 'the functions'])(
  'processes of 1.0.0 find a key by an index before %s',
  async (name) => {
    const early = await openEmptyDatabase();
    await migrateBefore(early, name);
    const { rows } = await early.client.query(
      `select i.indexrelid::regclass::text as index
       from pg_index i
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
       where i.indrelid = 'api_key'::regclass and a.attname = 'prefix' and i.indisvalid`,
    );
    expect(rows).toEqual([{ index: 'api_key_prefix_idx' }]);
    await early.drop();
  },
);

// No release has called these, but processes that run may have prepared them.
test.each<[string, unknown[], object]>([
  [
    `select key_id, team_id, counted, bucket_limit, bucket_remaining, key_fault
     from authenticate_key($1, $2, $3, $4, $5, $6, $7, $8)`,
    ['prefixone', NONCE, PROOF, '198.51.100.1', 10, 10, NOW, 't'],
    { key_fault: null },
  ],
  [
    `select key_id, team_id, counted, bucket_limit, bucket_remaining
     from authenticate_batch($1, $2, $3, $4, $5, $6, $7, $8)`,
    [['t'], ['prefixone'], [PROOF], ['198.51.100.1'], [1], NONCE, NOW, 10],
    {},
  ],
])('processes between releases call on: %s', async (text, values, more) => {
  await database.client.query('update team_counter set count = 4');
  const { rows } = await database.client.query(text, values);
  const counted = { counted: true, bucket_limit: 10, bucket_remaining: 5 };
  expect(rows).toEqual([{ key_id: 'key_1', team_id: 't', ...counted, ...more }]);
});

test('what released versions call takes and returns the same', async () => {
  const { rows } = await database.client.query(
    `select proname::text as name, pg_get_function_arguments(oid) as signature
     from pg_proc
     where proname = any ($1)
     order by name`,
    [CALLS.map(({ name }) => name)],
  );
  expect(rows).toEqual(CALLS.map(({ name, signature }) => ({ name, signature })));
});
