// What the service deletes after which time, on the test's clock.
import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { newId } from '../../src/core/ids.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { REMOVE_OLD, RETENTION_CRON, retentionTasks } from '../../src/features/retention/tasks.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAs, tokenOf } from '../support/app.ts';
import { clockAhead } from '../support/clocks.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeFullTeam, makeSeed, userId } from '../support/seed.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const clock = fixedClock(new Date('2026-11-02T09:00:00.000Z'));

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeFullTeam('a'), makeFullTeam('b')]), clock });
  await query('delete from audit_log');
});

const query = async (sql: string, values: unknown[] = []) =>
  (await api.db.pool.query(sql, values)).rows;
const remove = (batch?: number) => removeOld(api.db, clock, { batch });
const ago = (ms: number) => new Date(clock.now().getTime() - ms);

interface Row {
  /** Returns whether the row still exists. */
  exists(): Promise<boolean>;
}

const inTable = (table: string, id: string, column = 'id'): Row => ({
  exists: async () => (await query(`select from ${table} where ${column} = $1`, [id])).length === 1,
});

async function addIdempotencyRecord(at: Date, team = 'team_a'): Promise<Row> {
  const key = newId('event');
  const insert = `insert into idempotency_record
      (team_id, key, fingerprint, status, body, encrypted, created_at)
    values ($1, $2, '', 200, '', false, $3)`;
  await query(insert, [team, key, at]);
  return inTable('idempotency_record', key, 'key');
}

async function addAuditEntry(at: Date, team = 'team_a'): Promise<Row> {
  const id = newId('auditEntry');
  const insert = `insert into audit_log
      (team_id, id, created_at, actor_kind, actor_id, action, request_id)
    values ($1, $2, $3, 'system', 'worker', 'test', 'none')`;
  await query(insert, [team, id, at]);
  return inTable('audit_log', id);
}

/** Adds a job of this time that nobody runs. `set` says what else holds. */
async function addJob(at: Date, set: string): Promise<Row> {
  const [job] = await query(
    `select id::text from graphile_worker.add_job('send_invitation', max_attempts => 25)`,
  );
  await query(`update graphile_worker._private_jobs set run_at = $2, ${set} where id = $1`, [
    job.id,
    at,
  ]);
  return inTable('graphile_worker._private_jobs', job.id);
}

type EventRow = Row & { readonly id: string };

async function addEvent(
  at: Date,
  options: { readonly isFannedOut?: boolean; readonly team?: string } = {},
): Promise<EventRow> {
  const { isFannedOut = true, team = 'team_a' } = options;
  const id = newId('event');
  const insert = `insert into event (team_id, id, type, data, created_at, fanned_out_at)
    values ($1, $2, 'member.joined', '{}', $3, $4)`;
  await query(insert, [team, id, at, isFannedOut ? at : null]);
  return { id, ...inTable('event', id) };
}

interface DeliveryOptions {
  readonly event: EventRow;
  readonly lastAttemptAt: Date | null;
  readonly status?: 'ok' | 'gave_up' | 'retrying' | 'pending';
  readonly isUrgent?: boolean;
}

async function addDelivery({
  event,
  lastAttemptAt,
  status = 'ok',
  isUrgent = false,
}: DeliveryOptions): Promise<Row> {
  const id = newId('webhookDelivery');
  const waits = status === 'pending' || status === 'retrying';
  const insert = `insert into webhook_delivery
      (team_id, id, endpoint_id, event_id, event_type, status,
       created_at, next_try_at, last_attempt_at, urgent)
    values ('team_a', $1, 'whe_a', $2, 'member.joined', $3, $4, $5, $6, $7)`;
  const createdAt = lastAttemptAt ?? ago(900 * DAY_MS);
  await query(insert, [
    id,
    event.id,
    status,
    createdAt,
    waits ? createdAt : null,
    lastAttemptAt,
    isUrgent,
  ]);
  return inTable('webhook_delivery', id);
}

