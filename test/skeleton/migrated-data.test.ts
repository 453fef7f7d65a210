// What migrations do to the rows of the version before, and what its processes may still write
// while they run on.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { removalJob } from '../../src/features/webhook-deliveries/jobs.ts';
import { openEmptyDatabase, type OpenDatabase } from '../support/database.ts';
import { AFTER_100, migrateBefore } from '../support/migrations.ts';

let database: OpenDatabase;

beforeEach(async () => {
  database = await openEmptyDatabase();
});

afterEach(async () => {
  await database.drop();
});

const migrateTo100 = () => migrateBefore(database, AFTER_100);

/** Adds a team with an event and these webhook endpoints, as 1.0.0 has them. */
async function addEndpoints(ids: readonly string[]): Promise<void> {
  await database.client.query(`
    insert into team (id, name, created_at) values ('t', 't', now());
    insert into event (team_id, id, type, data, created_at)
    values ('t', 'evt_1', 'member.joined', '{}', now())`);
  await database.client.query(
    `insert into webhook_endpoint
       (team_id, id, url, events, api_version, secret_encrypted, created_at)
     select 't', id, 'https://example.com', '{member.joined}', '2026-11', 'x', now()
     from unnest($1::text[]) as id`,
    [ids],
  );
}

test('an evaluation of the version before counts as stored when it was saved', async () => {
  await migrateTo100();
  await database.client.query(`
    insert into team (id, name, created_at) values ('t', 't', now());
    insert into person (team_id, id) values ('t', 'usr');
    insert into training (team_id, id, user_id, status, created_at)
    select 't', id, 'usr', 'scored', now()
    from unnest(array['old', 'late']) as id;
    insert into evaluation (team_id, training_id, saved_at)
    values ('t', 'old', '2026-01-02T03:04:05.678Z')`);
  await migrate(database.url);
  await database.client.query(
    `insert into evaluation (team_id, training_id, saved_at) values ('t', 'late', '2020-01-01')`,
  );
  const { rows } = await database.client.query(
    `select training_id, stored_at = saved_at as was_at_once,
       stored_at > now() - interval '1 hour' as is_new
     from evaluation
     order by training_id`,
  );
  expect(rows).toEqual([
    { training_id: 'late', was_at_once: false, is_new: true },
    { training_id: 'old', was_at_once: true, is_new: false },
  ]);
});

test('an objection of the version before has the connection of its deal', async () => {
  await migrateTo100();
  await database.client.query(`
    insert into team (id, name, created_at) values ('t', 't', now());
    insert into crm_connection (team_id, id, provider, created_at)
    values ('t', 'one', 'hubspot', now()), ('t', 'two', 'hubspot', now());
    insert into crm_deal (team_id, id, connection_id, external_id, outcome, created_at)
    select 't', 'deal_' || id, id, 'x', 'open', now()
    from crm_connection`);
  const add = (id: string, deal: string): Promise<unknown> =>
    database.client.query(
      `insert into crm_objection (team_id, id, deal_id, category, text, lang, created_at)
       values ('t', $1, $2, 'price', 'too dear', 'en', now())`,
      [id, deal],
    );
  await add('old', 'deal_two');
  await migrate(database.url);
  await add('late', 'deal_one');
  const { rows } = await database.client.query(
    'select id, connection_id from crm_objection order by id',
  );
  expect(rows).toEqual([
    { id: 'late', connection_id: 'one' },
    { id: 'old', connection_id: 'two' },
  ]);
});

test('a key of the version before, and one that it still creates, has its team', async () => {
  await migrateTo100();
  await database.client.query(`
    insert into team (id, name, created_at) values ('t', 't', now());
    insert into member (team_id, id, role, status, created_at, email)
    values ('t', 'm', 'owner', 'invited', now(), 'o@t.test')`);
  const add = (id: string): Promise<unknown> =>
    database.client.query(
      `insert into api_key
         (team_id, id, name, prefix, secret_hash, scopes, created_by, created_at)
       values ('t', $1, $1, $2, sha256('x'), '{}', 'm', now())`,
      [id, `prefix${id}`],
    );
  await add('old');
  await database.client.query(`insert into rate_counter values ('key:prefixold', 7, 3)`);
  await migrate(database.url);
  await add('late');
  const { rows } = await database.client.query('select * from key_directory order by prefix');
  expect(rows).toEqual([
    { prefix: 'prefixlate', team_id: 't' },
    { prefix: 'prefixold', team_id: 't' },
  ]);
  expect((await database.client.query('select * from team_counter')).rows).toEqual([
    { team_id: 't', bucket: 'key:prefixold', minute: 7, count: 3 },
  ]);
});

