// Work over all teams on Citus, and authentication: each acts on the rows of one shard at a time.
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashSecret, parseApiKey } from '../../src/core/api-key.ts';
import { fixedClock } from '../../src/core/clock.ts';
import { openDatabase, type Database } from '../../src/db/connections/database.ts';
import { movePendingJobs } from '../../src/db/jobs/job-intake.ts';
import { rotateSecret } from '../../src/db/operator/rotate-secret.ts';
import { enqueue } from '../../src/db/outbox.ts';
import { KEYS, TENANT_TABLE_NAMES } from '../../src/db/tenant-tables.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { eraseTeams } from '../../src/features/team-lifecycle/erasure-service.ts';
import { addUsage } from '../../src/features/usage/store.ts';
import { MAIL_PAUSE, SEND_PAUSE_MAIL } from '../../src/features/webhook-endpoints/jobs.ts';
import { mailAdmins, pauseEndpoints } from '../../src/features/webhook-endpoints/pause.ts';
import { authenticateRequest } from '../../src/http/api/authentication/key-store.ts';
import { loadSeed } from '../../src/seed/load.ts';
import {
  createDistributed,
  runSql,
  startCitus,
  whyNoCitus,
  type CitusCluster,
} from '../support/citus.ts';
import { because } from '../support/debian.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';

const skipped = whyNoCitus();
if (skipped !== null) console.warn(`Citus is not tested: ${skipped}`);
const APP_SECRET = 'a secret for tests, 32 characters';
const NEXT_SECRET = 'the next secret of the tests, longer';
const NOW = new Date('2026-11-20T10:00:00Z');
/** Enough to be in all shards. */
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const IDS = NAMES.map((name) => `team_${name}`);
const seed = makeSeed(
  NAMES.map((name) =>
    makeFullTeam(name, {
      webhook_endpoints: [{ id: `whe_${name}`, url: 'https://hooks.test/' }],
      webhook_deliveries: [],
    }),
  ),
);

