// What a team's activity leaves behind: figures, usage, audit entries, kept responses and jobs, and
// what is removed when it is old. There are two teams with the same ids.
import { Client } from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ENCRYPTED_COLUMNS } from '../../src/core/encrypted-columns.ts';
import { encrypt } from '../../src/core/encryption.ts';
import { contextOfJob } from '../../src/db/change-context.ts';
import type { Db, Tx } from '../../src/db/client.ts';
import { movePendingJobs } from '../../src/db/jobs/job-intake.ts';
import { releaseKeptEvents } from '../../src/db/kept-events.ts';
import { forgetKeptDetails } from '../../src/db/kept-responses.ts';
import { rotateCanary } from '../../src/db/operator/app-secret.ts';
import { expectedMigrations, isMigrated } from '../../src/db/operator/migrations.ts';
import { rotateSecret, type Rotation } from '../../src/db/operator/rotate-secret.ts';
import { enqueue, record } from '../../src/db/outbox.ts';
import { readChangeContext } from '../../src/db/change-context.ts';
import * as platformAnalytics from '../../src/features/analytics/platform-store.ts';
import { periodOf } from '../../src/features/analytics/rules.ts';
import { readTeam } from '../../src/features/analytics/store.ts';
import * as audit from '../../src/features/audit-log/store.ts';
import { RETENTIONS, type Retention } from '../../src/features/retention/rules.ts';
import * as retention from '../../src/features/retention/store.ts';
import * as usage from '../../src/features/usage/store.ts';
import { findRecord, insertRecord } from '../../src/http/api/idempotency-store.ts';
import { makeSandbox } from '../support/sandbox.ts';
import { TEST_APP_SECRET } from '../support/api.ts';
import { untilWaiting } from '../support/locks.ts';
import { openTwinStores, whileSession, type TwinStores } from '../support/twin-stores.ts';

const AT = new Date('2026-11-20T10:00:00.000Z');

let twins: TwinStores;
beforeEach(async () => {
  twins = await openTwinStores();
});

const run = (text: string, values: unknown[] = []) => twins.pool.query(text, values);
/** Reads one column, in its order. */
async function column(text: string): Promise<string[]> {
  const { rows } = await run(`select v::text from (${text}) t (v) order by 1`);
  return rows.map(({ v }) => v as string);
}

describe.each(RETENTIONS)('deleteOld of $name', (kind) => {
  const { table, at, type = 'timestamptz' } = kind;
  // Postgres makes the column of a delivery.
  const set = at === 'kept_from' ? 'last_attempt_at' : at;
  const BEFORE = new Date('2026-10-10T00:00:00.000Z');
  const remove = (options: { position?: string | null; limit?: number; db?: Db } = {}) =>
    retention.deleteOld(options.db ?? twins.db, kind, BEFORE, {
      position: options.position ?? null,
      limit: options.limit ?? 9,
    });
  const place = (index: number) =>
    `(select ctid from ${table} order by ctid offset ${index} limit 1)`;
  const setAt = async (...days: string[]) => {
    // The rows move when they are written, so all are chosen before.
    const cases = days.map((day, index) => `when ${place(index)} then '${day}'::${type}`);
    await run(`update ${table} set ${set} = case ctid ${cases.join(' ')} else ${set} end`);
  };
  const old = async () =>
    (await column(`select ${at} at time zone 'UTC' from ${table} where ${at} < '2026-10-11Z'`)).map(
      (day) => day.slice(0, 10),
    );

  /** All that is there can go when it is old, and is not. */
  beforeEach(async () => {
    if (kind.name.startsWith('sandbox_'))
      for (const team of ['team_a', 'team_b']) {
        await makeSandbox(twins.pool, team, `${team}:sandbox`);
        await run(
          `insert into sandbox_mail (team_id, id, recipient, subject, body, created_at)
           select $1, 'another_' || n, 'x', 'x', 'x', '2026-11-20Z' from generate_series(1, 4) n`,
          [`${team}:sandbox`],
        );
      }
    if (table === 'event') await run('delete from webhook_delivery');
    else
      await run(
        `update webhook_delivery
         set status = 'ok', urgent = false, claimed_by = null, next_try_at = null`,
      );
    await run(`update webhook_resend set state = 'done'  , finished_at = '2026-11-20Z'`);
    await run(`delete from api_key_usage where day < '2026-11-10'`);
    await run(`update ${table} set ${set} = '2026-11-20Z'`);
  });

  test('deletes the oldest rows, and goes on where it ended', async () => {
    await setAt('2026-10-09Z', '2026-10-07Z', '2026-10-08Z', '2026-10-10Z');
    expect(await remove({ limit: 2 })).toMatchObject({ seen: 2, removed: 2 });
    expect(await old()).toEqual(['2026-10-09', '2026-10-10']);
    const batch = await remove();
    expect(batch).toMatchObject({ seen: 1, removed: 1 });
    expect(batch.position?.slice(0, 10)).toBe('2026-10-09');
    expect(await remove()).toMatchObject({ seen: 0, removed: 0, position: null });
  });

  test('passes over what lies before its position, or is locked', async () => {
    await setAt('2026-10-07Z', '2026-10-08Z', '2026-10-09Z');
    const held = `${table}
      where ${at} = (select min(${at}) from ${table} where ${at} > '2026-10-07Z')`;
    const batch = await twins.whileLocked(held, () => remove({ position: '2026-10-08' }));
    expect(batch).toMatchObject({ seen: 1, removed: 1 });
    expect(await old()).toEqual(['2026-10-07', '2026-10-08']);
  });
});

