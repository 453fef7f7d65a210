// How much the hourly removal reads.
// @module-tag never-repeated
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { declaredStatements } from '../../src/db/statement.ts';
import { RETENTIONS } from '../../src/features/retention/rules.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { removeDeliveries } from '../../src/features/webhook-deliveries/removal-store.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { inRolledBack, type TeamTransaction } from '../support/shards.ts';

const NOW = new Date('2026-11-02T09:00:00.000Z');
const clock = fixedClock(NOW);
/** Many times what one statement may read. */
const MANY = 10_000;
const BATCH = 100;

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeFullTeam('a')]) });
  await openSandbox(api, 'a', 'empty');
});

const query = async (sql: string, values: unknown[] = []) =>
  (await api.db.pool.query(sql, values)).rows;
const remove = () => removeOld(api.db, clock);

/** Adds `count` events that are `days` old. Their ids are `evt_<name>_1` and so on. */
const addEvents = (name: string, days: number, count: number) =>
  query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select 'team_a', 'evt_' || $1 || '_' || n, 'member.joined', '{}',
       $2::timestamptz - make_interval(days => $3, secs => n::float8 / 1000), $2
     from generate_series(1, $4::int) n`,
    [name, NOW, days, count],
  );

/** Adds a delivery to `endpoint` for each of these events, waiting or finished. */
const addDeliveries = (name: string, endpoint: string, finishedDaysAgo: number | null) =>
  query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, created_at, next_try_at,
        last_attempt_at)
     select team_id, 'whd_' || $2 || id, $2, id, type,
       case when $3::int is null then 'pending' else 'ok' end, created_at,
       case when $3::int is null then created_at end, $4::timestamptz - make_interval(days => $3)
     from event
     where id like 'evt_' || $1 || '_%'`,
    [name, endpoint, finishedDaysAgo, NOW],
  );

const addEndpoint = (id: string) =>
  query(
    `insert into webhook_endpoint
       (team_id, id, url, events, status, api_version, secret_encrypted, created_at)
     values
       ('team_a', $1, 'https://example.com', '{member.joined}', 'disabled', '2026-11', '', $2)`,
    [id, NOW],
  );

beforeEach(async () => {
  await query('truncate webhook_delivery, event, webhook_endpoint cascade');
  await addEndpoint('whe_1');
  await addEndpoint('whe_2');
});

/** Old rows of each other kind, many times what one statement may read. */
const MANY_ROWS: Readonly<Record<string, string>> = {
  idempotency: `insert into idempotency_record
       (team_id, key, fingerprint, status, body, encrypted, created_at)
     select 'team_a', n, '', 200, '', false, '2026-01-01'
     from generate_series(1, $1::int) n`,
  audit: `insert into audit_log
       (team_id, id, created_at, actor_kind, actor_id, action, request_id)
     select 'team_a', 'aud_' || n, '2020-01-01', 'system', 'x', 'x', 'x'
     from generate_series(1, $1::int) n`,
  sandbox_mails: `insert into sandbox_mail (team_id, id, recipient, subject, body, created_at)
     select 'team_a:sandbox', 'mail_' || n, 'x', 'x', 'x', '2020-01-01'
     from generate_series(1, $1::int) n`,
  sandbox_audit: `insert into audit_log
       (team_id, id, created_at, actor_kind, actor_id, action, request_id)
     select team_id, 'aud_' || n, '2020-01-01', 'system', 'x', 'x', 'x'
     from (values ('team_a:sandbox')) of (team_id), generate_series(1, $1::int) n`,
  sandbox_usage: `insert into api_key_usage (team_id, day, key_id)
     select team_id, '2020-01-01'::date - n, id
     from (select * from api_key where team_id = 'team_a:sandbox' limit 1) k,
       generate_series(1, $1::int) n`,
  usage: `insert into api_key_usage (team_id, day, key_id)
     select team_id, '2020-01-01'::date + n, id
     from api_key, generate_series(1, $1::int / 10) n`,
  resends: `insert into webhook_resend
       (team_id, id, endpoint_id, state, since, total, has_more, created_at, finished_at)
     select 'team_a', 'whr_' || n, 'whe_1', 'done', now(), 0, false, '2020-01-01', '2020-01-01'
     from generate_series(1, $1::int) n`,
  invitation_resends: `insert into invitation_resend (team_id, id, member_id, sent_at)
     select team_id, 'inv_' || n, id, '2020-01-01'
     from (select * from member limit 1) m, generate_series(1, $1::int) n`,
  spent_tokens: `insert into spent_token (team_id, id, expires_at)
     select 'team_a', n, '2020-01-01'
     from generate_series(1, $1::int) n`,
  counters: `insert into rate_counter (bucket, minute, count)
     select 'ip:' || n, 1, 1
     from generate_series(1, $1::int) n`,
  teamCounters: `insert into team_counter (team_id, bucket, minute, count)
     select 'team_a', kind || n, 1, 1
     from unnest(array['key:', 'person:']) kind, generate_series(1, $1::int / 2) n`,
};