test('deliveries and claims of the version before are found by the indexes', async () => {
  await migrateTo100();
  await addEndpoints(['pending', 'retrying', 'ok', 'gave_up', 'claimed']);
  const add = (id: string, status: string, claimedBy: number | null): Promise<unknown> =>
    database.client.query(
      `insert into webhook_delivery
         (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at, next_try_at,
          last_attempt_at, claimed_by)
       values
         ('t', $1, $1, 'evt_1', 'member.joined', $2, case $2 when 'pending' then 0 else 1 end,
          '2026-11-01T00:00:00Z',
          case when $2 in ('pending', 'retrying') then '2026-11-03T00:00:00Z'::timestamptz end,
          case when $2 <> 'pending' then '2026-11-02T00:00:00Z'::timestamptz end, $3)`,
      [id, status, claimedBy],
    );
  for (const status of ['pending', 'retrying', 'ok', 'gave_up']) await add(status, status, null);
  await add('claimed', 'pending', 7);
  await migrate(database.url);
  await add('late', 'pending', 8);
  // A worker of the version before claims what a dead one of this version had claimed first.
  await add('taken over', 'pending', 8);
  await database.client.query(
    `update webhook_delivery set first_worker = 9 where id = 'taken over'`,
  );
  const { rows } = await database.client.query<{ line: string }>(
    `select concat_ws(', ', id, waits_as, 'due ' || due_at::date, 'held by ' || held_by,
       case when has_failed then 'failed' end, 'kept from ' || kept_from::date) as line
     from webhook_delivery
     order by id collate "C"`,
  );
  expect(rows.map(({ line }) => line)).toEqual([
    'claimed, held by 7',
    'gave_up, failed, kept from 2026-11-02',
    'late, held by 8',
    'ok, kept from 2026-11-02',
    'pending, pending, due 2026-11-03',
    'retrying, retrying, due 2026-11-03, failed',
    'taken over, held by 8',
  ]);
});

test('failed attempts of the version before are with their delivery', async () => {
  await migrateTo100();
  await addEndpoints(['failed', 'fine']);
  await database.client.query(`
    insert into webhook_delivery
      (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at)
    select 't', id, id, 'evt_1', 'member.joined', 'ok', 3, now()
    from unnest(array['failed', 'fine']) as id;
    insert into webhook_attempt
      (team_id, delivery_id, attempt, ended_at, response_code, response_ms, error)
    values ('t', 'failed', 2, '2026-11-02T10:00:01.5+01', null, 30, 'timeout'),
      ('t', 'failed', 1, '2026-11-02T09:00:00Z', 500, 20, null)`);
  await migrate(database.url);
  const { rows } = await database.client.query(
    'select id, failed_attempts from webhook_delivery order by id',
  );
  const [first, second] = [
    { attempt: 1, response_code: 500, response_ms: 20, error: null },
    { attempt: 2, response_code: null, response_ms: 30, error: 'timeout' },
  ];
  expect(rows).toEqual([
    {
      id: 'failed',
      failed_attempts: [
        { ...first, ended_at: '2026-11-02T09:00:00.000Z' },
        { ...second, ended_at: '2026-11-02T09:00:01.500Z' },
      ],
    },
    { id: 'fine', failed_attempts: null },
  ]);
  // Its workers run on, and delete deliveries of which they have kept attempts.
  await database.client.query(`delete from webhook_delivery where id = 'failed'`);
});