describe.skipIf(skipped !== null)(`on Citus${because(skipped)}`, () => {
  let cluster: CitusCluster;
  let db: Database;
  let url: string;
  let keys: Record<string, string>;

  beforeAll(async () => {
    cluster = await startCitus();
    url = await createDistributed(cluster, 'background');
    const { teams } = await loadSeed(url, seed, { replace: false, appSecret: APP_SECRET });
    keys = Object.fromEntries(IDS.map((id) => [id, teams[id]?.api_keys['full'] ?? '']));
    db = openDatabase({ url, poolMax: 8, onError: () => undefined });
  });
  afterAll(async () => {
    await db?.close();
    await cluster?.stop();
  });

  const rows = async <Row extends object>(sql: string): Promise<Row[]> => runSql<Row>(url, sql);
  const count = async (from: string): Promise<number> =>
    (await rows<{ n: number }>(`select count(*)::int as n from ${from}`))[0]?.n ?? -1;

  test('a key is found and counted with the rows of its team, known or not', async () => {
    const ask = (id: string, teamId: string | null) => {
      const { prefix, secret } = parseApiKey(keys[id] ?? '') ?? { prefix: '', secret: '' };
      const nonce = randomBytes(16);
      const proof = createHash('sha256').update(hashSecret(secret)).update(nonce).digest();
      const limits = { keyPerMinute: 100, ipPerMinute: 100, now: NOW };
      return authenticateRequest(db, {
        keyPrefix: prefix,
        nonce,
        proof,
        ip: '10.0.0.1',
        ...limits,
        teamId,
      });
    };
    for (const id of IDS) {
      expect(await ask(id, null)).toMatchObject({ team_id: id, counted: true });
      expect(await ask(id, id)).toMatchObject({ team_id: id, bucket_remaining: 98 });
    }
    expect(await ask('team_a', 'team_b')).toMatchObject({ key_id: null });
    const counted = await rows<{ team_id: string; count: number }>(
      `select team_id, count from team_counter where bucket = 'keys' order by 1`,
    );
    expect(counted).toEqual(IDS.map((id) => ({ team_id: id, count: 2 })));
  });

  test('usage is added for the keys of all teams', async () => {
    const found = await rows<{ team_id: string; id: string }>(
      `select team_id, id from api_key where name = 'full' order by 1`,
    );
    const counts = found.map(({ team_id, id }) => ({
      teamId: team_id,
      keyId: id,
      day: 20_000,
      lastMinute: 28_800_000,
      peakPercent: 0,
      count2xx: 3,
      count4xx: 0,
      count429: 0,
      count5xx: 0,
    }));
    expect(await addUsage(db, counts)).toEqual([]);
    expect(await addUsage(db, counts)).toEqual([]);
    const stored = await rows(
      `select u.team_id, u.count_2xx, k.last_used_at is not null as was_used
       from api_key_usage u
       join api_key k on k.team_id = u.team_id and k.id = u.key_id
       order by 1`,
    );
    expect(stored).toEqual(IDS.map((id) => ({ team_id: id, count_2xx: 6, was_used: true })));
  });

  test('jobs of all teams are handed over once', async () => {
    for (const teamId of IDS) await enqueue(db, teamId, { task: 'x', payload: { teamId } });
    const [one, other] = await Promise.all([movePendingJobs(db), movePendingJobs(db)]);
    // Either takes from a shard what the other one has not locked there.
    expect(one + other).toBe(IDS.length);
    expect(await count('pending_job')).toBe(0);
    expect(await count('graphile_worker._private_jobs')).toBe(IDS.length);
  });

  test('old rows of all teams go, and those that are young stay', async () => {
    const before = await count('audit_log');
    for (const id of IDS) {
      const old = `'${id}', '2025-01-01', 'system', 'x', 'x', 'x'`;
      await rows(
        `insert into audit_log
           (id, team_id, created_at, actor_kind, actor_id, action, request_id)
         values ('old', ${old})`,
      );
      await rows(
        `insert into event (team_id, id, type, data, created_at, fanned_out_at)
         values ('${id}', 'evt_old', 'ping', '{}', '2026-01-01', '2026-01-01')`,
      );
      await rows(
        `insert into webhook_delivery (team_id, id, endpoint_id, event_id, event_type, created_at,
           next_try_at)
         values ('${id}', 'whd_old', 'whe_x', 'evt_old', 'ping', '2026-01-01', '2026-01-01')`,
      );
    }
    await rows(`insert into rate_counter values ('ip:old', 1, 1)`);
    const many = IDS.length;
    const remove = () => removeOld(db, fixedClock(NOW));
    expect(await remove()).toMatchObject({ audit: many, events: 0, deliveries: 0, counters: 1 });
    expect(await count('event where kept_for_deliveries')).toBe(many);
    await rows(
      `update webhook_delivery
       set status = 'gave_up', next_try_at = null, last_attempt_at = '2026-01-02'`,
    );
    expect(await remove()).toMatchObject({ deliveries: many, events: many });
    expect(await count('audit_log')).toBe(before);
  });

  test('silent endpoints of all teams are paused, once, and their admins are mailed', async () => {
    await rows(
      `update webhook_endpoint set failing_since = '2026-01-01', hourly_failures = '{2026-01-01}'`,
    );
    const pause = {
      failingUntil: NOW,
      failedAfter: new Date(0),
      clock: fixedClock(NOW),
      requestId: 'r',
    };
    expect(await pauseEndpoints(db, pause)).toBe(IDS.length);
    expect(await pauseEndpoints(db, pause)).toBe(0);
    expect(await count(`webhook_endpoint where status = 'disabled_failures'`)).toBe(IDS.length);
    expect(await count(`audit_log where action = 'webhook_endpoint.paused'`)).toBe(IDS.length);
    // A job for each pause goes through the admins of the team.
    const jobs = await rows<{ payload: { teamId: string; endpointId: string } }>(
      `select payload from pending_job where task = '${MAIL_PAUSE}' order by team_id`,
    );
    expect(jobs).toHaveLength(IDS.length);
    for (const { payload } of jobs) await mailAdmins(db, { ...payload, after: null });
    expect(await count(`pending_job where task = '${SEND_PAUSE_MAIL}'`)).toBe(2 * IDS.length);
  });

  test('the secrets of all teams are encrypted again', async () => {
    const { rotated, unreadable } = await rotateSecret(db, {
      current: NEXT_SECRET,
      previous: APP_SECRET,
    });
    expect(rotated['webhook_endpoint.secret_encrypted']).toBe(IDS.length);
    expect(Object.values(unreadable).every((lost) => lost === 0)).toBe(true);
  });

  test('a team is erased with all its rows, and only it', async () => {
    await rows(`update team set status = 'ended', erasing_since = now() where id = 'team_b'`);
    while (await eraseTeams(db));
    for (const table of [...TENANT_TABLE_NAMES, KEYS])
      expect([table, await count(`${table} where team_id = 'team_b'`)]).toEqual([table, 0]);
    expect(await count('team')).toBe(IDS.length - 1);
    expect(await count('member')).toBe(3 * (IDS.length - 1));
  });

  test('a seed replaces teams', async () => {
    const file = makeSeed([makeFullTeam('a'), makeFullTeam('b')]);
    await loadSeed(url, file, { replace: true, appSecret: NEXT_SECRET });
    expect(await count('team')).toBe(IDS.length);
    expect(await count(`${KEYS} where team_id = 'team_a'`)).toBe(
      await count(`api_key where team_id = 'team_a'`),
    );
  });
});
