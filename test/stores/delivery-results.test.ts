// What the results of attempts write: rows of this worker's claims at this attempt, and the health
// of their endpoints.
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Db, Tx } from '../../src/db/client.ts';
import { isLockTimeout } from '../../src/db/errors.ts';
import { attemptsOf, type AttemptsRow } from '../../src/db/kept-attempts.ts';
import { recordAttempts, type RecordedAttempt } from '../../src/delivery/result-store.ts';
import { holdLock } from '../support/locks.ts';
import { openTwinStores, type TwinStores } from '../support/twin-stores.ts';

const AT = new Date('2026-11-20T10:00:00.000Z');
const seconds = (count: number): Date => new Date(AT.getTime() + count * 1000);
const WORKER = 7;

let twins: TwinStores;
/** Every delivery of both teams waits for its fourth attempt, claimed by this worker. */
async function prepare(): Promise<void> {
  twins = await openTwinStores();
  await twins.pool.query(
    `update webhook_delivery
     set status = 'retrying', attempt = 3, claimed_by = $1, next_try_at = $2,
       last_attempt_at = $2, response_code = 500, scheduled_attempts = 3,
       urgent = true, resent = false`,
    [WORKER, AT],
  );
  await twins.pool.query(
    `update webhook_endpoint set last_success_at = $1, failing_since = null,
       hourly_failures = '{}'`,
    [AT],
  );
}
beforeEach(prepare);

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
     set status = 'pending', attempt = 0, scheduled_attempts = 0, urgent = false,
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

/** Of each delivery with failed attempts: their numbers, in the order that is stored. */
const keptOf = async (): Promise<string[]> =>
  (
    await twins.pool.query<{ line: string }>(
      `select concat_ws(' ', team_id, id,
         (select string_agg(one ->> 'attempt', ',') from jsonb_array_elements(failed_attempts) one)
       ) as line
       from webhook_delivery
       where failed_attempts is not null
       order by team_id, id`,
    )
  ).rows.map(({ line }) => line);

test('a failure is kept with its delivery', async () => {
  await record([failed({ attempt: 4, error: 'timeout', responseCode: null, responseMs: 34 })]);
  expect(await keptOf()).toEqual(['team_a whd_2 4']);
  const { rows } = await twins.pool.query<AttemptsRow>(
    `select attempt, last_attempt_at::text, response_code, response_ms, error, failed_attempts
     from webhook_delivery
     where team_id = 'team_a' and id = 'whd_2'`,
  );
  const kept = { attempt: 4, response_code: null, response_ms: 34, error: 'timeout' };
  expect(rows[0]?.failed_attempts).toEqual([{ ...kept, ended_at: AT.toISOString() }]);
  expect(rows.map(attemptsOf)).toEqual([[{ ...kept, ended_at: expect.any(String) }]]);
});