const kindOf = (name: string): Retention => {
  const found = RETENTIONS.find((kind) => kind.name === name);
  if (!found) throw new Error(`no kind ${name}`);
  return found;
};

describe('deleteOld', () => {
  const remove = (name: string, db: Db = twins.db) =>
    retention.deleteOld(db, kindOf(name), AT, { position: null, limit: 99 });

  test.each([
    `status = 'gave_up', next_try_at = null, urgent = true`,
    `status = 'retrying', next_try_at = now()`,
  ])('leaves a delivery that waits: %s', async (state) => {
    await run(`delete from webhook_delivery where id <> 'whd_1'`);
    await run(`update webhook_delivery set ${state}, last_attempt_at = '2026-10-01Z'`);
    expect(await twins.changes(() => remove('deliveries'))).toEqual({});
  });

  describe('of events', () => {
    /** One event is old. The twin of the other team has deliveries, and so have other events. */
    beforeEach(async () => {
      await run(`update event set created_at = '2026-11-21Z'`);
      await run(
        `update event set created_at = '2026-10-01Z' where team_id = 'team_a' and id = 'evt_1'`,
      );
    });
    const deleteDelivery = () =>
      run(`delete from webhook_delivery where team_id = 'team_a' and event_id = 'evt_1'`);
    const marked = { event: ['team_a evt_1: kept_for_deliveries false → true'] };

    test('marks one that has deliveries', async () => {
      expect(await twins.changes(() => remove('events'))).toEqual(marked);
      expect(await remove('events')).toMatchObject({ seen: 0 });
    });

    test('deletes one without deliveries', async () => {
      await deleteDelivery();
      expect(await twins.changes(() => remove('events'))).toEqual({ event: ['- team_a evt_1'] });
    });

    test('leaves one that waits for its fan-out', async () => {
      await deleteDelivery();
      await run(`update event set fanned_out_at = null where id = 'evt_1'`);
      expect(await twins.changes(() => remove('events'))).toEqual({});
    });

    test('holds a delivery of what it marks, unless it is being deleted', async () => {
      expect(await twins.lockedBy('webhook_delivery', (tx) => remove('events', tx))).toEqual([
        'team_a whd_1',
      ]);
      await run(`update event set kept_for_deliveries = false`);
      const held = `webhook_delivery where team_id = 'team_a' and event_id = 'evt_1'`;
      const removeMeanwhile = () => twins.whileLocked(held, () => remove('events'));
      expect(await twins.changes(removeMeanwhile)).toEqual({});
    });

    test('releases one that is kept once its own team has no delivery of it', async () => {
      await run(`update event set kept_for_deliveries = true`);
      await deleteDelivery();
      const removed = ['evt_1', 'evt_2'].map((event_id) => ({ team_id: 'team_a', event_id }));
      expect(await twins.changesIn((tx) => releaseKeptEvents(tx, removed))).toEqual({
        event: ['team_a evt_1: kept_for_deliveries true → false'],
      });
    });

    test('locks those that are kept before it looks whether deliveries are left', async () => {
      await run(`update event set kept_for_deliveries = id <> 'evt_3'`);
      const removed = ['evt_2', 'evt_3', 'evt_1', 'evt_2'].map((event_id) => ({
        team_id: 'team_a',
        event_id,
      }));
      // Deliveries of them are left, so nothing is written.
      const release = (tx: Tx) => releaseKeptEvents(tx, removed);
      expect(await twins.lockedBy('event', release)).toEqual(['team_a evt_1', 'team_a evt_2']);
      expect(await twins.changesIn(release)).toEqual({});
    });
  });

  const minute = Math.floor(AT.getTime() / 60_000) - 60;

  test('deletes old rate counters', async () => {
    await run(
      `insert into rate_counter (bucket, minute, count)
       select bucket, $1::int - age, 1
       from (values ('ip:1', 1), ('ip:2', 0), ('link:x', 1), ('ip:0', 1)) t (bucket, age)`,
      [minute],
    );
    const counters = () => column('select bucket from rate_counter');
    const clean = (position: string | null, limit = 99) =>
      retention.deleteOldCounters(twins.db, 'counters', AT, { position, limit });
    expect(await clean(null, 1)).toMatchObject({ seen: 1, removed: 1 });
    expect((await counters()).includes('ip:0')).toBe(false);
    await twins.whileLocked(`rate_counter where bucket = 'link:x'`, () => clean('ip:1'));
    expect(await counters()).toEqual(['ip:1', 'ip:2', 'link:x']);
    expect(await clean(null)).toMatchObject({ seen: 3, removed: 2, position: 'link:x' });
    expect(await counters()).toEqual(['ip:2']);
  });

  test('deletes old rate counters of a distributed database in batches', async () => {
    await run(
      `insert into rate_counter (bucket, minute, count)
       select 'ip:' || n, $1::int - 1, 1
       from generate_series(1, 5) n
       union all select 'ip:young', $1, 1`,
      [minute],
    );
    const clean = () => retention.deleteCountersInShards(twins.db, AT, 3);
    expect(await clean()).toEqual({ seen: 3, removed: 3, position: null });
    expect(await clean()).toEqual({ seen: 3, removed: 2, position: null });
    expect(await clean()).toEqual({ seen: 0, removed: 0, position: null });
    expect(await column('select bucket from rate_counter')).toEqual(['ip:young']);
  });

  test('deletes old rate counters of teams, but not those of keys', async () => {
    await run(
      `insert into team_counter (team_id, bucket, minute, count)
       select team_id, bucket, $1::int - age, 1
       from (
         select team_id, 'key:' || prefix as bucket, 9 as age from api_key where team_id = 'team_a'
         union all select 'team_b', 'key:' || min(prefix), 1 from api_key where team_id = 'team_a'
         union all values ('team_a', 'app', 1), ('team_a', 'keys', 0), ('team_c', 'app', 1)
         union all select 'team_a', 'net:' || min(prefix), 1 from api_key
       ) t`,
      [minute],
    );
    const counters = () =>
      column(`select distinct team_id || ' ' || split_part(bucket, ':', 1) from team_counter`);
    const clean = (position: string | null, limit = 99) =>
      retention.deleteOldCounters(twins.db, 'teamCounters', AT, { position, limit });
    expect(await clean(null, 1)).toMatchObject({ removed: 1, position: '["team_a", "app"]' });
    await twins.whileLocked(`team_counter where team_id = 'team_c'`, () => clean(null));
    expect(await counters()).toEqual(['team_a key', 'team_a keys', 'team_c app']);
    expect(await clean('["team_b", ""]')).toMatchObject({ seen: 1, removed: 1 });
    expect(await counters()).toEqual(['team_a key', 'team_a keys']);
  });
});