test('a response of the version before loses its private fields, and is kept', async () => {
  await migrateTo100();
  await database.client.query(
    `insert into team (id, name, created_at) values ('team_a', 'A', now());
     insert into webhook_endpoint
       (team_id, id, url, events, api_version, secret_encrypted, created_at)
     values ('team_a', 'whe_1', 'https://example.com', '{member.joined}', '2026-11', 'x', now())`,
  );
  const path = '/api/public/v1';
  const kept = [
    [
      'invited',
      `${path}/users/mem_1`,
      '{"id":"mem_1","email":"kim@a.test","role":"member"}',
      false,
    ],
    ['assigned', `${path}/assignments/asg_1`, '{"id":"asg_1","member_email":"kim@a.test"}', false],
    ['endpoint', `${path}/webhook-endpoints/whe_1`, 'sealed', true],
    ['gone', `${path}/webhook-endpoints/whe_2`, 'sealed', true],
    ['refused', null, '{"code":"conflict"}', false],
  ];
  for (const [key, location, body, encrypted] of kept)
    await database.client.query(
      `insert into idempotency_record
         (team_id, key, fingerprint, status, body, encrypted, location, created_at)
       values ('team_a', $1, '', 201, convert_to($2, 'UTF8'), $3, $4, '2026-11-02T09:15:00Z')`,
      [key, body, encrypted, location],
    );
  await migrate(database.url);
  const { rows } = await database.client.query<{ key: string; body: string }>(
    `select key, convert_from(body, 'UTF8') as body from idempotency_record where not encrypted`,
  );
  expect(Object.fromEntries(rows.map(({ key, body }) => [key, JSON.parse(body)]))).toEqual({
    invited: { id: 'mem_1', role: 'member' },
    assigned: { id: 'asg_1', member_email: null },
    endpoint: {
      id: 'whe_1',
      url: 'https://example.com',
      events: ['member.joined'],
      status: 'active',
      api_version: '2026-11',
      description: null,
      created_at: '2026-11-02T09:15:00.000Z',
      last_success_at: null,
    },
    refused: { code: 'conflict' },
  });
});

test('an invitation that ended in a seed file loses its address', async () => {
  await migrateBefore(database, '20261206000010');
  await database.client.query(`
    insert into team (id, name, created_at) values ('t', 't', now());
    insert into person (team_id, id) values ('t', 'usr');
    insert into member (team_id, id, user_id, email, language, role, status, created_at)
    values ('t', 'declined', null, 'a@t.test', 'de', 'member', 'ended', now()),
      ('t', 'left', 'usr', 'b@t.test', 'de', 'member', 'ended', now()),
      ('t', 'open', null, 'c@t.test', 'de', 'member', 'invited', now())`);
  await migrate(database.url);
  const { rows } = await database.client.query(
    'select id, email, language from member order by id',
  );
  expect(rows).toEqual([
    { id: 'declined', email: null, language: null },
    { id: 'left', email: 'b@t.test', language: 'de' },
    { id: 'open', email: 'c@t.test', language: 'de' },
  ]);
});

test('an invitation that was mailed again ends some time after that mail', async () => {
  await migrateTo100();
  // 1.0.0 keeps what was mailed again for a day. The audit log has it for longer.
  await database.client.query(`
    insert into team (id, name, created_at) values ('t', 't', now());
    insert into member (team_id, id, email, role, status, created_at, invited_at)
    select 't', id, id || '@t.test', 'member', 'invited', '2026-05-01', '2026-05-01'
    from unnest(array['once', 'again']) as id;
    insert into audit_log
      (team_id, id, actor_kind, actor_id, action, target_id, request_id, created_at)
    values ('t', 'aud_1', 'user', 'm', 'member.invitation_resent', 'again', 'r', '2026-10-01'),
      ('t', 'aud_2', 'user', 'm', 'member.role_changed', 'once', 'r', '2026-10-02')`);
  await migrate(database.url);
  const { rows } = await database.client.query(
    'select id, invitation_sent_at::date::text as mailed from member order by id',
  );
  expect(rows).toEqual([
    { id: 'again', mailed: '2026-10-01' },
    { id: 'once', mailed: '2026-05-01' },
  ]);
});

