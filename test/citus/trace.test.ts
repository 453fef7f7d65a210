// `npm run trace` on a Citus cluster: an id is found in whichever shard, and the workers' locks are
// at the nodes.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../src/db/connections/database.ts';
import { createCall, loadTestSeed } from '../support/api.ts';
import { startApiProcess, startWorkerProcess, type RunningProcess } from '../support/processes.ts';
import { createDistributed, startCitus, whyNoCitus, type CitusCluster } from '../support/citus.ts';
import { because } from '../support/debian.ts';
import { hang, startReceiver, status, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { codesOf, traceOf } from '../support/trace.ts';
import { until } from '../support/until.ts';

const skipped = whyNoCitus();
const NAMES = ['a', 'b', 'c', 'd'];

describe.skipIf(skipped !== null)(`trace on Citus${because(skipped)}`, () => {
  let cluster: CitusCluster;
  let url: string;
  let db: Database;
  let receiver: Receiver;
  let processes: RunningProcess[] = [];

  beforeAll(async () => {
    receiver = await startReceiver();
    cluster = await startCitus({ shards: 4 });
    url = await createDistributed(cluster, 'traced');
    db = openDatabase({ url, poolMax: 4, onError: () => undefined });
  });
  afterEach(async () => {
    await Promise.all(processes.map((process) => process.kill('SIGKILL')));
    processes = [];
  });
  afterAll(async () => {
    await db?.close();
    await cluster?.stop();
  });

  test('follows a request of each team to its last attempt', async () => {
    const teams = NAMES.map((name) =>
      makeTeam(name, {
        ...(name === 'd' && { crm_connections: [{ id: 'crm_1', provider: 'hubspot' as const }] }),
        webhook_endpoints: [
          { id: 'whe_1', url: `${receiver.url}/${name}`, events: ['assignment.created'] },
        ],
      }),
    );
    const seeded = await loadTestSeed({ url }, makeSeed(teams));
    for (const name of NAMES) receiver.on(`/${name}`, name === 'a' ? hang : status(500));
    const api = await startApiProcess(url);
    const worker = await startWorkerProcess(url, {
      WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
      WEBHOOK_TIMEOUT_MS: '600000',
    });
    processes.push(api, worker);
    const call = createCall(api.url);
    const ids: Record<string, string> = {};
    for (const name of NAMES) {
      const body = {
        member_id: memberId(name, 'member'),
        title: 'Practise',
        situation_id: 'sit_cold',
        personality_id: 'per_calm',
        industry_id: 'ind_saas',
      };
      const key = seeded.teams[`team_${name}`]?.api_keys['full'] ?? '';
      const created = await call(key, 'POST', '/assignments', { body });
      expect(created.status).toBe(201);
      const requestId = String(created.headers['x-request-id']);
      const result = await until(async () => {
        const one = await traceOf(db, requestId);
        const [delivery] = one.deliveries;
        const isThere = name === 'a' ? delivery?.claimed_by : delivery?.attempts[0];
        return one.requests.length > 0 && isThere ? one : null;
      });
      expect(result.teams).toMatchObject([{ id: `team_${name}` }]);
      expect(result.events).toMatchObject([{ request_id: requestId }]);
      expect(result.workers).toHaveLength(1);
      ids[name] = result.deliveries[0]?.id ?? '';
    }
    // A key of each team, by its public part, and a CRM connection with its jobs.
    for (const name of NAMES) {
      const key = seeded.teams[`team_${name}`]?.api_keys['full'] ?? '';
      const { keys, found } = await traceOf(db, key.split('_')[2] ?? '');
      expect(keys).toMatchObject([{ team_id: `team_${name}`, name: 'full', state: 'active' }]);
      expect(found).toBe(true);
      const [one] = (await traceOf(db, keys[0]?.id ?? '')).keys;
      expect(one?.prefix).toBe(keys[0]?.prefix);
    }
    expect((await traceOf(db, 'crm_1')).connections).toMatchObject([{ team_id: 'team_d' }]);
    await worker.kill('SIGKILL');
    const dead = await until(async () => {
      const one = await traceOf(db, ids['a'] ?? '');
      return one.workers.length === 0 ? one : null;
    });
    expect(codesOf(dead)).toEqual(['no_worker', 'worker_dead']);
    const { deliveries } = await traceOf(db, ids['b'] ?? '');
    expect(deliveries).toMatchObject([{ attempts: [{ attempt: 1, response_code: 500 }] }]);
  });
});