describe('usage', () => {
  test('is added up by day, the first day first', async () => {
    const list = async (filters: usage.UsageFilters) =>
      (await usage.listDays(twins.db, 'team_a', filters)).map(
        (row) => `${row.day} ${row.count_2xx}`,
      );
    const EARLY = '2026-01-01';
    expect(await list({ since: EARLY })).toEqual(['2026-11-02 2', '2026-11-17 10']);
    expect(await list({ since: '2026-11-17' })).toEqual(['2026-11-17 10']);
    expect(await list({ since: EARLY, until: '2026-11-02' })).toEqual(['2026-11-02 2']);
    expect(await list({ since: EARLY, key_id: 'key_full' })).toEqual([
      '2026-11-02 1',
      '2026-11-17 5',
    ]);
  });

  const counts = (teamId: string, keyId: string, day = 20774): usage.Counts => ({
    teamId,
    keyId,
    day,
    lastMinute: 1,
    peakPercent: 0,
    count2xx: 1,
    count4xx: 0,
    count429: 0,
    count5xx: 0,
  });

  test('is added to what is stored, for keys that exist', async () => {
    await run(`delete from api_key_usage where key_id = 'key_second' and team_id = 'team_a'`);
    await run(`delete from api_key where team_id = 'team_a' and id = 'key_second'`);
    const changed = await twins.changes(async () => {
      const left = await usage.addUsage(twins.db, [
        counts('team_a', 'key_full'),
        counts('team_a', 'key_full', 20775),
        counts('team_a', 'key_second'),
      ]);
      expect(left).toEqual([]);
    });
    expect(changed).toEqual({
      api_key: ['team_a key_full: last_used_at null → 1970-01-01T00:01:00+00:00'],
      api_key_usage: [
        '+ team_a 2026-11-18 key_full',
        'team_a 2026-11-17 key_full: count_2xx 5 → 6',
      ],
    });
  });

  test('waits for no key that somebody has locked', async () => {
    const given = [counts('team_a', 'key_full'), counts('team_b', 'key_full')];
    const changed = await twins.changes(() =>
      twins.whileLocked(`api_key where team_id = 'team_a' and id = 'key_full'`, async () => {
        expect(await usage.addUsage(twins.db, given)).toEqual([given[0]]);
      }),
    );
    expect(changed['api_key_usage']).toEqual(['team_b 2026-11-17 key_full: count_2xx 50 → 51']);
  });

  test('says when a key was last used, and never goes back', async () => {
    const use = async (lastMinute: number, ...keys: string[]) => {
      const given = keys.map((key) => {
        const [teamId = '', keyId = ''] = key.split(' ');
        return { ...counts(teamId, keyId), lastMinute };
      });
      return (await twins.changes(() => usage.addUsage(twins.db, given)))['api_key'];
    };
    const [full, other] = ['team_a key_full', 'team_a key_second'];
    expect(await use(1, full)).toEqual([`${full}: last_used_at null → 1970-01-01T00:01:00+00:00`]);
    await run(
      `update api_key
       set last_used_at = '1970-01-01T00:02:00Z'
       where (team_id, id) <> ('team_a', 'key_second')`,
    );
    expect(await use(1, full)).toBeUndefined();
    expect(await use(2, full)).toBeUndefined();
    const later = ' → 1970-01-01T00:03:00+00:00';
    expect(await use(3, full)).toEqual([`${full}: last_used_at 1970-01-01T00:02:00+00:00${later}`]);
    expect(await use(3, other)).toEqual([`${other}: last_used_at null${later}`]);
  });

  test('leaves the last use to a process that is writing it', async () => {
    const session = `begin;
      select from api_key where team_id = 'team_a' and id = 'key_full' for no key update`;
    const given = [counts('team_a', 'key_full'), counts('team_a', 'key_second')];
    const changed = await twins.changes(() =>
      whileSession(twins.url, session, async () => {
        expect(await usage.addUsage(twins.db, given)).toEqual([]);
      }),
    );
    expect(changed['api_key_usage']).toHaveLength(2);
    expect(changed['api_key']).toEqual([
      'team_a key_second: last_used_at null → 1970-01-01T00:01:00+00:00',
    ]);
  });

  test.each([
    ['team_b', '2026-11-17', 'key_full'],
    ['team_a', '2026-11-02', 'key_full'],
    ['team_a', '2026-11-17', 'key_second'],
  ])('is written in the order of its keys: %s %s %s', async (teamId, day, keyId) => {
    const isHeld = `team_id = '${teamId}' and day = '${day}' and key_id = '${keyId}'`;
    const days: Record<string, number> = { '2026-11-17': 20774, '2026-11-02': 20759 };
    const first =
      day === '2026-11-02' ? counts('team_a', 'key_full', 20759) : counts('team_a', 'key_full');
    const second =
      day === '2026-11-02' ? counts('team_a', 'key_full') : counts(teamId, keyId, days[day]);
    const held =
      day === '2026-11-02'
        ? `team_id = 'team_a' and day = '2026-11-17' and key_id = 'key_full'`
        : isHeld;
    const locked = await twins.lockedBefore(`api_key_usage where ${held}`, 'api_key_usage', () =>
      usage.addUsage(twins.db, [second, first]),
    );
    expect(locked).toHaveLength(2);
  });
});