describe('each kind is kept for exactly its time', () => {
  test.each<[string, number, (at: Date) => Promise<Row>]>([
    ['an idempotency record: 25 hours', 25 * HOUR_MS, (at) => addIdempotencyRecord(at)],
    [
      'a delivery that succeeded: 30 days after its last attempt',
      30 * DAY_MS,
      async (at) => addDelivery({ event: await addEvent(ago(0)), lastAttemptAt: at }),
    ],
    [
      'a delivery that gave up: 30 days after its last attempt',
      30 * DAY_MS,
      async (at) =>
        addDelivery({ event: await addEvent(ago(0)), lastAttemptAt: at, status: 'gave_up' }),
    ],
    ['an event without subscribers: 30 days', 30 * DAY_MS, (at) => addEvent(at)],
    ['an audit entry: 400 days', 400 * DAY_MS, (at) => addAuditEntry(at)],
    ['a job that has given up: 30 days', 30 * DAY_MS, (at) => addJob(at, 'attempts = 25')],
  ])('%s', async (_what, keepMs, add) => {
    const row = await add(ago(keepMs));
    await remove();
    expect(await row.exists()).toBe(true);
    clock.advance(1);
    await remove();
    expect(await row.exists()).toBe(false);
  });

  test('a job that is tried again, or that is running for the last time: for ever', async () => {
    const rows = [
      await addJob(ago(900 * DAY_MS), 'attempts = 24'),
      await addJob(ago(900 * DAY_MS), `attempts = 25, locked_at = now(), locked_by = 'a'`),
    ];
    await remove();
    expect(await Promise.all(rows.map((row) => row.exists()))).toEqual([true, true]);
  });

  test('a rate counter: one hour', async () => {
    const minute = Math.floor(clock.now().getTime() / 60_000);
    await query(
      `insert into rate_counter (bucket, minute, count)
       values ('ip:old', $1, 1), ('ip:young', $2, 1)`,
      [minute - 61, minute - 60],
    );
    await remove();
    expect(
      await query(`select bucket from rate_counter where bucket in ('ip:old', 'ip:young')`),
    ).toEqual([{ bucket: 'ip:young' }]);
  });

  test('team and address counters go; the counters of keys stay, for the last use', async () => {
    const usedAt = `${clock.now().toISOString().slice(0, 16)}:00.000Z`;
    expect((await api.call(api.key('team_a', 'users:read'), 'GET', '/users')).status).toBe(200);
    expect((await api.call('svck_live_of_nobody', 'GET', '/users')).status).toBe(401);
    const kinds = async () =>
      (
        await query(
          `select distinct split_part(bucket, ':', 1) as kind
           from (select bucket from rate_counter union select bucket from team_counter) c
           order by 1`,
        )
      ).map(({ kind }) => kind);
    expect(await kinds()).toEqual(['ip', 'key', 'keys']);
    const lastUse = async () => {
      const token = await tokenOf(
        { kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' },
        clock.now(),
      );
      const { data } = await appAs(api, token).admin.apiKeys.list.query({ limit: 200 });
      return data.find(({ name }) => name === 'users:read')?.last_used_at;
    };
    clock.advance(61 * 60_000);
    await remove();
    expect(await kinds()).toEqual(['key']);
    expect(await lastUse()).toBe(usedAt);
    clock.advance(400 * DAY_MS);
    await remove();
    expect(await lastUse()).toBe(usedAt);
  });

  test('a key counter that a request left behind when its key was erased', async () => {
    const minute = Math.floor(clock.now().getTime() / 60_000);
    await query(
      `insert into team_counter (team_id, bucket, minute, count)
       values ('gone', 'key:svck_live_erased', $1, 1), ('gone', 'key:svck_live_erasing', $2, 1)`,
      [minute - 61, minute - 60],
    );
    await remove();
    expect(await query(`select bucket from team_counter where bucket like 'key:%eras%'`)).toEqual([
      { bucket: 'key:svck_live_erasing' },
    ]);
  });

  test('for every team', async () => {
    const rows = [
      await addAuditEntry(ago(401 * DAY_MS)),
      await addAuditEntry(ago(401 * DAY_MS), 'team_b'),
    ];
    const young = await addAuditEntry(ago(399 * DAY_MS), 'team_b');
    await remove();
    expect(await Promise.all([...rows, young].map((row) => row.exists()))).toEqual([
      false,
      false,
      true,
    ]);
  });
});

describe('what a sandbox keeps for a shorter time, its live team keeps', () => {
  const TEAMS = ['team_a', 'team_a:sandbox'];
  beforeAll(async () => {
    await openSandbox(api, 'a', 'empty', clock.now());
    await query('truncate audit_log, api_key_usage');
  });

  test.each([
    [
      'usage: 90 days, and 30',
      90,
      `insert into api_key_usage (team_id, day, key_id)
       select distinct on (team_id) team_id, $2::date, id
       from api_key
       where team_id = $1`,
      'select team_id, day as at from api_key_usage',
    ],
    [
      'audit entries: 400 days, and 30',
      400,
      `insert into audit_log (team_id, id, created_at, actor_kind, actor_id, action, request_id)
       select $1, 'aud_' || $2::text, $2::timestamptz, 'system', 'worker', 'test', 'none'`,
      'select team_id, created_at::date as at from audit_log',
    ],
  ])('%s', async (_what, liveDays, insert, list) => {
    for (const team of TEAMS)
      for (const days of [29, 40, liveDays + 10])
        await query(insert, [team, ago(days * DAY_MS).toISOString()]);
    await remove();
    const left = await query(
      `select team_id, $1::date - at as days from (${list}) each order by team_id, days`,
      [ago(0).toISOString()],
    );
    expect(left).toEqual([
      { team_id: 'team_a', days: 29 },
      { team_id: 'team_a', days: 40 },
      { team_id: 'team_a:sandbox', days: 29 },
    ]);
  });
});

describe('a waiting delivery', () => {
  test.each<[string, Omit<DeliveryOptions, 'event'>]>([
    ['for its first attempt', { status: 'pending', lastAttemptAt: null }],
    ['for a retry', { status: 'retrying', lastAttemptAt: ago(900 * DAY_MS) }],
    [
      'for an attempt that was asked for, after it gave up',
      { status: 'gave_up', lastAttemptAt: ago(900 * DAY_MS), isUrgent: true },
    ],
  ])('%s: neither the delivery nor its event is ever removed', async (_for, options) => {
    const event = await addEvent(ago(900 * DAY_MS));
    const delivery = await addDelivery({ event, ...options });
    await remove();
    expect([await delivery.exists(), await event.exists()]).toEqual([true, true]);
  });
});

describe('an event', () => {
  test('is removed with its last delivery', async () => {
    const event = await addEvent(ago(50 * DAY_MS));
    const old = await addDelivery({ event, lastAttemptAt: ago(31 * DAY_MS) });
    // An endpoint gets an event once, so the second delivery needs another endpoint.
    await query(
      `insert into webhook_endpoint
         (team_id, id, url, events, api_version, secret_encrypted, created_at)
       select team_id, 'whe_more', url, events, api_version, '', created_at
       from webhook_endpoint
       where id = 'whe_a'`,
    );
    await query(`update webhook_delivery set endpoint_id = 'whe_more' where event_id = $1`, [
      event.id,
    ]);
    const young = await addDelivery({ event, lastAttemptAt: ago(29 * DAY_MS) });
    await remove();
    expect([await old.exists(), await young.exists(), await event.exists()]).toEqual([
      false,
      true,
      true,
    ]);
    clock.advance(DAY_MS + 1);
    await remove();
    expect([await young.exists(), await event.exists()]).toEqual([false, false]);
  });

  test('that was not fanned out yet is never removed', async () => {
    const event = await addEvent(ago(900 * DAY_MS), { isFannedOut: false });
    await remove();
    expect(await event.exists()).toBe(true);
  });
});

describe('the removal', () => {
  test('works in batches until nothing old is left, and returns the counts', async () => {
    for (let n = 0; n < 7; n += 1) await addIdempotencyRecord(ago(2 * DAY_MS));
    const young = await addIdempotencyRecord(ago(HOUR_MS));
    expect(await remove(3)).toMatchObject({ idempotency: 7, deliveries: 0 });
    expect(await young.exists()).toBe(true);
    for (let n = 0; n < 6; n += 1) await addIdempotencyRecord(ago(2 * DAY_MS));
    for (let n = 0; n < 4; n += 1) await addJob(ago(31 * DAY_MS), 'attempts = 25');
    expect(await remove(3)).toMatchObject({ idempotency: 6, jobs: 4 });
    expect(await remove(3)).toEqual({
      idempotency: 0,
      deliveries: 0,
      events: 0,
      usage: 0,
      resends: 0,
      invitation_resends: 0,
      spent_tokens: 0,
      sandbox_mails: 0,
      audit: 0,
      sandbox_usage: 0,
      sandbox_audit: 0,
      jobs: 0,
      counters: 0,
      teamCounters: 0,
    });
  });

  test('skips a locked row instead of waiting, and removes it the next time', async () => {
    const event = await addEvent(ago(0));
    const [held, free] = [
      await addAuditEntry(ago(500 * DAY_MS)),
      await addAuditEntry(ago(500 * DAY_MS)),
    ];
    const delivery = await addDelivery({ event, lastAttemptAt: ago(500 * DAY_MS) });
    const holder = await api.db.pool.connect();
    await holder.query('begin');
    await holder.query(
      'select from webhook_delivery where team_id = $1 and event_id = $2 for no key update',
      ['team_a', event.id],
    );
    const first = `select id
      from audit_log
      where team_id = 'team_a' and created_at = $1
      order by id
      limit 1
      for update`;
    const { rows } = await holder.query(first, [ago(500 * DAY_MS)]);
    expect(rows).toHaveLength(1);
    await remove();
    expect([await held.exists(), await free.exists(), await delivery.exists()]).toEqual([
      true,
      false,
      true,
    ]);
    await holder.query('rollback');
    holder.release();
    await remove();
    expect([await held.exists(), await delivery.exists()]).toEqual([false, false]);
  });

  test('by two workers at once removes everything once', async () => {
    for (let n = 0; n < 40; n += 1) await addIdempotencyRecord(ago(2 * DAY_MS));
    const [one, two] = await Promise.all([remove(5), remove(5)]);
    expect((one['idempotency'] ?? 0) + (two['idempotency'] ?? 0)).toBe(40);
  });

  test('is an hourly job', async () => {
    expect(RETENTION_CRON).toMatchObject([
      { task: REMOVE_OLD, match: expect.stringMatching(/^\d+ \* \* \* \*$/) },
    ]);
    const old = await addAuditEntry(ago(401 * DAY_MS));
    await retentionTasks(api.db, clock)[REMOVE_OLD]?.({}, {} as never);
    expect(await old.exists()).toBe(false);
  });

  test('removes nothing that is of now by the clock of a worker that is ahead', async () => {
    const rows = [await addAuditEntry(new Date()), await addIdempotencyRecord(new Date())];
    await removeOld(api.db, clockAhead(401 * DAY_MS));
    expect(await Promise.all(rows.map((row) => row.exists()))).toEqual([true, true]);
  });

  test('leaves an Idempotency-Key alone that is valid by a clock an hour behind', async () => {
    const call = (key: string) =>
      api.call(api.key('team_a'), 'POST', '/users', {
        body: { email: `${key}@example.test` },
        headers: { 'idempotency-key': 'again' },
      });
    expect((await call('first')).status).toBe(201);
    expect((await call('second')).status).toBe(422);
    clock.advance(DAY_MS);
    await removeOld(api.db, fixedClock(new Date(clock.now().getTime() + HOUR_MS)));
    expect((await call('second')).status).toBe(422);
    clock.advance(HOUR_MS + 1);
    await remove();
    expect((await call('second')).status).toBe(201);
  });
});
