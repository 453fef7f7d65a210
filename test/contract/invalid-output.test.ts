// A response that breaks its own schema is a 500, and never a 422 that blames the caller.
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readChangeContext } from '../../src/db/change-context.ts';
import { record } from '../../src/db/outbox.ts';
import type { Identity } from '../../src/http/app/token.ts';
import { ENDPOINTS, endpointsOf } from '../../src/routers/endpoints.ts';
import { changeContextOf } from '../../src/trpc/context.ts';
import { endpoint } from '../../src/trpc/endpoint.ts';
import { router } from '../../src/trpc/init.ts';
import { startTestApi, type ApiResponse, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { describeTraining } from '../support/platform.ts';
import { requireDocumentedResponse } from '../support/response-contract.ts';
import { makeFullTeam, makeSeed, userId } from '../support/seed.ts';

const SECRET = 'text that must not leave';

/** An endpoint that writes and then responds with what its schema does not allow. */
const broken = endpoint({
  method: 'POST',
  path: '/broken',
  scope: 'users:write',
  tag: 'Broken',
  summary: 'Break the contract',
  description: 'Answers with a text for a number.',
  input: z.strictObject({ id: z.string() }),
  output: z.object({ number: z.int() }),
  outputName: 'Broken',
  bodyName: 'BrokenCreate',
  example: { body: { id: 'x' }, output: { number: 1 } },
}).mutation(async ({ ctx, input }) => {
  await ctx.db.transaction(async (tx) =>
    record(tx, await readChangeContext(tx, changeContextOf(ctx)), {
      audit: { action: 'case.deleted', targetId: input.id },
    }),
  );
  return { number: SECRET as unknown as number };
});

let api: TestApi;
beforeAll(async () => {
  const endpoints = [...ENDPOINTS, ...endpointsOf(router({ broken: { create: broken } }))];
  api = await startTestApi({
    seed: makeSeed([makeFullTeam('a')]),
    app: { endpoints },
  });
  // The API itself never writes such rows.
  const statements = [
    `update evaluation set dimensions = jsonb_build_object('closing', $1::text)`,
    `update training set external_ref = to_json($1::text)`,
    `insert into audit_log
       (team_id, created_at, id, actor_kind, actor_id, action, request_id, details)
     values ('team_a', now(), 'aud_x', 'system', 'x', 'x', 'x', to_jsonb($1::text))`,
  ];
  for (const sql of statements) await api.db.pool.query(sql, [SECRET]);
});

const OWNER = { kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' } as const;
const TRAINING = describeTraining('a', 'trn_a', { created_at: '2026-10-01T09:00:00.000Z' });
const SERVICE = { kind: 'platform', service: 'training' } as const;

async function send(url: string, init: RequestInit): Promise<ApiResponse> {
  const response = await fetch(url, init);
  const text = await response.text();
  const body: unknown = JSON.parse(text);
  return { status: response.status, headers: Object.fromEntries(response.headers), text, body };
}

async function rest(
  method: string,
  path: string,
  body?: object,
  headers = {},
): Promise<ApiResponse> {
  const answer = await send(api.base + path, {
    method,
    headers: {
      authorization: `Bearer ${api.key('team_a')}`,
      'content-type': 'application/json',
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  requireDocumentedResponse({ method, path }, answer);
  return answer;
}

const bearer = async (who: Identity) => ({ authorization: `Bearer ${await tokenOf(who)}` });
const query = async (who: Identity, name: string, input: object) =>
  send(`${api.url}/trpc/${name}?input=${encodeURIComponent(JSON.stringify(input))}`, {
    headers: await bearer(who),
  });
const mutate = async (who: Identity, name: string, input: object) =>
  send(`${api.url}/trpc/${name}`, {
    method: 'POST',
    headers: { ...(await bearer(who)), 'content-type': 'application/json' },
    body: JSON.stringify(input),
  });

const create = (id: string, headers = {}) => rest('POST', '/broken', { id }, headers);
const made = async (id: string) =>
  (await api.db.pool.query('select from audit_log where target_id = $1', [id])).rowCount;

describe('a response that breaks its schema is 500 internal, logged, without details', () => {
  test.each<[string, () => Promise<ApiResponse>]>([
    ['GET /trainings/{training_id}/evaluation', () => rest('GET', '/trainings/trn_a/evaluation')],
    ['a POST', () => create('plain')],
    ['a POST with an Idempotency-Key', () => create('keyed', { 'idempotency-key': 'logged' })],
    [
      'the same operation in the app',
      () => query(OWNER, 'v1.evaluations.get', { training_id: 'trn_a' }),
    ],
    ['a procedure of the app alone', () => query(OWNER, 'admin.auditLog.list', {})],
    [
      'a procedure of the platform’s services',
      () => mutate(SERVICE, 'platform.trainings.start', TRAINING),
    ],
  ])('%s', async (_what, call) => {
    const logged = api.loggedErrors.length;
    const { status, headers, text, body } = await call();
    const problem = body.error?.data.problem ?? body;
    const requestId = headers['x-request-id'] ?? '';
    expect(status).toBe(500);
    expect(problem).toEqual({
      type: `${api.url}/docs/errors#internal`,
      title: 'Interner Fehler',
      status: 500,
      code: 'internal',
      request_id: requestId,
    });
    expect(text).not.toMatch(/must not leave|expected|invalid|output|contract/i);
    const [line = '', ...others] = api.loggedErrors.slice(logged);
    expect(others).toEqual([]);
    expect(line).toContain(requestId);
    expect(line).toMatch(/breaks its contract|Output validation failed/);
  });

  test('with an Idempotency-Key nothing is kept, so that a repeated call tries again', async () => {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const { status, headers } = await create('retried', { 'idempotency-key': 'retried' });
      expect([status, headers['idempotency-replayed']]).toEqual([500, undefined]);
    }
    expect(await made('retried')).toBe(0);
    expect((await api.db.pool.query('select from idempotency_record')).rowCount).toBe(0);
  });
});