describe('the audit log', () => {
  const list = async (
    filters: audit.AuditFilters = {},
    limit = 99,
    after: { at: string; id: string } | null = null,
  ) =>
    (await audit.listEntries(twins.db, 'team_a', { limit, after }, filters)).rows.map(
      ({ id, details }) => `${id} ${String(details['of'])}`,
    );
  const entries = (...numbers: number[]) => numbers.map((number) => `aud_${number} a`);

  beforeEach(async () => {
    await run(
      `update audit_log
       set created_at = timestamptz '2026-11-20Z' + interval '1 h' * (right(id, 1)::int / 2)`,
    );
  });

  test('shows entries of the team, the newest first', async () => {
    expect(await list()).toEqual(entries(7, 6, 5, 4, 3, 2, 1, 0));
    expect(await list({}, 2)).toEqual(entries(7, 6));
    const after = { at: '2026-11-20T02:00:00.000Z', id: 'aud_5' };
    expect(await list({}, 99, after)).toEqual(entries(4, 3, 2, 1, 0));
  });

  test('begins with a time and ends before another', async () => {
    const [since, until] = ['2026-11-20T01:00:00.000Z', '2026-11-20T02:00:00.000Z'];
    expect(await list({ since })).toEqual(entries(7, 6, 5, 4, 3, 2));
    expect(await list({ until })).toEqual(entries(3, 2, 1, 0));
  });

  test.each([
    ['of one moment', `timestamptz '2026-11-21Z'`, 'aud_n210 n'],
    ['of many', `timestamptz '2026-11-21Z' - interval '1 s' * n`, 'aud_n001 n'],
  ])('begins with the newest of more than a page, %s', async (_case, createdAt, newest) => {
    await run(
      `insert into audit_log
         (team_id, id, created_at, actor_kind, actor_id, action, request_id, details)
       select 'team_a', 'aud_n' || to_char(n, 'FM000'), ${createdAt}, 'user', 'mem_1', 'x.y',
         '01900000-0000-7000-8000-000000000000', '{"of": "n"}'
       from generate_series(1, 210) n`,
    );
    expect(await list({}, 1)).toEqual([newest]);
  });
});

