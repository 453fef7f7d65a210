// What the results of attempts write: rows of this worker's claims at this attempt, and the health
// of their endpoints.
import { beforeEach, describe, expect, test } from 'vitest';
import { isLockTimeout } from '../../src/db/errors.ts';
import { recordAttempts, type RecordedAttempt } from '../../src/delivery/result-store.ts';
import { holdLock } from '../support/locks.ts';
import { openTwinStores, type TwinStores } from '../support/twin-stores.ts';

const AT = new Date('2026-11-20T10:00:00.000Z');
const seconds = (count: number): Date => new Date(AT.getTime() + count * 1000);
const WORKER = 7;

let twins: TwinStores;
/** Every delivery of both teams waits for its fourth attempt, claimed by this worker. */
beforeEach(async () => {
  twins = await openTwinStores();
  await twins.pool.query(`delete from webhook_attempt`);
  await twins.pool.query(
    `update webhook_delivery
     set status = 'retrying', attempt = 3, claimed_by = $1, next_try_at = $2,
       last_attempt_at = $2, response_code = 500, extra_attempts = 0, scheduled_attempts = 3,
       urgent = true, resent = false`,
    [WORKER, AT],
  );
  await twins.pool.query(`update webhook_endpoint set last_success_at = $1, failing_since = null`, [
    AT,
  ]);
});

const ok = (fields: Partial<RecordedAttempt> = {}): RecordedAttempt => ({
  teamId: 'team_a',
  id: 'whd_2',
  endpointId: 'whe_2',
  isTest: false,
  status: 'ok',
  attempt: 4,
  scheduledAttempts: 4,
  nextTryAt: null,
  wasUrgent: true,
  wasResent: false,
  at: AT,
  responseCode: 200,
  responseExcerpt: null,
  responseMs: 12,
  error: null,
  ...fields,
});
const failed = (fields: Partial<RecordedAttempt> = {}): RecordedAttempt =>
  ok({ status: 'retrying', responseCode: 502, nextTryAt: seconds(60), ...fields });
const write = (attempts: RecordedAttempt[], skipsLocked = false) =>
  recordAttempts(twins.db, WORKER, attempts, { skipsLocked });
const record = (attempts: RecordedAttempt[]) => twins.changes(() => write(attempts));
// Of these, only what they say about the endpoint is written.
const succeededAt = (at: Date): RecordedAttempt => ok({ id: 'whd_gone', at });
const failedAt = (at: Date, fields: Partial<RecordedAttempt> = {}): RecordedAttempt =>
  failed({ id: 'whd_gone', at, ...fields });

test('a success ends the delivery and leaves no attempt of its own', async () => {
  const changed = await record([ok()]);
  expect(changed).toEqual({
    webhook_delivery: [
      'team_a whd_2: attempt 3 → 4',
      'team_a whd_2: claimed_by 7 → null',
      'team_a whd_2: next_try_at 2026-11-20T10:00:00+00:00 → null',
      'team_a whd_2: response_code 500 → 200',
      expect.stringMatching(/^team_a whd_2: response_ms .* → 12$/),
      'team_a whd_2: scheduled_attempts 3 → 4',
      'team_a whd_2: status retrying → ok',
      'team_a whd_2: urgent true → false',
    ],
  });
});

// Columns of the keys and of the conditions. If none of them changes, Postgres writes no index.
const INDEXED = `
  select distinct a.attname::text as name
  from pg_index i
  join pg_depend d
    on d.classid = 'pg_class'::regclass and d.objid = i.indexrelid and d.refobjid = i.indrelid
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = d.refobjsubid
  where i.indrelid = 'webhook_delivery'::regclass
  order by name`;

