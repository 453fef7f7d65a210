// The command `npm run trace`, beside an API and a worker process.
// @module-tag never-repeated
import { beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { startCrm } from '../support/crm/fake.ts';
import { runScript, startWorkerProcess, type RunningProcess } from '../support/processes.ts';
import { hang, startReceiver, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { codesOf, traceOf } from '../support/trace.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let receiver: Receiver;
let worker: RunningProcess;
beforeAll(async () => {
  receiver = await startReceiver();
  receiver.on('/hangs', hang);
  const endpoint = {
    id: 'whe_a',
    url: `${receiver.url}/hangs`,
    events: ['member.joined' as const],
  };
  api = await startTestApi({
    allowPrivateTargets: true,
    seed: makeSeed([makeTeam('a', { webhook_endpoints: [endpoint] })]),
  });
  worker = await startWorkerProcess(api.databaseUrl, {
    WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
    WEBHOOK_TIMEOUT_MS: '600000',
  });
});

test('a synchronization that fails is a line of the log, whose id is found', async () => {
  const crm = await startCrm('pipedrive');
  crm.token = 'secret-token-0123456789';
  const app = await appAsMember(api, 'a', 'owner');
  const { id } = await app.admin.crm.connect.mutate(crm.connectInput());
  crm.token = 'another';
  const line = await until(() =>
    worker
      .output()
      .split('\n')
      .filter((text) => text.includes('a synchronization failed'))
      .map((text) => JSON.parse(text) as Record<string, unknown>)
      .find((one) => one['connection'] === id),
  );
  expect(line).toMatchObject({
    level: 40,
    team: 'team_a',
    connection: id,
    provider: 'pipedrive',
    code: 'unauthorized',
    failures: 1,
    run: expect.stringMatching(/^\d+ [0-9a-f-]{36}$/),
  });
  expect(worker.output()).not.toContain('secret-token');
  expect(worker.output().match(/a synchronization failed/g)).toHaveLength(1);
  const { audit } = await traceOf(api.db, String(line['request_id']));
  expect(audit).toMatchObject([{ action: 'crm_connection.sync_failed', target_id: id }]);
});

test('a claimed delivery is told by the command, until its worker is dead', async () => {
  const made = await api.call(api.key('team_a'), 'POST', '/users', { body: { email: 'x@a.test' } });
  const id = String(made.headers['x-request-id']);
  await receiver.arrived('/hangs');
  const alive = await traceOf(api.db, id);
  expect(alive.workers).toEqual([alive.deliveries[0]?.claimed_by]);
  expect(alive.endpoints).toMatchObject([{ in_hand: [{ count: 1 }] }]);
  const command = runScript(api.databaseUrl, ['trace', id, '--json', '--team', 'team_a']);
  expect(await command.exited).toMatchObject({ code: 0 });
  const told = JSON.parse(command.output()) as typeof alive;
  expect(told.deliveries).toEqual(alive.deliveries);
  await worker.kill('SIGKILL');
  const dead = await until(async () => {
    const one = await traceOf(api.db, id);
    return one.workers.length === 0 ? one : null;
  });
  expect(codesOf(dead)).toEqual(['no_worker', 'worker_dead']);
});