describe('analytics', () => {
  const DAY_MS = 86_400_000;
  const MONDAY = Date.UTC(2026, 10, 16);
  const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  /** A score of each day, such that each set of days has another sum. */
  const scoreOf = (ms: number): number => {
    const day = (MONDAY - ms) / DAY_MS + 7;
    return day * day + day;
  };

  /** Every day of 14 weeks has one score of `usr_1` of team A, whom nobody else has. */
  beforeEach(async () => {
    await run('delete from analytics_person');
    await run('delete from analytics_person_week');
    const weeks = Array.from({ length: 14 }, (_, index) => MONDAY - index * 7 * DAY_MS);
    for (const monday of weeks) {
      const scores = [0, 1, 2, 3, 4, 5, 6].map((day) => scoreOf(monday + day * DAY_MS));
      const names = scores.map((_, day) => `day${day + 1}_sum, day${day + 1}_count`);
      const sum = scores.reduce((total, score) => total + score, 0);
      await run(
        `insert into analytics_person_week
           (team_id, week, user_id, total_sum, total_count, ${names.join(', ')})
         select team_id, $1, user_id, $2::int * weight, 7 * weight,
           ${scores.map((score) => `${score} * weight, weight`).join(', ')}
         from (values ('team_a', 'usr_1', 1), ('team_a', 'usr_4', 1000), ('team_b', 'usr_1', 1000))
           t (team_id, user_id, weight)`,
        [dateOf(monday), sum],
      );
    }
  });

  /** Sum and count of the scores of the days between two ages. */
  const between = (today: number, from: number, to: number) => {
    const ages = Array.from({ length: to - from }, (_, index) => from + index);
    const sum = ages.reduce((total, age) => total + scoreOf(today - age * DAY_MS), 0);
    return { sum, count: ages.length };
  };

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])(
    'sums up the windows and weeks up to day %i',
    async (offset) => {
      const today = MONDAY - 7 * DAY_MS + offset * DAY_MS;
      const period = periodOf(new Date(today));
      const { people, weeks } = await readTeam(twins.db, 'team_a', period);
      expect(people).toEqual([
        expect.objectContaining({
          recent: between(today, 0, 30),
          previous: between(today, 30, 60),
        }),
      ]);
      const expected = period.weeks.map((week) => {
        const first = (today - Date.parse(week)) / DAY_MS;
        return [week, between(today, Math.max(0, first - 6), first + 1)] as const;
      });
      expect(Object.fromEntries(weeks)).toEqual(Object.fromEntries(expected));
    },
  );

  test('sums up active members, also those without a score of late, or ever', async () => {
    await run(
      `insert into analytics_person (team_id, user_id, sessions, scored, closing_sum, closing_count)
       values ('team_a', 'usr_1', 5, 4, 70, 1), ('team_a', 'usr_2', 1, 0, 30, 1),
         ('team_a', 'usr_4', 100, 100, 1000, 1), ('team_b', 'usr_1', 100, 100, 1000, 1)`,
    );
    await run(`update member set status = 'ended' where team_id = 'team_a' and id = 'mem_8'`);
    const figures = await readTeam(twins.db, 'team_a', periodOf(AT));
    const sessions = figures.people.map((person) => person.sessions);
    expect(sessions.toSorted((a, b) => a - b)).toEqual([1, 5]);
    const recent = new Map(figures.people.map((person) => [person.sessions, person.recent.count]));
    expect(Object.fromEntries(recent)).toEqual({ 1: 0, 5: 30 });
    expect(figures.activeMembers).toBe(7);
    expect([...figures.dimensions]).toEqual([['closing', { sum: 100, count: 2 }]]);
  });

  const pairs = Array.from({ length: 5 }, () => ({ sum: 3, count: 1 }));
  const change = { sessions: 1, scored: 1, total: { sum: 3, count: 1 }, dimensions: pairs };

  test('addToPerson adds to one person', async () => {
    const add = (userId: string) =>
      twins.changesIn((tx) => platformAnalytics.addToPerson(tx, 'team_a', userId, change));
    await run(
      `insert into analytics_person (team_id, user_id)
       values ('team_b', 'usr_1'), ('team_a', 'usr_2')`,
    );
    expect(await add('usr_1')).toEqual({ analytics_person: ['+ team_a usr_1'] });
    const { analytics_person = [] } = await add('usr_1');
    expect([...new Set(analytics_person.map((line) => line.replace(/:.*/, '')))]).toEqual([
      'team_a usr_1',
    ]);
    expect(analytics_person).toContain('team_a usr_1: total_sum 3 → 6');
  });

  test('addToWeek adds to one day, and removes a week without scores', async () => {
    const add = (sum: number, count: number) =>
      twins.changesIn((tx) =>
        platformAnalytics.addToWeek(
          tx,
          'team_a',
          { userId: 'usr_1', monday: '2026-11-16', day: 3 },
          { sum, count },
        ),
      );
    const key = 'team_a 2026-11-16 usr_1';
    const { analytics_person_week = [] } = await add(5, 1);
    expect(analytics_person_week.map((line) => line.replace(/ \d+ → \d+$/, ''))).toEqual(
      ['day3_count', 'day3_sum', 'total_count', 'total_sum'].map((name) => `${key}: ${name}`),
    );
    await run(
      `update analytics_person_week
       set total_sum = 0,
         total_count = case when team_id = 'team_a' and user_id = 'usr_1' then 2 else 0 end
       where week in ('2026-11-16', '2026-11-09')`,
    );
    await run(`update analytics_person_week set total_count = 0 where week = '2026-11-09'`);
    expect(await add(0, -1)).toEqual({
      analytics_person_week: [
        expect.stringMatching(`${key}: day3_count`),
        `${key}: total_count 2 → 1`,
      ],
    });
    expect(await add(0, -1)).toEqual({ analytics_person_week: [`- ${key}`] });
  });
});