test('a first attempt that succeeds within a minute changes no column of an index', async () => {
  await twins.pool.query(
    `update webhook_delivery
     set status = 'pending', attempt = 0, scheduled_attempts = null, urgent = false,
       last_attempt_at = null, created_at = $1, next_try_at = $1,
       claimed_by = $2, first_worker = $2`,
    [AT, WORKER],
  );
  const { rows } = await twins.pool.query<{ name: string }>(INDEXED);
  const names = rows.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['created_at', 'held_by', 'kept_from', 'waits_as']));
  const read = async () =>
    (
      await twins.pool.query<{ status: string; indexed: object }>(
        `select status, json_build_object(${names.map((name) => `'${name}', ${name}`).join(', ')})
           as indexed
         from webhook_delivery
         where team_id = 'team_a' and id = any ('{whd_1,whd_2}')
         order by id`,
      )
    ).rows;
  const [before, other] = await read();
  const counted = { attempt: 1, scheduledAttempts: 1, wasUrgent: false };
  const first = ok({ ...counted, at: seconds(60), responseExcerpt: 'thanks' });
  const late = ok({ ...first, id: 'whd_2', at: seconds(61) });
  await record([{ ...first, id: 'whd_1' }, late]);
  expect(await read()).toEqual([
    { status: 'ok', indexed: before?.indexed },
    { status: 'ok', indexed: { ...other?.indexed, kept_from: '2026-11-20T10:01:01+00:00' } },
  ]);
});

test('a failure is kept as an attempt, and only the last ten of its delivery are', async () => {
  await twins.pool.query(
    `insert into webhook_attempt (team_id, delivery_id, attempt, ended_at, response_ms)
     select team_id, delivery_id, attempt, $1, 1
     from unnest(array['team_a', 'team_b']) team_id,
       unnest(array['whd_1', 'whd_2']) delivery_id,
       generate_series(1, 11) attempt`,
    [AT],
  );
  await twins.pool.query(`update webhook_delivery set attempt = 11`);
  const { webhook_attempt } = await record([failed({ attempt: 12 })]);
  expect(webhook_attempt).toEqual(['+ team_a whd_2 12', '- team_a whd_2 1', '- team_a whd_2 2']);
});

test('a first failure removes no attempts', async () => {
  const { webhook_attempt } = await record([failed()]);
  expect(webhook_attempt).toEqual(['+ team_a whd_2 4']);
});

test.each([
  ['another worker has it', `claimed_by = 8`],
  ['it is at another attempt', `attempt = 4`],
])('nothing is written when %s', async (_case, state) => {
  await twins.pool.query(
    `update webhook_delivery set ${state} where team_id = 'team_a' and id = 'whd_2'`,
  );
  expect(await record([failed({ isTest: true })])).toEqual({});
});

test('a request for one more attempt that came during this one stays', async () => {
  const { webhook_delivery } = await record([failed({ wasUrgent: false })]);
  expect(webhook_delivery?.filter((line) => line.includes('urgent'))).toEqual([]);
});

test('a request for one more attempt ends with an attempt that it made, or a success', async () => {
  const ends = [
    failed({ wasUrgent: true }),
    ok({ id: 'whd_3', endpointId: 'whe_3', wasUrgent: false }),
  ];
  const { webhook_delivery } = await record(ends);
  expect(webhook_delivery?.filter((line) => line.includes('urgent'))).toEqual([
    'team_a whd_2: urgent true → false',
    'team_a whd_3: urgent true → false',
  ]);
});

test('a resend that came during an attempt stays, unless the attempt succeeded', async () => {
  await twins.pool.query(`update webhook_delivery set resent = true`);
  const ends = [
    failed({ status: 'gave_up', nextTryAt: null, scheduledAttempts: 4 }),
    failed({ id: 'whd_3', endpointId: 'whe_3', wasResent: true, scheduledAttempts: 3 }),
    ok({ id: 'whd_4', endpointId: 'whe_4' }),
  ];
  await record(ends);
  const { rows } = await twins.pool.query(
    `select id, status, attempt, scheduled_attempts as scheduled, extra_attempts as extra, resent,
       round(extract(epoch from next_try_at - $1))::int as wait_s
     from webhook_delivery
     where team_id = 'team_a' and id = any ('{whd_2,whd_3,whd_4}')
     order by id`,
    [AT],
  );
  const counted = { attempt: 4, scheduled: 4, extra: 0, resent: false };
  expect(rows).toEqual([
    { ...counted, id: 'whd_2', status: 'retrying', resent: true, wait_s: 0 },
    { ...counted, id: 'whd_3', status: 'retrying', scheduled: 3, extra: 1, wait_s: 60 },
    { ...counted, id: 'whd_4', status: 'ok', wait_s: null },
  ]);
});

