// What `npm run trace` tells: the rows of an id, and the reasons that the rows do not tell alone.
import { Client } from 'pg';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { newId, newRequestId } from '../../src/core/ids.ts';
import { WORKER_LOCK_CLASS } from '../../src/delivery/claim-store.ts';
import type { SyncFailure } from '../../src/features/crm/sync/give-up.ts';
import { scheduleDue } from '../../src/features/crm/sync/service.ts';
import { slotOf } from '../../src/features/requests/rules.ts';
import { addRequests } from '../../src/features/requests/store.ts';
import { REASON_CODES } from '../../src/trace/reasons.ts';
import type { TraceResult } from '../../src/trace/service.ts';
import { formatTrace } from '../../src/trace/text.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { atEnd } from '../support/at-end.ts';
import { syncAtOnce } from '../support/crm-sync.ts';
import { answer, startCrm } from '../support/crm/fake.ts';
import { isOnCitus } from '../support/database.ts';
import { makeFullTeam, makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { putSeedBack } from '../support/seeded-rows.ts';
import { codesOf, traceOf } from '../support/trace.ts';

const SECRET_TITLE = 'Nobody else may read this title';
const SECRET_BODY = 'a body that nobody may read';
/** The number of a worker, which lives as long as a session holds its lock. */
const WORKER = 7;

let api: TestApi;
let worker: Client;
/** What the tests ask by. */
let ids: Readonly<Record<'request' | 'event' | 'delivery' | 'endpoint' | 'key' | 'prefix', string>>;

async function rows(text: string, values: unknown[] = []): Promise<Record<string, string>[]> {
  return (await api.db.pool.query<Record<string, string>>(text, values)).rows;
}

/** Writes a call of the key `full` of the team into the request log. */
async function logCall(team: string, id: string, more: object = {}): Promise<void> {
  const [key] = await rows(`select id from api_key where team_id = $1 and name = 'full'`, [team]);
  const call = { team_id: team, id, key_id: key?.['id'] ?? '', method: 'POST', status: 201 };
  const none = { network: null, error_code: null, errors: null, limited_by: null };
  const at = { slot: slotOf(new Date()), created_at: new Date().toISOString(), duration_ms: 1 };
  await addRequests(api.db, [{ ...call, route: '/assignments', ...none, ...at, ...more }]);
}

beforeAll(async () => {
  const none = { crm_connections: [], crm_deals: [], crm_objections: [] };
  const url = 'https://hooks.example/path?token=secret';
  const endpoint = { id: 'whe_a', url, events: ['assignment.created' as const] };
  api = await startTestApi({
    allowPrivateTargets: true,
    seed: makeSeed([
      makeTeam('a', { ...none, webhook_endpoints: [endpoint] }),
      makeFullTeam('b'),
      makeTeam('c', none),
    ]),
  });
  worker = new Client({ connectionString: api.databaseUrl });
  atEnd(() => worker.end());
  await worker.connect();
});

/** A call that has raised an event, whose first attempt has failed. */
beforeEach(async () => {
  await putSeedBack(api);
  await worker.query('select pg_advisory_lock($1, $2)', [WORKER_LOCK_CLASS, WORKER]);
  const made = await api.call(api.key('team_a'), 'POST', '/assignments', {
    body: {
      member_id: memberId('a', 'member'),
      title: SECRET_TITLE,
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    },
  });
  const request = String(made.headers['x-request-id']);
  await logCall('team_a', request);
  await rows(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at, next_try_at,
         last_attempt_at, response_code, response_ms, response_excerpt)
     select team_id, 'whd_a', 'whe_a', id, type, 'retrying', 1, created_at,
       now() + interval '1 hour', created_at, 500, 12, $1
     from event
     where team_id = 'team_a' and request_id = $2`,
    [SECRET_BODY, request],
  );
  const [event] = await rows(
    `update event set fanned_out_at = created_at where team_id = 'team_a' returning id`,
  );
  const [key] = await rows(
    `select id, prefix from api_key where team_id = 'team_a' and name = 'full'`,
  );
  ids = {
    request,
    event: event?.['id'] ?? '',
    delivery: 'whd_a',
    endpoint: 'whe_a',
    key: key?.['id'] ?? '',
    prefix: key?.['prefix'] ?? '',
  };
});

describe('the rows', () => {
  test('of a request lead to the deliveries, and back from each id of the way', async () => {
    const result = await traceOf(api.db, ids.request.toUpperCase());
    expect(result).toMatchObject({
      id: ids.request,
      found: true,
      workers: [WORKER],
      oldest_waiting_event_at: null,
      requests: [{ id: ids.request, route: '/assignments', status: 201 }],
      audit: [{ action: 'assignment.created', request_id: ids.request }],
      events: [{ id: ids.event, type: 'assignment.created', request_id: ids.request }],
      deliveries: [
        {
          id: 'whd_a',
          status: 'retrying',
          attempt: 1,
          claimed_by: null,
          attempts: [{ attempt: 1, response_code: 500, response_ms: 12, error: null }],
        },
      ],
      endpoints: [{ id: 'whe_a', status: 'active', host: 'hooks.example', retrying: 1 }],
      teams: [{ id: 'team_a', status: 'active', is_sandbox: false }],
    });
    expect(codesOf(result)).toEqual([]);
    for (const id of [ids.event, ids.delivery]) {
      const { id: _id, asked_at: _at, ...same } = await traceOf(api.db, id);
      expect(result).toMatchObject(same);
    }
    for (const id of [ids.endpoint, 'team_a'])
      expect(await traceOf(api.db, id)).toMatchObject({
        deliveries: [{ id: 'whd_a' }],
        endpoints: [{ id: 'whe_a' }],
      });
  });

  test('tell how long events wait, what a worker has, and who paused an endpoint', async () => {
    await rows(`update event set fanned_out_at = null where team_id = 'team_a'`);
    await rows(`update webhook_delivery set claimed_by = $1`, [WORKER]);
    const off = await api.call(api.key('team_a'), 'PATCH', '/webhook-endpoints/whe_a', {
      body: { status: 'disabled' },
    });
    const result = await traceOf(api.db, ids.delivery);
    expect(result.oldest_waiting_event_at).toBe(result.events[0]?.created_at);
    expect(result.endpoints).toMatchObject([
      {
        status: 'disabled',
        in_hand: [{ worker: WORKER, count: 1 }],
        changes: [
          {
            action: 'webhook_endpoint.updated',
            detail: 'disabled',
            actor_id: ids.key,
            request_id: off.headers['x-request-id'],
          },
        ],
      },
    ]);
  });

  test('are found among thousands of teams, and in none but the one that is named', async () => {
    await rows(
      `insert into team (id, name, created_at)
       select 'many_' || lpad(i::text, 5, '0'), 'M', now() from generate_series(1, 4500) i`,
    );
    for (const id of [ids.request, ids.event, ids.key, ids.prefix]) {
      expect((await traceOf(api.db, id)).teams).toMatchObject([{ id: 'team_a' }]);
      expect((await traceOf(api.db, id, { teamId: 'many_00001' })).found).toBe(false);
      expect((await traceOf(api.db, id, { teamId: 'team_a' })).found).toBe(true);
    }
  });

  test('are text within the width, without anything personal or secret', async () => {
    const key = api.key('team_a');
    for (const id of [...Object.values(ids), 'team_a', key]) {
      const result = await traceOf(api.db, id);
      const text = formatTrace(result, 100);
      expect(text).toContain('Team team_a\n');
      expect(text.split('\n').filter((line) => line.length > 100)).toEqual([]);
      for (const secret of [SECRET_TITLE, SECRET_BODY, 'token', '@a.test', 'Team a', key])
        expect(text + JSON.stringify(result)).not.toContain(secret);
    }
    const text = formatTrace(await traceOf(api.db, ids.delivery), 100).replaceAll(/\s+/g, ' ');
    expect(text).toMatch(/next_try_at: 20\S+ \S+Z \(in \d+ min\), urgent: false, claimed_by: - /);
    expect(text).toMatch(
      / attempts: attempt: 1, ended_at: .+ ago\), response_code: 500, response_ms: 12, error: - /,
    );
    const obeyed = await traceOf(api.db, 'team_a\u001b[2J');
    expect(formatTrace(obeyed, 80)).not.toContain('\u001b');
  });
});

describe('a reason', () => {
  const PAUSED = `update webhook_endpoint set status = 'disabled_failures' where id = 'whe_a'`;
  const NO_DELIVERY = `delete from webhook_delivery`;
  const NO_ENDPOINT = `delete from webhook_endpoint where id = 'whe_a'`;
  const cases: [what: string, by: string, change: string, ...codes: string[]][] = [
    ['a claim of a living worker', 'delivery', `update webhook_delivery set claimed_by = 7`],
    [
      'a claim of a dead worker',
      'delivery',
      `update webhook_delivery set claimed_by = 8`,
      'worker_dead',
    ],
    ['a paused endpoint', 'delivery', PAUSED, 'endpoint_not_active'],
    [
      'a paused endpoint, and an attempt that is asked for',
      'delivery',
      `${PAUSED}; update webhook_delivery set urgent = true`,
    ],
    [
      'a paused endpoint, and a delivery that was given up',
      'delivery',
      `${PAUSED}; update webhook_delivery set status = 'gave_up', next_try_at = null`,
    ],
    ['a deleted endpoint', 'delivery', NO_ENDPOINT, 'endpoint_deleted'],
    ['an event that waits', 'event', `${NO_DELIVERY}; update event set fanned_out_at = null`],
    ['an endpoint without a delivery', 'event', NO_DELIVERY, 'no_delivery'],
    ['no endpoint', 'event', `${NO_DELIVERY}; ${NO_ENDPOINT}`, 'no_delivery'],
    ['a revoked key', 'key', `update api_key set revoked_at = now()`, 'key_ended'],
    ['a key that ends', 'key', `update api_key set revoked_at = now() + interval '1 h'`],
    ['a suspended team', 'request', `update team set status = 'suspended'`, 'team_not_active'],
    ['no worker', 'event', 'select', 'no_worker'],
    ['an id that nothing has', 'nothing', 'select', 'not_found'],
    [
      'more than is read',
      'request',
      `insert into audit_log
         (team_id, id, created_at, actor_kind, actor_id, action, request_id)
       select team_id, id || i, created_at, actor_kind, actor_id, action, request_id
       from audit_log, generate_series(1, 50) i
       where action = 'assignment.created'`,
      'cut',
    ],
  ];

  test.each(cases)('for %s, by the %s', async (_what, by, change, ...codes) => {
    if (codes[0] === 'no_worker') await worker.query('select pg_advisory_unlock_all()');
    await rows(change);
    expect(codesOf(await traceOf(api.db, ids[by as keyof typeof ids] ?? by))).toEqual(codes);
  });

  const LOCKED = [
    ['event', 'event'],
    ['delivery', 'webhook_delivery'],
    ['endpoint', 'webhook_endpoint'],
  ] as const;
  test.each(LOCKED)('for a session that has locked the row, by the %s', async (by, table) => {
    if (isOnCitus()) return;
    const session = new Client({
      connectionString: api.databaseUrl,
      application_name: 'psql',
    });
    await session.connect();
    try {
      await session.query(`begin; select from ${table} where id = '${ids[by]}' for update`);
      const { rows: found } = await session.query<{ pid: number }>(
        'select pg_backend_pid() as pid',
      );
      const result = await traceOf(api.db, ids[by]);
      expect(codesOf(result)).toEqual(['row_locked']);
      expect(JSON.stringify(result)).toContain(`The session ${found[0]?.pid} (psql) has locked`);
    } finally {
      await session.end();
    }
  });

  test('is tested here, whichever it is', () => {
    const met = new Set([...cases.flatMap(([, , , ...codes]) => codes), 'row_locked']);
    expect([...met].toSorted()).toEqual([...REASON_CODES].toSorted());
  });

  test('of an id that nothing has tells what it looks like', async () => {
    const textOf = async (id: string) => (await traceOf(api.db, id)).why[0]?.text;
    expect(await textOf(newRequestId())).toMatch(/looks like the id of a request of 20.+ 7 days/);
    expect(await textOf('req_1')).toContain('of a request a UUID');
  });
});

describe('a key', () => {
  test('tells how the calls of seven days in UTC ended, today included', async () => {
    await rows(
      `insert into api_key_usage
         (team_id, key_id, day, count_2xx, count_4xx, count_429, count_5xx, peak_percent)
       select 'team_a', $1, day::date, ok, 2, 3, 4, 0
       from (values ('2026-10-09', 100), ('2026-10-10', 10), ('2026-10-16', 1)) as d (day, ok)`,
      [ids.key],
    );
    const calls = async (at: string) =>
      (await traceOf(api.db, ids.key, { now: new Date(at) })).keys[0]?.calls;
    const sums = { refused: 4, limited: 6, failed: 8 };
    expect(await calls('2026-10-16T00:00:00Z')).toEqual({ ok: 11, ...sums });
    expect(await calls('2026-10-15T23:59:59Z')).toMatchObject({ ok: 111 });
  });

  test('of the same id as another team’s tells its own refused calls', async () => {
    await rows(`update api_key set id = $1 where team_id = 'team_c' and name = 'none'`, [ids.key]);
    const refused = newRequestId();
    await logCall('team_a', refused, { status: 422, error_code: 'validation_error' });
    const result = await traceOf(api.db, ids.key);
    expect(result.keys.map((key) => key.team_id).toSorted()).toEqual(['team_a', 'team_c']);
    expect(result.requests).toMatchObject([{ id: refused, team_id: 'team_a' }]);
  });

  test('that was replaced tells by whom and when, and until when it goes on', async () => {
    const app = await appAsMember(api, 'a', 'owner');
    const made = await app.admin.apiKeys.rotate.mutate({ key_id: ids.key, grace_s: 3_600 });
    const { keys } = await traceOf(api.db, ids.prefix);
    expect(keys).toMatchObject([
      {
        id: ids.key,
        name: 'full',
        state: 'active',
        revoked_at: expect.any(String),
        changes: [{ action: 'api_key.rotated', actor_kind: 'user', actor_id: 'mem_a_owner' }],
      },
    ]);
    expect((await traceOf(api.db, made.id)).keys).toMatchObject([{ revoked_at: null }]);
  });
});

describe('a CRM connection', () => {
  test('is followed from its first run over a failure to its end', async () => {
    const crm = await startCrm('pipedrive');
    crm.token = 'secret-token-0123456789';
    const app = await appAsMember(api, 'a', 'owner');
    const { id } = await app.admin.crm.connect.mutate(crm.connectInput());
    const connectionOf = async (asked: string) => (await traceOf(api.db, asked)).connections[0];
    expect(await connectionOf(id)).toMatchObject({ status: 'active', jobs: [] });
    // The job has the key by which trace asks for it.
    await scheduleDue(api.db, systemClock);
    expect(await connectionOf(id)).toMatchObject({ jobs: [{ locked_at: null }] });
    crm.intercept = (_request, response) => {
      answer(response, 503, { success: false });
      return true;
    };
    const told: SyncFailure[] = [];
    const onFailure = (failure: SyncFailure): void => void told.push(failure);
    const key = { teamId: 'team_a', connectionId: id };
    expect(await syncAtOnce({ db: api.db, clock: systemClock, onFailure }, key)).toBe('failed');
    const requestId = told[0]?.requestId ?? '';
    const sync = { action: 'crm_connection.sync_failed', detail: 'provider_error' };
    expect(await connectionOf('team_a')).toMatchObject({
      id,
      has_credentials: true,
      last_error: 'provider_error',
      failure_streak: 1,
      changes: [{ ...sync, request_id: requestId }, {}],
    });
    const ofRun: TraceResult = await traceOf(api.db, requestId);
    expect(ofRun.events).toMatchObject([{ type: 'crm.sync.failed' }]);
    await app.admin.crm.disconnect.mutate({ connection_id: id });
    expect(await connectionOf('team_a')).toBeUndefined();
    expect(formatTrace(await traceOf(api.db, id), 100)).not.toContain('secret-token');
  });

  test('is found in its own team only', async () => {
    expect((await traceOf(api.db, 'crm_b')).connections).toMatchObject([
      { team_id: 'team_b', has_credentials: false },
    ]);
    expect((await traceOf(api.db, 'crm_b', { teamId: 'team_a' })).found).toBe(false);
    expect((await traceOf(api.db, newId('crmConnection'))).found).toBe(false);
  });
});