describe('kept responses', () => {
  const key = (now = AT, validFrom = new Date('2026-11-18T11:00:00.000Z')) => ({
    teamId: 'team_a',
    key: 'kept',
    now,
    validFrom,
  });

  test('are found by team and key until they are too old', async () => {
    expect(await findRecord(twins.db, key())).toMatchObject({ location: '/of/a' });
    expect(await findRecord(twins.db, { ...key(), teamId: 'team_b' })).toMatchObject({
      location: '/of/b',
    });
    expect(await findRecord(twins.db, key(AT, AT))).toBeUndefined();
    expect(await findRecord(twins.db, { ...key(), key: 'unknown' })).toBeUndefined();
  });

  test('replace an old one of the same key', async () => {
    const found = await findRecord(twins.db, key());
    if (!found) throw new Error('no record');
    const changed = await twins.changesIn((tx) =>
      insertRecord(tx, key(), {
        ...found,
        status: 202,
        subject_id: null,
        other_subject_ids: null,
        removed_by_reset: false,
      }),
    );
    expect(Object.values(changed).flat()).toEqual([
      expect.stringMatching('team_a kept: created_at'),
      'team_a kept: status 201 → 202',
    ]);
  });

  test('forget the details of a member', async () => {
    const changed = await twins.changesIn((tx) => forgetKeptDetails(tx, 'team_a', ['mem_3', 'x']));
    expect(Object.keys(changed)).toEqual(['idempotency_record']);
    const rows = changed['idempotency_record']?.map((line) => line.replace(/:.*/, ''));
    expect([...new Set(rows)]).toEqual(['team_a kept for mem_3']);
  });

  test('forget the details of a member with those of others in one response', async () => {
    const changed = await twins.changesIn((tx) => forgetKeptDetails(tx, 'team_a', ['mem_8', 'x']));
    const rows = changed['idempotency_record']?.map((line) => line.replace(/:.*/, ''));
    expect([...new Set(rows)]).toEqual(['team_a kept for mem_5']);
  });
});

