// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// What an Idempotency-Key is bound to, and for how long, for every POST: those that prepare
// something before their transaction look for the record in another way. See endpoints.test.ts.
import { SANDBOX_END } from '../../src/core/sandbox.ts';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { ENCRYPTED_COLUMNS } from '../../src/core/encrypted-columns.ts';
import { encrypt } from '../../src/core/encryption.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { fingerprintOf } from '../../src/http/api/idempotency.ts';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import { startTestApi, TEST_APP_SECRET, type ApiResponse, type TestApi } from '../support/api.ts';
import { makeFullTeam } from '../support/seed.ts';
import {
  addDeliveries,
  existingId,
  readState,
  seedForEveryEndpoint,
  teamOf,
  validRequest,
} from './requests.ts';

const START = new Date('2026-11-02T09:00:00.000Z');
const DAY_MS = 24 * 3_600_000;
const POSTS = ENDPOINTS.filter(({ method }) => method === 'POST');
/** A team whose records the tests write themselves. A sandbox has every operation. */
const KEPT = `kept${SANDBOX_END}`;

const clock = fixedClock(START);
let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    clock,
    allowPrivateTargets: true,
    seed: seedForEveryEndpoint([makeFullTeam(KEPT)]),
  });
  await addDeliveries(api.db);
});

beforeEach(() => clock.set(START));

const call = (endpoint: Endpoint, key: string): Promise<ApiResponse> => {
  const team = teamOf(endpoint);
  const { method, path, body } = validRequest(endpoint, team);
  return api.call(api.key(`team_${team}`), method, path, {
    ...(body && { body }),
    headers: { 'idempotency-key': key },
  });
};
const isReplayed = ({ headers }: ApiResponse): boolean =>
  headers['idempotency-replayed'] === 'true';

/** What the pipeline makes of the path and the body of a valid request. */
function inputOf(endpoint: Endpoint): Record<string, unknown> {
  const parameters = endpoint.pathParameters.map((name) => [name, existingId(name, KEPT)]);
  return { ...Object.fromEntries(parameters), ...validRequest(endpoint, KEPT).body };
}

/** Keeps a response to a call of `endpoint` with this input, and returns its key. */
async function keep(endpoint: Endpoint, input: object, key: string): Promise<void> {
  const { path } = validRequest(endpoint, KEPT);
  const fingerprint = encrypt(
    fingerprintOf('POST', path, input).toString('base64'),
    TEST_APP_SECRET,
    ENCRYPTED_COLUMNS.fingerprint.context(`team_${KEPT}`, key),
  );
  await api.db.pool.query(
    `insert into idempotency_record
       (team_id, key, fingerprint, status, body, encrypted, created_at)
     values ($1, $2, $3, 200, '{"kept":true}', false, $4)`,
    [`team_${KEPT}`, key, fingerprint, clock.now()],
  );
}

/** Calls without a look at the documented response. */
async function send(endpoint: Endpoint, key: string): Promise<unknown> {
  const { path, body } = validRequest(endpoint, KEPT);
  const response = await fetch(`${api.url}${BASE_PATH}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${api.key(`team_${KEPT}`)}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return response.json();
}

describe.each(POSTS)('$name with an Idempotency-Key', (endpoint) => {
  it('is a mismatch after another operation with the same input, not after its own', async () => {
    const input = inputOf(endpoint);
    for (const other of POSTS) {
      const key = `${endpoint.name} ${other.name}`;
      await keep(other, input, key);
      const wanted = other === endpoint ? { kept: true } : { code: 'idempotency_mismatch' };
      expect(await send(endpoint, key), other.name).toMatchObject(wanted);
    }
  });

  it('is a mismatch after the same operation with another input', async () => {
    const input = inputOf(endpoint);
    const names = Object.keys(input);
    const without = (name: string) =>
      Object.fromEntries(Object.entries(input).filter(([each]) => each !== name));
    const others: Record<string, unknown>[] = [
      { ...input, more: 1 },
      ...names.map(without),
      ...names.map((name) => ({ ...input, [name]: 'another' })),
    ];
    for (const [index, other] of others.entries()) {
      const key = `${endpoint.name} input ${index}`;
      await keep(endpoint, other, key);
      expect(await send(endpoint, key), JSON.stringify(other)).toMatchObject({
        code: 'idempotency_mismatch',
      });
    }
  });

  it('is 409 while a call with the key runs', async () => {
    const running = await api.db.pool.connect();
    await running.query('begin');
    await running.query(`select from begin_idempotent_call($1, 'running', now())`, [
      `team_${teamOf(endpoint)}`,
    ]);
    const refused = await call(endpoint, 'running');
    await running.query('rollback');
    running.release();
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict', retry_after: 1 } });
    expect(isReplayed(await call(endpoint, 'running'))).toBe(false);
  });

  it('may be used anew after exactly 24 hours', async () => {
    await call(endpoint, 'day');
    clock.set(new Date(START.getTime() + DAY_MS));
    expect(isReplayed(await call(endpoint, 'day'))).toBe(true);
    clock.set(new Date(START.getTime() + DAY_MS + 1));
    expect(isReplayed(await call(endpoint, 'day'))).toBe(false);
    expect(isReplayed(await call(endpoint, 'day'))).toBe(true);
  });

  it('acts once in these 24 hours, although old records are removed', async () => {
    /** Whether the call was replayed, and whether it changed something. */
    const after = async (ms: number): Promise<[boolean, boolean]> => {
      clock.set(new Date(START.getTime() + ms));
      await removeOld(api.db, clock);
      const before = JSON.stringify(await readState(api.db));
      const replayed = isReplayed(await call(endpoint, 'removed'));
      return [replayed, JSON.stringify(await readState(api.db)) !== before];
    };
    expect((await after(0))[0]).toBe(false);
    expect(await after(DAY_MS)).toEqual([true, false]);
    expect((await after(DAY_MS + 1))[0]).toBe(false);
  });
});