interface Plan {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

/** Sums up the rows that the scans of a plan have read. */
function rowsRead(plan: Plan): number {
  const isScan = plan['Node Type'].endsWith('Scan') && !/CTE|Subquery/.test(plan['Node Type']);
  const perLoop = plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0);
  const own = isScan ? Math.round(perLoop * plan['Actual Loops']) : 0;
  return (plan.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), own);
}

/** What removes old rows of a kind, and its values: the age, where to begin, how many. */
function removalOf(kind: string): readonly [name: string, values: readonly string[]] {
  const before = kind.endsWith('ounters') ? '1000' : `'${NOW.toISOString()}'`;
  return [`retention.${kind}`, [before, 'null', String(BATCH)]];
}

/**
 * Runs a statement with the plan that serves all values, and returns how many rows it has read.
 * null: shards have another statement.
 */
async function measure(
  { client, textOf, mode }: TeamTransaction,
  name: string,
  values: readonly string[],
): Promise<number | null> {
  const what = declaredStatements().find((each) => each.name === name);
  if (!what) throw new Error(`no statement ${name}`);
  const asked = textOf(what, values);
  if (!asked) return null;
  await client.query(`set local plan_cache_mode = ${mode}`);
  await client.query(`prepare measured as ${asked.text}`);
  const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ readonly Plan: Plan }] }>(
    `explain (analyze, format json) execute measured (${asked.values.join(', ')})`,
  );
  await client.query('deallocate measured');
  const [row] = rows;
  if (!row) throw new Error('no plan');
  return rowsRead(row['QUERY PLAN'][0].Plan);
}

describe('one statement reads a few rows per row that it may delete', () => {
  const kinds = [...RETENTIONS.map(({ name }) => name), 'counters', 'teamCounters'];

  test.each(kinds)('%s, however many there are and whatever the planner knows', async (name) => {
    if (name === 'events' || name === 'deliveries') {
      await addEvents('many', 60, MANY);
      await addDeliveries('many', 'whe_1', name === 'deliveries' ? 40 : null);
    }
    const ofSandbox = name.startsWith('sandbox_');
    // As many rows of the live team are as old, and stay.
    const beside = ofSandbox ? MANY_ROWS[name.replace('sandbox_', '')] : undefined;
    if (beside !== undefined) await query(beside, [MANY]);
    const teamId = ofSandbox ? 'team_a:sandbox' : 'team_a';
    await inRolledBack(api.databaseUrl, teamId, async (transaction) => {
      const fill = MANY_ROWS[name];
      if (fill !== undefined) await transaction.client.query(fill, [MANY]);
      const unknown = await measure(transaction, ...removalOf(name));
      if (unknown === null) return;
      expect(unknown).toBeGreaterThanOrEqual(BATCH);
      expect(unknown).toBeLessThanOrEqual(10 * BATCH);
      await transaction.client.query('analyze');
      expect(await measure(transaction, ...removalOf(name))).toBeLessThanOrEqual(10 * BATCH);
    });
  });
});

describe('events whose deliveries wait', () => {
  test.each(['events.lockKept', 'events.releaseKept'])(
    'are found by their key when deliveries are deleted: %s',
    async (name) => {
      await addEvents('waiting', 60, MANY);
      await addDeliveries('waiting', 'whe_1', null);
      await remove();
      const numbers = Array.from({ length: BATCH }, (_, index) => index + 1);
      const teams = `'{${numbers.map(() => 'team_a').join()}}'`;
      const ids = `'{${numbers.map((number) => `evt_waiting_${number}`).join()}}'`;
      const read = await inRolledBack(api.databaseUrl, 'team_a', async (transaction) => {
        await transaction.client.query(
          `delete from webhook_delivery where event_id = any (${ids})`,
        );
        return measure(transaction, name, [teams, ids]);
      });
      expect(read).toBeGreaterThanOrEqual(BATCH);
      expect(read).toBeLessThanOrEqual(10 * BATCH);
    },
  );

  test('do not keep others, and are not read again until the deliveries are gone', async () => {
    await addEvents('waiting', 60, MANY);
    await addDeliveries('waiting', 'whe_1', null);
    await addEvents('younger', 40, 3);
    expect(await remove()).toMatchObject({ events: 3 });
    const read = await inRolledBack(api.databaseUrl, 'team_a', (transaction) =>
      measure(transaction, ...removalOf('events')),
    );
    expect(read).toBe(0);
    await query(`delete from webhook_endpoint where id = 'whe_1'`);
    const endpoint = { teamId: 'team_a', endpointId: 'whe_1' };
    let after: Awaited<ReturnType<typeof removeDeliveries>> = null;
    do after = await removeDeliveries(api.db, endpoint, after);
    while (after !== null);
    expect(await remove()).toMatchObject({ events: MANY });
  });
});