describe.each([
  ['their endpoint', `webhook_endpoint where team_id = 'team_a' and id = 'whe_2'`],
  ['their delivery', `webhook_delivery where team_id = 'team_a' and id = 'whd_2'`],
])('while somebody has locked %s', (_what, rows) => {
  const [busy, free] = [failed(), failed({ id: 'whd_3', endpointId: 'whe_3' })];

  test.each(['update', 'no key update'])('for %s, results do not wait', async (mode) => {
    await twins.pool.query(`update webhook_endpoint set last_success_at = null`);
    const release = await holdLock({ databaseUrl: twins.url }, `select from ${rows} for ${mode}`);
    const refused = await write([busy, free]).catch((error: unknown) => error);
    expect(isLockTimeout(refused)).toBe(true);
    let left: readonly RecordedAttempt[] = [];
    const { webhook_attempt } = await twins.changes(async () => {
      left = await write([busy, free], true);
    });
    expect(left).toEqual([busy]);
    expect(webhook_attempt).toEqual(['+ team_a whd_3 4']);
    await release();
    expect(await write([busy], true)).toEqual([]);
  });
});

test('results wait for no endpoint and no delivery that was deleted', async () => {
  await twins.pool.query(`delete from webhook_endpoint where team_id = 'team_a' and id = 'whe_2'`);
  expect(await write([failed(), failed({ id: 'whd_gone' })], true)).toEqual([]);
});

test('a failure of a delivery that was removed is not kept', async () => {
  await twins.pool.query(`delete from webhook_delivery where team_id = 'team_a' and id = 'whd_2'`);
  const { webhook_attempt } = await record([
    failed(),
    failed({ id: 'whd_3', endpointId: 'whe_3' }),
  ]);
  expect(webhook_attempt).toEqual(['+ team_a whd_3 4']);
});

test('endpoints are locked in the order of their keys', async () => {
  const failures = ['team_b whe_1', 'team_a whe_2', 'team_a whe_1'].map((key) => {
    const [teamId = '', endpointId = ''] = key.split(' ');
    return failedAt(AT, { teamId, endpointId });
  });
  const held = `webhook_endpoint where team_id = 'team_a' and id = 'whe_2'`;
  const locked = await twins.lockedBefore(held, 'webhook_endpoint', () =>
    write(failures).catch(() => undefined),
  );
  expect(locked).toEqual(['team_a whe_1', 'team_a whe_2']);
});

test('a success after failures, or more than a second after the last, is noted', async () => {
  // Other endpoints, in both teams, have failed meanwhile.
  await twins.pool.query(
    `update webhook_endpoint set failing_since = $1 where (team_id, id) <> ('team_a', 'whe_2')`,
    [AT],
  );
  expect(await record([succeededAt(seconds(1))])).toEqual({});
  expect(await record([succeededAt(seconds(2))])).toEqual({
    webhook_endpoint: [
      'team_a whe_2: last_success_at 2026-11-20T10:00:00+00:00 → 2026-11-20T10:00:02+00:00',
    ],
  });
  await twins.pool.query(`update webhook_endpoint set failing_since = $1`, [seconds(1)]);
  expect(await record([succeededAt(seconds(2))])).toEqual({
    webhook_endpoint: ['team_a whe_2: failing_since 2026-11-20T10:00:01+00:00 → null'],
  });
});

test('the first success of an endpoint is noted, and an older one never goes back', async () => {
  await twins.pool.query(`update webhook_endpoint set last_success_at = null`);
  expect(await record([succeededAt(AT)])).toEqual({
    webhook_endpoint: ['team_a whe_2: last_success_at null → 2026-11-20T10:00:00+00:00'],
  });
  await twins.pool.query(`update webhook_endpoint set last_success_at = $1, failing_since = $1`, [
    seconds(9),
  ]);
  expect(await record([succeededAt(AT), failedAt(seconds(10))])).toEqual({
    webhook_endpoint: [
      'team_a whe_2: failing_since 2026-11-20T10:00:09+00:00 → 2026-11-20T10:00:10+00:00',
    ],
  });
});

test('the first failure is noted, and later ones leave it', async () => {
  expect(await record([failedAt(seconds(1))])).toEqual({
    webhook_endpoint: ['team_a whe_2: failing_since null → 2026-11-20T10:00:01+00:00'],
  });
  expect(await record([failedAt(seconds(5))])).toEqual({});
});