describe('jobs', () => {
  const insert = (team: string, id: string, jobKey: string | null = null) =>
    run(
      `insert into pending_job (team_id, id, task, payload, key)
       values ($1, $2, 'x', json_build_object('of', $1::text || ' ' || $2::text), $3)`,
      [team, id, jobKey],
    );
  const moved = () => column(`select payload ->> 'of' from graphile_worker._private_jobs`);
  beforeEach(() => run('delete from pending_job'));

  test('are moved once, and the last of those with one key', async () => {
    await insert('team_a', 'job_1');
    await insert('team_b', 'job_1');
    await insert('team_a', 'job_2', 'key');
    await insert('team_b', 'job_3', 'key');
    expect(await movePendingJobs(twins.db)).toBe(4);
    expect(await moved()).toEqual(['team_a job_1', 'team_b job_1', 'team_b job_3']);
    expect(await movePendingJobs(twins.db)).toBe(0);
  });

  test('are added by a change, with its events, or alone', async () => {
    const context = contextOfJob({
      teamId: 'team_a',
      actor: { kind: 'platform', id: 'app' },
      requestId: '01900000-0000-7000-8000-000000000001',
      at: AT,
    });
    const job = { task: 'x', payload: { teamId: 'team_a' } };
    const changed = await twins.changesIn((tx) =>
      record(tx, context, { audit: { action: 'case.deleted', targetId: 'z' }, jobs: [job, job] }),
    );
    expect(changed).toEqual({
      audit_log: [expect.stringMatching(/^\+ team_a /)],
      pending_job: [expect.stringMatching(/^\+ team_a /), expect.stringMatching(/^\+ team_a /)],
    });
    expect(await twins.changes(() => enqueue(twins.db, 'team_b', job))).toEqual({
      pending_job: [expect.stringMatching(/^\+ team_b /)],
    });
  });

  test('are moved in batches, the first ones first, and not while they are locked', async () => {
    await run(
      `insert into pending_job (team_id, id, task, payload)
       select team_id, 'job_' || to_char(n, 'FM000'), 'x',
         json_build_object('of', team_id || ' ' || n)
       from unnest(array['team_b', 'team_a']) team_id, generate_series(1, 251) n`,
    );
    const held = `pending_job where team_id = 'team_a' and id = 'job_001'`;
    expect(await twins.whileLocked(held, () => movePendingJobs(twins.db))).toBe(500);
    expect(await column(`select team_id || ' ' || id from pending_job`)).toEqual([
      'team_a job_001',
      'team_b job_251',
    ]);
  });
});