describe('what a process of the version before writes', () => {
  // Between the migrations that have filled it in and the end of `migrate`, or after it.
  const MOMENTS = ['20261207000030', null];
  const writeAt = async (moment: string | null, write: () => Promise<unknown>): Promise<void> => {
    if (moment === null) await migrate(database.url);
    else await migrateBefore(database, moment);
    await write();
    await migrate(database.url);
  };
  const ask = (text: string, values: unknown[] = []) => database.client.query(text, values);

  test.each(MOMENTS)('about invitations is completed (before %s)', async (moment) => {
    await writeAt(moment, async () => {
      await ask(`insert into team (id, name, created_at) values ('t', 't', now())`);
      for (const id of ['open', 'resent', 'withdrawn'])
        await ask(
          `insert into member (team_id, id, email, role, status, language, created_at, invited_at)
           values ($1, $2, $3, $4, 'invited', $5, $6, $6)`,
          ['t', id, `${id}@t.test`, 'member', 'de', '2026-11-20T09:15:00Z'],
        );
      await ask(
        `update member set status = 'ended', ended_at = $3 where team_id = $1 and id = $2`,
        ['t', 'withdrawn', '2026-11-21T09:15:00Z'],
      );
      for (const at of ['2026-11-22T09:15:00Z', '2026-11-21T09:15:00Z']) {
        await ask(
          `insert into invitation_resend (team_id, id, member_id, sent_at)
           values ($1, $2, 'resent', $3)`,
          ['t', `res_${at}`, at],
        );
        await ask(
          `insert into audit_log
             (team_id, id, actor_kind, actor_id, action, target_id, request_id, created_at)
           values ($1, $2, 'user', 'm', 'member.invitation_resent', 'resent', 'r', $3)`,
          ['t', `aud_${at}`, at],
        );
      }
    });
    const { rows } = await ask(
      `select id, email, language,
         case when status = 'invited'
           then extract(epoch from invitation_sent_at - invited_at)::int / 86400
         end as mailed_after
       from member
       order by id`,
    );
    expect(rows).toEqual([
      { id: 'open', email: 'open@t.test', language: 'de', mailed_after: 0 },
      { id: 'resent', email: 'resent@t.test', language: 'de', mailed_after: 2 },
      { id: 'withdrawn', email: null, language: null, mailed_after: null },
    ]);
  });

  test.each(MOMENTS)('about a person is kept in two forms (before %s)', async (moment) => {
    const path = '/api/public/v1';
    const assigned = '{"id":"asg_1","member_email":"kim@t.test"}';
    const invited = '{"id":"mem_1","email":"kim@t.test"}';
    const kept = [
      ['assigned', `${path}/assignments/asg_1`, '{"id":"asg_1","member_email":null}'],
      ['assigned', `${path}/assignments/asg_1`, assigned],
      ['invited', `${path}/users/mem_1`, invited],
      // Over a response that has expired.
      ['left', `${path}/users/mem_2`, invited],
      ['left', `${path}/assignments/asg_1`, '{"id":"asg_1","member_email":null}'],
      ['removed', `${path}/users/mem_2`, invited],
      ['removed', null, '{"code":"conflict"}'],
      ['refused', null, '{"code":"conflict"}'],
    ];
    await writeAt(moment, async () => {
      await ask(`insert into team (id, name, created_at) values ('t', 't', now())`);
      await ask(`
        insert into member (team_id, id, email, role, status, created_at, invited_at)
        values ('t', 'mem_1', 'kim@t.test', 'member', 'invited', now(), now())`);
      await ask(`
        insert into assignment (team_id, id, member_id, status, created_at)
        values ('t', 'asg_1', 'mem_1', 'open', now())`);
      for (const [place, [key, location, body]] of kept.entries())
        await ask(
          `insert into idempotency_record
             (team_id, key, fingerprint, status, body, encrypted, location, created_at)
           values ('t', $1, sha256('x'), 201, convert_to($2, 'UTF8'), false, $3, $4)
           on conflict (team_id, key) do update
           set body = excluded.body, location = excluded.location,
             created_at = excluded.created_at`,
          [key, body, location, `2026-11-${String(10 + place)}T09:15:00Z`],
        );
    });
    const { rows } = await ask(
      `select key, convert_from(body, 'UTF8') as body,
         convert_from(open_body, 'UTF8')::json as open, subject_id as whose
       from idempotency_record
       order by key`,
    );
    const of = { whose: 'mem_1' };
    expect(rows).toEqual([
      { ...of, key: 'assigned', body: assigned, open: { id: 'asg_1', member_email: null } },
      { ...of, key: 'invited', body: invited, open: { id: 'mem_1' } },
      { key: 'left', body: '{"id":"asg_1","member_email":null}', open: null, whose: null },
      { key: 'refused', body: '{"code":"conflict"}', open: null, whose: null },
      { key: 'removed', body: '{"code":"conflict"}', open: null, whose: null },
    ]);
  });

  test('that ends a person or an endpoint goes from what this version keeps', async () => {
    await migrate(database.url);
    await addEndpoints(['whe_1', 'whe_2']);
    await ask(`
      insert into person (team_id, id)
      select 't', unnest(array['left', 'deleted', 'stays']);
      insert into member (team_id, id, user_id, email, role, status, created_at, ended_at)
      select 't', id, id, id || '@t.test', 'member', status, now(),
        case when status = 'ended' then now() end
      from (values ('left', 'active'), ('deleted', 'ended'), ('stays', 'active'))
        as m (id, status)`);
    const keep = (key: string, of: readonly string[], encrypted = false) =>
      ask(
        `insert into idempotency_record
           (team_id, key, fingerprint, status, body, open_body, encrypted, subject_id,
            other_subject_ids, created_at)
         values ('t', $1, sha512('x'), 201, 'whole', 'open', $3, ($2::text[])[1],
           nullif(($2::text[])[2:], '{}'), now())`,
        [key, of, encrypted],
      );
    for (const id of ['left', 'deleted', 'stays']) await keep(id, [id]);
    await keep('several', ['stays', 'left']);
    await keep('whe_1', ['whe_1'], true);
    await keep('whe_2', ['whe_2'], true);
    await ask(`update member set status = 'ended', ended_at = now() where id = 'left'`);
    await ask(`update member set email = null where id = 'deleted'`);
    await ask(`update member set email = 'new@t.test', role = 'admin' where id = 'stays'`);
    await ask(`delete from webhook_endpoint where id = 'whe_1'`);
    const { rows } = await ask(
      `select key, convert_from(body, 'UTF8') as body, encrypted, subject_id as whose
       from idempotency_record
       order by key`,
    );
    const forgotten = { body: 'open', encrypted: false, whose: null };
    const kept = { body: 'whole', encrypted: false };
    expect(rows).toEqual([
      { key: 'deleted', ...forgotten },
      { key: 'left', ...forgotten },
      { key: 'several', ...forgotten },
      { key: 'stays', ...kept, whose: 'stays' },
      { key: 'whe_1', ...forgotten },
      { key: 'whe_2', ...kept, encrypted: true, whose: 'whe_2' },
    ]);
  });

  test('changes an endpoint, an evaluation and a case as this version does', async () => {
    await migrate(database.url);
    await addEndpoints(['paused', 'failing']);
    await ask(
      `update webhook_endpoint
       set failing_since = '2026-11-01', hourly_failures = '{2026-11-01, 2026-11-02}',
         status = case id when 'paused' then 'disabled_failures' else 'active' end`,
    );
    await ask(`insert into person (team_id, id) values ('t', 'usr')`);
    await ask(
      `insert into training (team_id, id, user_id, status, created_at)
       values ('t', 'trn', 'usr', 'scored', now())`,
    );
    await ask(
      `insert into evaluation (team_id, training_id, user_id, saved_at, stored_at)
       values ('t', 'trn', 'usr', '2026-11-01', '2026-11-01')`,
    );
    await ask(
      `insert into training_case (team_id, id, user_id, fields, json_bytes, created_at)
       select 't', id, 'usr', '{"a": 1}', 8, now()
       from unnest(array['as it was', 'changed', 'renamed']) as id`,
    );
    await ask(`update webhook_endpoint set status = 'active', failing_since = null`);
    await ask(`update evaluation set saved_at = '2026-11-02', total = 80`);
    await ask(`update training_case set fields = '{"b": [1, 2, 3]}' where id = 'changed'`);
    await ask(`update training_case set title = 'New' where id = 'renamed'`);
    const { rows } = await ask(
      `select id, hourly_failures as failures, activated_at > now() - interval '1 hour' as is_new
       from webhook_endpoint
       order by id`,
    );
    // What was active all the time has nothing that waits for it.
    expect(rows).toEqual([
      { id: 'failing', failures: [], is_new: null },
      { id: 'paused', failures: [], is_new: true },
    ]);
    const stored = await ask(
      `select stored_at > now() - interval '1 hour' as is_new from evaluation`,
    );
    expect(stored.rows).toEqual([{ is_new: true }]);
    const cases = await ask('select id, json_bytes from training_case order by id');
    expect(cases.rows).toEqual([
      { id: 'as it was', json_bytes: 8 },
      { id: 'changed', json_bytes: null },
      { id: 'renamed', json_bytes: 8 },
    ]);
  });

  test.each(MOMENTS)('removes the deliveries of an endpoint (before %s)', async (moment) => {
    await writeAt(moment, async () => {
      await addEndpoints(['empty', 'gone', 'kept']);
      await ask(
        `insert into webhook_delivery
           (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at)
         select 't', id, id, 'evt_1', 'member.joined', 'ok', 1, now()
         from unnest(array['gone', 'kept']) as id`,
      );
      for (const id of ['empty', 'gone'])
        await ask(
          `DELETE FROM "public"."webhook_endpoint"
           WHERE ("public"."webhook_endpoint"."team_id" = $1
             AND "public"."webhook_endpoint"."id" = $2)`,
          ['t', id],
        );
    });
    const { rows } = await ask('select task, payload, key, queue from pending_job');
    expect(rows).toEqual([removalJob({ teamId: 't', endpointId: 'gone' })]);
  });
});