test('the last ten failures of a delivery are kept, whatever succeeds between them', async () => {
  const attemptEach = async (attempts: readonly number[]): Promise<void> => {
    for (const attempt of attempts) {
      await twins.pool.query(`update webhook_delivery set claimed_by = $1`, [WORKER]);
      await write([attempt === 9 ? ok({ attempt }) : failed({ attempt })]);
    }
  };
  await attemptEach([4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  expect(await keptOf()).toEqual(['team_a whd_2 4,5,6,7,8,10,11,12,13']);
  await attemptEach([14, 15]);
  expect(await keptOf()).toEqual(['team_a whd_2 5,6,7,8,10,11,12,13,14,15']);
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
    `select id, status, attempt, scheduled_attempts as scheduled, resent,
       round(extract(epoch from next_try_at - $1))::int as wait_s
     from webhook_delivery
     where team_id = 'team_a' and id = any ('{whd_2,whd_3,whd_4}')
     order by id`,
    [AT],
  );
  const counted = { attempt: 4, scheduled: 4, resent: false };
  expect(rows).toEqual([
    { ...counted, id: 'whd_2', status: 'retrying', resent: true, wait_s: 0 },
    { ...counted, id: 'whd_3', status: 'retrying', scheduled: 3, wait_s: 60 },
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
    const left = await write([busy, free], true);
    expect(left).toEqual([busy]);
    expect(await keptOf()).toEqual(['team_a whd_3 4']);
    await release();
    expect(await write([busy], true)).toEqual([]);
  });

  test('the result of another team with the same ids is written', async () => {
    const twin = failed({ teamId: 'team_b' });
    await holdLock({ databaseUrl: twins.url }, `select from ${rows} for update`);
    const left = await write([busy, twin], true);
    expect(left).toEqual([busy]);
    expect(await keptOf()).toEqual(['team_b whd_2 4']);
  });
});

test('results wait for no endpoint and no delivery that was deleted', async () => {
  await twins.pool.query(`delete from webhook_endpoint where team_id = 'team_a' and id = 'whe_2'`);
  expect(await write([failed(), failed({ id: 'whd_gone' })], true)).toEqual([]);
});

test('a failure of a delivery that was removed is not kept', async () => {
  await twins.pool.query(`delete from webhook_delivery where team_id = 'team_a' and id = 'whd_2'`);
  await write([failed(), failed({ id: 'whd_3', endpointId: 'whe_3' })]);
  expect(await keptOf()).toEqual(['team_a whd_3 4']);
});

/** Waits for locks for as long as it takes. */
const patient = {
  transaction: (work: (tx: Tx) => Promise<unknown>) =>
    twins.db.transaction((tx) =>
      work({
        ...tx,
        send: (what, values) => {
          if (what.name !== 'webhooks.waitForNobody') tx.send(what, values);
        },
      }),
    ),
} as Db;

test('endpoints are locked in the order of their keys', async () => {
  const failures = ['team_b whe_1', 'team_a whe_2', 'team_a whe_1'].map((key) => {
    const [teamId = '', endpointId = ''] = key.split(' ');
    return failedAt(seconds(3_600), { teamId, endpointId });
  });
  const held = `webhook_endpoint where team_id = 'team_a' and id = 'whe_2'`;
  const locked = await twins.lockedBefore(held, 'webhook_endpoint', () =>
    recordAttempts(patient, WORKER, failures, { skipsLocked: false }),
  );
  expect(locked).toEqual(['team_a whe_1', 'team_a whe_2']);
});

const HOUR_S = 3_600;
const health = (last_success_at: Date | null, hourly_failures: readonly Date[] = []) =>
  twins.pool.query(
    `update webhook_endpoint
     set last_success_at = $1, hourly_failures = $2, failing_since = $3
     where team_id = 'team_a' and id = 'whe_2'`,
    [last_success_at, hourly_failures, hourly_failures[0] ?? null],
  );

test('a success more than a second after the last one is noted', async () => {
  expect(await record([succeededAt(seconds(1))])).toEqual({});
  expect(await record([succeededAt(seconds(2))])).toEqual({
    webhook_endpoint: [
      'team_a whe_2: last_success_at 2026-11-20T10:00:00+00:00 → 2026-11-20T10:00:02+00:00',
    ],
  });
});

test('the first success of an endpoint is noted, and an older one never goes back', async () => {
  await health(null);
  expect(await record([succeededAt(AT)])).toEqual({
    webhook_endpoint: ['team_a whe_2: last_success_at null → 2026-11-20T10:00:00+00:00'],
  });
  await health(seconds(9), [seconds(2 * HOUR_S)]);
  expect(await record([succeededAt(AT)])).toEqual({});
  // Not even if something else of the endpoint is written.
  await health(seconds(9));
  expect(await record([succeededAt(AT), failedAt(seconds(HOUR_S))])).toEqual({
    webhook_endpoint: [
      'team_a whe_2: failing_since null → 2026-11-20T11:00:00+00:00',
      'team_a whe_2: hourly_failures [] → ["2026-11-20T11:00:00+00:00"]',
    ],
  });
});

test('the first failure of each hour is noted, and later ones leave it', async () => {
  expect(await record([failedAt(seconds(HOUR_S + 5))])).toEqual({
    webhook_endpoint: [
      'team_a whe_2: failing_since null → 2026-11-20T11:00:05+00:00',
      'team_a whe_2: hourly_failures [] → ["2026-11-20T11:00:05+00:00"]',
    ],
  });
  expect(await record([failedAt(seconds(HOUR_S + 9))])).toEqual({});
});

test('a failure of before the last success is not noted, however late it is written', async () => {
  await health(seconds(2 * HOUR_S));
  for (const at of [seconds(HOUR_S), seconds(2 * HOUR_S)])
    expect(await record([failedAt(at)])).toEqual({});
});

test('a failure right after a success is noted', async () => {
  await record([failedAt(seconds(1))]);
  expect(await readHealth()).toMatchObject({ failing_since: seconds(1).toISOString() });
});

test('of a very long failure, the first hour and the newest ones stay', async () => {
  const hours = Array.from({ length: 1_000 }, (_, n) => seconds((n + 1) * HOUR_S));
  await health(AT, hours);
  await record([failedAt(seconds(1_001 * HOUR_S))]);
  const first = seconds(HOUR_S).toISOString();
  expect(await readHealth()).toMatchObject({ failing_since: first });
  const { rows } = await twins.pool.query<{ hours: Date[] }>(
    `select hourly_failures as hours
     from webhook_endpoint
     where team_id = 'team_a' and id = 'whe_2'`,
  );
  expect(rows[0]?.hours).toEqual([seconds(HOUR_S), ...hours.slice(2), seconds(1_001 * HOUR_S)]);
});

test('a success that is written late leaves the failures after it', async () => {
  await health(AT, [seconds(HOUR_S), seconds(3 * HOUR_S)]);
  await record([succeededAt(seconds(2 * HOUR_S))]);
  expect(await readHealth()).toMatchObject({
    failing_since: seconds(3 * HOUR_S).toISOString(),
  });
});

test('a failure of before the endpoint was set to active is not noted', async () => {
  await twins.pool.query(`update webhook_endpoint set activated_at = $1`, [seconds(2 * HOUR_S)]);
  expect(await record([failedAt(seconds(2 * HOUR_S - 1))])).toEqual({});
});

const readHealth = async () =>
  (
    await twins.pool.query<{ last_success_at: string; failing_since: string }>(
      `select last_success_at, failing_since
       from webhook_endpoint
       where team_id = 'team_a' and id = 'whe_2'`,
    )
  ).rows[0];

/** Everything that results write, as text. */
const readAll = async () => {
  const read = async (table: string) =>
    (
      await twins.pool.query<{ row: string }>(
        `select to_jsonb(t)::text as row from ${table} t order by 1`,
      )
    ).rows.map(({ row }) => row);
  return [...(await read('webhook_endpoint')), ...(await read('webhook_delivery'))];
};

// Of a team and a delivery there is one result; those of 'whd_gone…' are about the endpoint only.
const anyResults = fc.uniqueArray(
  fc
    .record({
      teamId: fc.constantFrom('team_a', 'team_b'),
      id: fc.constantFrom('whd_1', 'whd_2', 'whd_3', ...'abcdef'.split('').map((x) => `gone_${x}`)),
      endpointId: fc.constantFrom('whe_1', 'whe_2'),
      isOk: fc.boolean(),
      isTest: fc.constantFrom(false, false, false, true),
      wasUrgent: fc.boolean(),
      attempt: fc.constantFrom(4, 4, 4, 5, 12),
      // Hours apart, since of each hour the first failure is known.
      at: fc.nat(99).map((at) => seconds(at * HOUR_S)),
    })
    .map(({ isOk, ...fields }) => (isOk ? ok : failed)(fields)),
  { selector: ({ teamId, id }) => `${teamId} ${id}`, maxLength: 12 },
);
const anyOrders = anyResults.chain((results) =>
  fc.record({
    results: fc.constant(results),
    order: fc.shuffledSubarray(results, { minLength: results.length }),
  }),
);

test('one batch writes what its results write one by one, in any order, and again', async () => {
  await fc.assert(
    fc.asyncProperty(anyOrders, async ({ results, order }) => {
      await prepare();
      if (results.length > 0) await write(results);
      const together = await readAll();
      await write(results);
      expect(await readAll()).toEqual(together);
      await prepare();
      for (const result of order) await write([result]);
      expect(await readAll()).toEqual(together);
    }),
    { numRuns: 40 },
  );
});

test('the result of a delivery that is gone waits for no lock of its twin', async () => {
  await twins.pool.query(`delete from webhook_delivery where team_id = 'team_a' and id = 'whd_3'`);
  expect(await write([ok({ id: 'whd_3', endpointId: 'whe_3' })], true)).toEqual([]);
});
