// What `npm run trace` tells of an API key and of a CRM connection. API and CRM are real; each
// state is made as it comes to be.
import { beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { newId, newRequestId } from '../../src/core/ids.ts';
import { providerError } from '../../src/features/crm/providers/errors.ts';
import type { SyncFailure } from '../../src/features/crm/sync/give-up.ts';
import { scheduleDue } from '../../src/features/crm/sync/service.ts';
import { slotOf } from '../../src/features/requests/rules.ts';
import { addRequests } from '../../src/features/requests/store.ts';
import { formatTrace } from '../../src/trace/text.ts';
import type { TraceResult } from '../../src/trace/view.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { syncAtOnce } from '../support/crm-sync.ts';
import { answer, startCrm } from '../support/crm/fake.ts';
import { makeFullTeam, makeSeed, makeTeam } from '../support/seed.ts';
import { codesOf, traceOf } from '../support/trace.ts';

let api: TestApi;
beforeAll(async () => {
  const keys = ['gone', 'used'].map((name) => ({ name, scopes: 'all' as const }));
  const none = { crm_connections: [], crm_deals: [], crm_objections: [] };
  api = await startTestApi({
    allowPrivateTargets: true,
    seed: makeSeed([
      makeTeam('a', { ...none, api_keys: keys }),
      makeFullTeam('b'),
      makeTeam('c', none),
    ]),
  });
});

const keyRow = async (teamId: string, name: string): Promise<{ id: string; prefix: string }> => {
  const { rows } = await api.db.pool.query<{ id: string; prefix: string }>(
    'select id, prefix from api_key where team_id = $1 and name = $2',
    [teamId, name],
  );
  return rows[0] ?? { id: '', prefix: '' };
};
const keyCodes = ({ keys }: TraceResult): string[] => codesOf(keys);

describe('a key', () => {
  test('tells how the calls of seven days in UTC ended, today included', async () => {
    const { id } = await keyRow('team_b', 'full');
    await api.db.pool.query(
      `insert into api_key_usage
         (team_id, key_id, day, count_2xx, count_4xx, count_429, count_5xx, peak_percent)
       values ('team_b', $1, '2026-10-09', 100, 0, 0, 0, 0),
         ('team_b', $1, '2026-10-10', 10, 0, 0, 0, 0),
         ('team_b', $1, '2026-10-16', 1, 0, 0, 0, 0)`,
      [id],
    );
    for (const [at, ok] of [
      ['2026-10-16T00:00:00Z', 11],
      ['2026-10-15T23:59:59Z', 111],
    ] as const) {
      const { keys } = await traceOf(api.db, id, { teamId: 'team_b', now: new Date(at) });
      expect(keys).toMatchObject([{ calls: { ok } }]);
    }
  });

  test('of the same id as another team’s tells its own refused calls', async () => {
    const { id } = await keyRow('team_a', 'users:read');
    await api.db.pool.query(
      `update api_key set id = $1 where team_id = 'team_c' and name = 'users:read'`,
      [id],
    );
    const requestId = newRequestId();
    const call = { id: requestId, key_id: id, method: 'GET', route: '/me', status: 422 };
    const none = { network: null, error_code: null, errors: null, limited_by: null };
    const at = { slot: slotOf(new Date()), created_at: new Date().toISOString(), duration_ms: 1 };
    await addRequests(api.db, [{ team_id: 'team_a', ...call, ...none, ...at }]);
    const { keys } = await traceOf(api.db, id);
    const refusedOf = keys.map(({ team_id: team, why }) => [
      team,
      /(none|the last) that was refused/.exec(why.at(-1)?.text ?? '')?.[1],
    ]);
    expect(Object.fromEntries(refusedOf)).toEqual({ team_a: 'the last', team_c: 'none' });
  });

  test('that was revoked tells by whom and when', async () => {
    const { id } = await keyRow('team_a', 'gone');
    const app = await appAsMember(api, 'a', 'owner');
    await app.admin.apiKeys.revoke.mutate({ key_id: id });
    const result = await traceOf(api.db, id);
    expect(keyCodes(result)).toEqual(['key_revoked', 'key_unused', 'key_calls']);
    expect(result.keys[0]?.why[0]?.text).toMatch(/^The key was revoked, by user mem_a_owner at /);
    expect(result.keys[0]?.changes).toMatchObject([
      { action: 'api_key.revoked', actor_id: 'mem_a_owner' },
    ]);
  });

  test('that was replaced goes on until its end', async () => {
    const app = await appAsMember(api, 'c', 'owner');
    const { id } = await keyRow('team_c', 'full');
    const made = await app.admin.apiKeys.rotate.mutate({ key_id: id, grace_s: 3_600 });
    const result = await traceOf(api.db, id);
    expect(keyCodes(result)[0]).toBe('key_ends');
    expect(result.keys[0]?.why[0]?.text).toMatch(/replaced by another key, by user mem_c_owner/);
    expect(result.keys[0]?.why[0]?.text).toMatch(/It ends at .+ \(in 60 min\)/);
    expect((await traceOf(api.db, made.id)).keys[0]?.state).toBe('active');
  });

  test('of another team is found only if no team is named, or its own', async () => {
    const { id, prefix } = await keyRow('team_b', 'full');
    for (const given of [id, prefix]) {
      expect((await traceOf(api.db, given, { teamId: 'team_a' })).found).toBe(false);
      expect((await traceOf(api.db, given, { teamId: 'team_b' })).found).toBe(true);
      expect((await traceOf(api.db, given)).keys).toMatchObject([{ team_id: 'team_b' }]);
    }
    expect((await traceOf(api.db, newId('apiKey'))).found).toBe(false);
  });
});

describe('a CRM connection', () => {
  const connected = async () => {
    const crm = await startCrm('pipedrive');
    crm.token = 'secret-token-0123456789';
    const app = await appAsMember(api, 'a', 'owner');
    const { id } = await app.admin.crm.connect.mutate({
      provider: 'pipedrive',
      credentials: crm.token,
      base_url: crm.url,
    });
    return { crm, app, id, key: { teamId: 'team_a', connectionId: id } };
  };
  const codes = ({ connections }: TraceResult): string[] => codesOf(connections);

  test('is followed from its first run over failures to its pause and its end', async () => {
    const { crm, app, id, key } = await connected();
    const first = await traceOf(api.db, id);
    expect(codes(first)).toEqual(['no_worker', 'crm_due']);
    // The job has the key by which trace asks for it.
    await scheduleDue(api.db, systemClock);
    expect(codes(await traceOf(api.db, id))).toEqual(['no_worker', 'crm_job']);
    const dependencies = { db: api.db, clock: systemClock };
    expect(await syncAtOnce(dependencies, key)).toBe('done');
    expect(codes(await traceOf(api.db, id))).toEqual(['no_worker', 'crm_next']);
    crm.intercept = (_request, response) => {
      answer(response, 503, { success: false });
      return true;
    };
    await app.admin.crm.syncNow.mutate({ connection_id: id });
    const told: SyncFailure[] = [];
    const onFailure = (failure: SyncFailure): void => void told.push(failure);
    expect(await syncAtOnce({ ...dependencies, onFailure }, key)).toBe('failed');
    const failed = await traceOf(api.db, id);
    expect(codes(failed)).toEqual(['crm_failed', 'no_worker', 'crm_next']);
    expect(failed.connections).toMatchObject([
      { id, team_id: 'team_a', provider: 'pipedrive', last_error: 'provider_error' },
    ]);
    expect(failed.connections[0]?.changes[0]).toMatchObject({
      action: 'crm_connection.sync_failed',
      reason: 'provider_error',
      request_id: told[0]?.requestId,
    });
    // The request id of its line leads to the event.
    const ofRun = await traceOf(api.db, told[0]?.requestId ?? '');
    expect(ofRun.events).toMatchObject([{ type: 'crm.sync.failed' }]);
    await app.admin.crm.pause.mutate({ connection_id: id });
    const paused = await traceOf(api.db, id);
    expect(codes(paused)).toEqual(['crm_paused', 'crm_failed']);
    expect(paused.connections[0]?.why[0]?.text).toContain('by user mem_a_owner at');
    // The team has it, too, until it is disconnected.
    expect((await traceOf(api.db, 'team_a')).connections).toMatchObject([{ id }]);
    await app.admin.crm.disconnect.mutate({ connection_id: id });
    expect(codes(await traceOf(api.db, id))).toEqual(['crm_disconnected']);
    expect((await traceOf(api.db, 'team_a')).connections).toEqual([]);
    const output = formatTrace(await traceOf(api.db, id), 100);
    expect(output).toContain('crm_connection.sync_failed (provider_error)');
    expect(output).not.toContain('secret-token');
  });

  test('without credentials says so', async () => {
    expect(codes(await traceOf(api.db, 'crm_b'))).toEqual(['crm_no_credentials']);
    expect((await traceOf(api.db, 'crm_b', { teamId: 'team_a' })).found).toBe(false);
    expect((await traceOf(api.db, newId('crmConnection'))).found).toBe(false);
  });

  test('that fails again and again is told less and less, until it fails otherwise', async () => {
    const { crm, id, key } = await connected();
    const told: number[] = [];
    const reasons: string[] = [];
    const fail = async (status: number): Promise<void> => {
      crm.intercept = (_request, response) => {
        answer(response, status, { success: false });
        return true;
      };
      await api.db.pool.query(
        `update crm_connection set next_sync_at = now() - interval '1 s' where id = $1`,
        [id],
      );
      const onFailure = ({ failures, reason }: SyncFailure): void => {
        told.push(failures);
        reasons.push(reason);
      };
      expect(await syncAtOnce({ db: api.db, clock: systemClock, onFailure }, key)).toBe('failed');
    };
    for (let times = 0; times < 9; times += 1) await fail(503);
    expect(told).toEqual([1, 2, 4, 8]);
    await fail(401);
    await fail(401);
    expect(told).toEqual([1, 2, 4, 8, 10]);
    expect(new Set(reasons)).toEqual(
      new Set([providerError('provider_error').reason, 'unauthorized']),
    );
  });
});
