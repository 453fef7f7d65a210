// A change of APP_SECRET, from the first process with the new one to the last that needs the old.
import { beforeEach, expect, test } from 'vitest';
import { verifyWebhook } from '../../src/client/webhook-verification.ts';
import {
  createCall,
  loadTestSeed,
  TEST_APP_SECRET as OLD,
  type ApiResponse,
} from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { runScript, startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { startReceiver } from '../support/receiver.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const NEW = 'the secret that comes after it, just as long';
const ROTATING = { APP_SECRET: NEW, APP_SECRET_PREVIOUS: OLD };

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
  return () => database.drop();
});

// In the API and in the worker. After the rotation, the old secret is no longer needed.
test('a new APP_SECRET reads what was encrypted with the old one', async () => {
  const { teams } = await loadTestSeed(database, makeSeed([makeTeam('a')]));
  const key = teams['team_a']?.api_keys['full'] ?? '';
  const receiver = await startReceiver();
  const privately = { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' };

  const create = (call: ReturnType<typeof createCall>): Promise<ApiResponse> =>
    call(key, 'POST', '/webhook-endpoints', {
      body: { url: `${receiver.url}/hook`, events: ['training.completed'] },
      headers: { 'idempotency-key': 'once' },
    });
  const before = await startApiProcess(database.url, { APP_SECRET: OLD, ...privately });
  const created = await create(createCall(before.url));
  expect(created.status).toBe(201);
  const { id, secret } = created.body as { id: string; secret: string };
  const invite = (call: ReturnType<typeof createCall>): Promise<ApiResponse> =>
    call(key, 'POST', '/users', {
      body: { email: 'new@a.test' },
      headers: { 'idempotency-key': 'invitation' },
    });
  const invited = await invite(createCall(before.url));
  expect(invited.status).toBe(201);
  await before.kill('SIGTERM');

  /** Expects processes with these secrets to replay the response with the secret, and to sign. */
  const expectUsable = async (env: Record<string, string>): Promise<void> => {
    const api = await startApiProcess(database.url, { ...env, ...privately });
    const worker = await startWorkerProcess(database.url, { ...env, ...privately });
    const call = createCall(api.url);
    expect(await create(call)).toMatchObject({
      status: 201,
      text: created.text,
      headers: { 'idempotency-replayed': 'true' },
    });
    expect(await invite(call)).toMatchObject({
      status: 201,
      text: invited.text,
      headers: { 'idempotency-replayed': 'true' },
    });
    const count = receiver.requests.length + 1;
    expect((await call(key, 'POST', `/webhook-endpoints/${id}/test`)).status).toBe(202);
    const delivery = (await receiver.arrived('/hook', count)).at(-1);
    expect(verifyWebhook(delivery?.body ?? '', delivery?.headers ?? {}, secret).type).toBe('ping');
    await worker.kill('SIGTERM');
    await api.kill('SIGTERM');
  };

  // In the order of the README: with the new secret to read, to write, and alone.
  await expectUsable({ APP_SECRET: OLD, APP_SECRET_PREVIOUS: NEW });
  await expectUsable(ROTATING);
  const script = runScript(database.url, ['rotate-secret'], ROTATING);
  expect(await script.exited).toMatchObject({ code: 0 });
  expect(script.output()).toContain('webhook_endpoint.secret_encrypted: 1 encrypted anew');
  expect(script.output()).toContain('idempotency_record.body: 1 encrypted anew');
  expect(script.output()).toContain('idempotency_record.fingerprint: 2 encrypted anew');
  expect(script.output()).toContain('keep it as long as you keep them');
  expect(script.output()).not.toMatch(/whsec_|secret that/);
  await expectUsable({ APP_SECRET: NEW });
});