describe('secrets', () => {
  const secrets = { current: 'b'.repeat(64), previous: TEST_APP_SECRET };

  test('are encrypted again, each in its row', async () => {
    const { keptResponse: response, fingerprint } = ENCRYPTED_COLUMNS;
    await run(`delete from idempotency_record where key <> 'kept'`);
    for (const teamId of ['team_a', 'team_b'])
      await run(
        `update idempotency_record
         set body = $2, fingerprint = $3, encrypted = true, key_id = 'key_full', open_body = '',
           subject_id = 'mem_1'
         where team_id = $1 and key = 'kept'`,
        [
          teamId,
          ...[response, fingerprint].map(({ context }) =>
            encrypt(teamId, TEST_APP_SECRET, context(teamId, 'kept')),
          ),
        ],
      );
    let rotation: Rotation | null = null;
    const changed = await twins.changes(async () => {
      rotation = await rotateSecret(twins.db, secrets);
    });
    expect(rotation).toMatchObject({
      rotated: {
        'webhook_endpoint.secret_encrypted': 10,
        'idempotency_record.body': 2,
        'idempotency_record.fingerprint': 2,
        'crm_connection.credentials_encrypted': 8,
      },
    });
    expect(Object.values(changed).flat()).toHaveLength(22);
    const again = await rotateSecret(twins.db, secrets);
    const all = [...Object.values(again.rotated), ...Object.values(again.unreadable)];
    expect([...new Set(all)]).toEqual([0]);
  });

  test('are all read, however many there are', async () => {
    await run(
      `insert into webhook_endpoint
         (team_id, id, url, events, status, api_version, secret_encrypted, created_at)
       select team_id, 'whe_x' || n, url, events, status, api_version, secret_encrypted, created_at
       from webhook_endpoint, generate_series(1, 400) n
       where id = 'whe_1'`,
    );
    await run(
      `insert into idempotency_record
         (team_id, key, fingerprint, status, body, encrypted, key_id, open_body, subject_id,
          created_at)
       select team_id, 'x' || n, fingerprint, status, 'x', true, 'key_full', '', 'mem_1', created_at
       from idempotency_record, generate_series(1, 400) n
       where key = 'kept'`,
    );
    const { rotated, unreadable } = await rotateSecret(twins.db, secrets);
    expect(rotated['webhook_endpoint.secret_encrypted']).toBe(10);
    expect(unreadable['webhook_endpoint.secret_encrypted']).toBe(800);
    expect(unreadable['idempotency_record.body']).toBe(800);
  });

  const { webhookSecret, keptResponse, crmCredentials } = ENCRYPTED_COLUMNS;
  test.each([
    { encrypted: webhookSecret, row: 'whe_1' },
    { encrypted: keptResponse, row: 'kept' },
    { encrypted: crmCredentials, row: 'crm_1' },
  ])('leave a value that changes meanwhile: $encrypted.table', async ({ encrypted, row }) => {
    const { table, column: name, key } = encrypted;
    const where = `team_id = 'team_a' and ${key} = '${row}'`;
    const sealed = encrypt('new', secrets.current, encrypted.context('team_a', row));
    await run(
      `update idempotency_record
       set body = $1, encrypted = true, key_id = 'key_full', open_body = '', subject_id = 'mem_1'
       where team_id = 'team_a' and key = 'kept'`,
      [encrypt('old', TEST_APP_SECRET, keptResponse.context('team_a', 'kept'))],
    );
    const other = new Client({ connectionString: twins.url });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query('begin');
    await other.query(`update ${table} set ${name} = $1 where ${where}`, [sealed]);
    const rotating = rotateSecret(twins.db, secrets);
    await untilWaiting(twins, 1);
    await other.query('commit');
    await rotating;
    const { rows } = await run(`select ${name} as value from ${table} where ${where}`);
    expect(rows).toEqual([{ value: sealed }]);
  });

  test('are locked in the order of their keys', async () => {
    const rotate = () => rotateSecret(twins.db, secrets);
    const endpoint = `webhook_endpoint where team_id = 'team_b' and id = 'whe_2'`;
    expect(await twins.lockedBefore(endpoint, 'webhook_endpoint', rotate)).toEqual([
      ...[1, 2, 3, 4, 5].map((number) => `team_a whe_${number}`),
      'team_b whe_1',
      'team_b whe_2',
    ]);
    for (const key of ['kept', 'kept for mem_3'])
      await run(
        `update idempotency_record
         set body = $2, encrypted = true, key_id = 'key_full', open_body = '', subject_id = 'mem_1'
         where team_id = 'team_a' and key = $1`,
        [key, encrypt('old', TEST_APP_SECRET, keptResponse.context('team_a', key))],
      );
    const response = `idempotency_record where team_id = 'team_a' and key = 'kept for mem_3'`;
    expect(await twins.lockedBefore(response, 'idempotency_record', rotate)).toHaveLength(2);
  });

  test('the canary follows', async () => {
    await run('delete from app_secret_canary');
    await run('insert into app_secret_canary (sealed) values ($1)', [
      encrypt('the APP_SECRET of this database', TEST_APP_SECRET, 'app_secret_canary.sealed'),
    ]);
    const changed = await twins.changes(() => rotateCanary(twins.db, secrets));
    expect(Object.keys(changed)).toEqual(['app_secret_canary']);
    expect(await twins.changes(() => rotateCanary(twins.db, secrets))).toEqual({});
  });
});

test('readChangeContext takes the switches of the team, unless it is being erased', async () => {
  const context = {
    teamId: 'team_a',
    requestId: 'x',
    at: AT,
    actor: { kind: 'platform' },
  } as never;
  const read = () => twins.inTransaction((tx) => readChangeContext(tx, context));
  await run(`update team set member_detail_enabled = id = 'team_b'`);
  const off = await read();
  await run(`update team set member_detail_enabled = id = 'team_a'`);
  expect(await read()).not.toEqual(off);
  await run(`update team set status = 'ended', erasing_since = now() where id = 'team_a'`);
  await expect(read()).rejects.toThrow('not_found');
});

describe('isMigrated', () => {
  test('says yes when all migrations of this version are applied', async () => {
    const expected = await expectedMigrations();
    expect(await isMigrated(twins.db, expected)).toBe(true);
    expect(await isMigrated(twins.db, [...expected, { name: 'new', checksum: 'x' }])).toBe(false);
  });

  test.each([
    'finished_at = null',
    'rolled_back_at = now()',
    `checksum = 'other'`,
    `migration_name = 'other'`,
  ])('says no when one has %s', async (state) => {
    const expected = await expectedMigrations();
    await run(
      `update _prisma_migrations
       set ${state}
       where migration_name = (select min(migration_name) from _prisma_migrations)`,
    );
    expect(await isMigrated(twins.db, expected)).toBe(false);
  });
});
