// What `npm run trace` tells of the calls that an API process refuses, and of a run that fails in a
// worker process.
// @module-tag never-repeated
import { beforeAll, describe, expect, test } from 'vitest';
import type { TraceResult } from '../../src/trace/view.ts';
import { startTestApi, createCall, type TestApi } from '../support/api.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { appAsMember } from '../support/app.ts';
import { startCrm } from '../support/crm/fake.ts';
import { makeFullTeam, makeSeed, makeTeam } from '../support/seed.ts';
import { runTrace } from '../support/trace-command.ts';
import { codesOf, traceOf } from '../support/trace.ts';
import { until } from '../support/until.ts';

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
const shown = (key: string, secretOf: string): void => {
  const secret = secretOf.split('_')[3] ?? '';
  expect(secret.length).toBeGreaterThan(20);
  expect(key).not.toContain(secret.slice(0, 10));
};

describe('a key', () => {
  test('tells its team, its last use and its refused calls, with the limit', async () => {
    const process = await startApiProcess(api.databaseUrl, { API_KEY_RATE_LIMIT_PER_MIN: '4' });
    const call = createCall(process.url);
    const key = api.key('team_a', 'used');
    const { id, prefix } = await keyRow('team_a', 'used');
    expect(keyCodes(await traceOf(api.db, id))).toEqual(['key_unused', 'key_calls']);
    await call(key, 'GET', '/me');
    await call(key, 'POST', '/users', { body: {} });
    const limited = await until(async () => {
      const one = await call(key, 'GET', '/me');
      return one.status === 429 ? one : null;
    });
    // Those of another key of the team are not among them.
    await call(api.key('team_a'), 'GET', '/no/such/path');
    await process.kill('SIGTERM');
    const result = await traceOf(api.db, id);
    expect(keyCodes(result)).toEqual(['key_calls']);
    expect(result.keys).toMatchObject([
      { id, team_id: 'team_a', name: 'used', prefix, state: 'active', calls: { refused: 1 } },
    ]);
    expect(result.keys[0]?.calls.limited).toBeGreaterThan(0);
    expect(result.keys[0]?.last_used_at).not.toBeNull();
    expect(result.teams).toMatchObject([{ id: 'team_a', status: 'active' }]);
    expect(result.requests.map(({ key_id }) => key_id)).not.toContain(
      (await keyRow('team_a', 'full')).id,
    );
    expect(result.requests).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: limited.headers['x-request-id'], limited_by: 'key_rate' }),
        expect.objectContaining({ status: 422, error_code: 'validation_error' }),
      ]),
    );
    const { code, output } = await runTrace(api.databaseUrl, id);
    expect(code).toBe(0);
    for (const part of [id, prefix, 'used', '429 rate_limited key_rate', '422 validation_error'])
      expect(output).toContain(part);
    shown(output, key);
    // By its public part, and by what somebody has pasted as a whole.
    for (const given of [prefix, key]) {
      const again = await runTrace(api.databaseUrl, given);
      expect(again.output).toContain(id);
      shown(again.output, key);
    }
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

  test('that fails is a line in the log of the worker, which trace follows', async () => {
    const { crm, id } = await connected();
    crm.token = 'another';
    const worker = await startWorkerProcess(api.databaseUrl, {
      WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
      LOG_LEVEL: 'info',
    });
    const line = await until(() =>
      worker
        .output()
        .split('\n')
        .filter((text) => text.includes('a synchronization failed'))
        .map((text) => JSON.parse(text) as Record<string, unknown>)
        .find((one) => one['connection'] === id),
    );
    await worker.kill('SIGTERM');
    expect(line).toMatchObject({
      level: 40,
      team: 'team_a',
      connection: id,
      provider: 'pipedrive',
      code: 'unauthorized',
      failures: 1,
      run: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(worker.output()).not.toContain('secret-token');
    expect(worker.output().match(/a synchronization failed/g)).toHaveLength(1);
    const { audit } = await traceOf(api.db, String(line['request_id']));
    expect(audit).toMatchObject([{ action: 'crm_connection.sync_failed', target_id: id }]);
  });
});
