// Calls whose body comes long after their headers. What authentication has found is old by then.
import { request, type ClientRequest } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../src/core/clock.ts';
import { createFastAuthenticator } from '../../src/http/api/authentication/fast-authenticator.ts';
import { createPlainAuthenticator } from '../../src/http/api/authentication/plain-authenticator.ts';
import { eraseTeams } from '../../src/features/team-lifecycle/erasure-service.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { CATALOG, makeFullTeam, makeSeed, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';

/** Longer than what authentication has found holds for a call. */
const LONG_MS = 1_200;

/** The dates stand still, so no other minute begins. `pass` moves what waits are measured by. */
function startClock(): Clock & { pass(ms: number): void } {
  const now = new Date();
  let passedMs = 0;
  return {
    ...systemClock,
    now: () => now,
    override: () => now,
    monotonicMs: () => systemClock.monotonicMs() + passedMs,
    pass: (ms) => {
      passedMs += ms;
    },
  };
}

const TEAMS = ['revoked', 'expired', 'moved', 'scope', 'suspended', 'shut', 'erased', 'replay'];
const END = {
  revoked: `update api_key set revoked_at = '2026-01-01' where team_id = $1`,
  expired: `update api_key set expires_at = '2026-01-01' where team_id = $1`,
  moved: `update api_key set allowed_ips = '{198.51.100.1}' where team_id = $1`,
  scope: `update api_key set scopes = '{users:read}' where team_id = $1`,
  suspended: `update team set status = 'suspended' where id = $1`,
} as const;

describe.each([
  { name: 'plain', createAuthenticator: createPlainAuthenticator },
  { name: 'fast', createAuthenticator: createFastAuthenticator },
])('with the $name authenticator', ({ createAuthenticator }) => {
  const clock = startClock();
  let api: TestApi;
  beforeAll(async () => {
    const seed = makeSeed(
      TEAMS.map((name) => makeFullTeam(name)),
      { catalog: CATALOG },
    );
    api = await startTestApi({ seed, clock, app: { createAuthenticator } });
  });

  const query = async (sql: string, ...values: unknown[]) =>
    (await api.db.pool.query(sql, values)).rows;

  /** The counter of the team's key; undefined before its first call. */
  const counterOf = async (
    team: string,
  ): Promise<{ readonly minute: number; readonly count: number } | undefined> => {
    const [row] = await query(
      `select minute, count from team_counter where team_id = $1 and bucket like 'key:%'`,
      team,
    );
    return row;
  };

  /** Sends a call without its body, waits until it is authenticated, and sends the body later. */
  const postSlowly = async (
    team: string,
    path: string,
    { body, idempotencyKey, meanwhile }: Slow,
  ): Promise<Answer> => {
    const before = JSON.stringify(await counterOf(team));
    const text = JSON.stringify(body);
    const call = request(`${api.base}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${api.key(team)}`,
        'content-type': 'application/json',
        'content-length': text.length,
        ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
      },
    });
    const answer = answerOf(call);
    call.flushHeaders();
    await until(async () => JSON.stringify(await counterOf(team)) !== before);
    await meanwhile();
    clock.pass(LONG_MS);
    call.end(text);
    return answer;
  };

  const assignmentOf = (team: string) => ({
    member_id: `mem_${team.slice('team_'.length)}_member`,
    title: 'Practise objections',
    situation_id: 'sit_cold',
    personality_id: 'per_calm',
    industry_id: 'ind_saas',
  });
  const countAssignments = async (team: string) =>
    (await query('select from assignment where team_id = $1', team)).length;

  test.each([
    ['revoked', 401, 'unauthorized'],
    ['expired', 401, 'unauthorized'],
    ['moved', 401, 'unauthorized'],
    ['scope', 403, 'insufficient_scope'],
    ['suspended', 403, 'api_disabled'],
  ] as const)('%s: a call whose body comes later is refused', async (name, status, code) => {
    const team = `team_${name}`;
    const body = assignmentOf(team);
    const before = await countAssignments(team);
    const answer = await postSlowly(team, '/assignments', {
      body,
      meanwhile: () => query(END[name], team),
    });
    expect(answer).toMatchObject({ status, body: { code } });
    expect(await countAssignments(team)).toBe(before);
  });

  test('a privacy switch that is turned off holds for a body that comes later', async () => {
    const team = 'team_shut';
    const first = await api.call(api.key(team), 'POST', '/users', {
      body: { email: 'kept@shut.test' },
      headers: { 'idempotency-key': 'kept' },
    });
    expect(first.body.email).toBe('kept@shut.test');
    const created = await postSlowly(team, '/assignments', {
      body: assignmentOf(team),
      meanwhile: () => query(`update team set member_detail_enabled = false where id = $1`, team),
    });
    expect(created.status).toBe(201);
    const [event] = await query(
      `select data from event where team_id = $1 and type = 'assignment.created'
       order by created_at desc limit 1`,
      team,
    );
    expect(event.data).not.toHaveProperty('user_id');

    await query(`update team set member_detail_enabled = true where id = $1`, team);
    // No other minute begins.
    await query('update team_counter set minute = minute + 1000 where team_id = $1', team);
    const counted = (await counterOf(team))?.count ?? 0;
    const replayed = await postSlowly(team, '/users', {
      body: { email: 'kept@shut.test' },
      idempotencyKey: 'kept',
      meanwhile: () => query(`update team set member_detail_enabled = false where id = $1`, team),
    });
    expect(replayed).toMatchObject({ status: 201, body: { id: first.body.id } });
    expect(replayed.body).not.toHaveProperty('email');
    expect((await counterOf(team))?.count).toBe(counted + 1);
  });

  test('a kept response is not shown to a key that was revoked before the body came', async () => {
    const team = 'team_replay';
    const body = { email: 'kept@replay.test' };
    await api.call(api.key(team), 'POST', '/users', { body, headers: { 'idempotency-key': 'k' } });
    const answer = await postSlowly(team, '/users', {
      body,
      idempotencyKey: 'k',
      meanwhile: () => query(END.revoked, team),
    });
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
  });

  test('of an erased team: a call whose body comes later has no valid key', async () => {
    const team = 'team_erased';
    const answer = await postSlowly(team, '/assignments', {
      body: assignmentOf(team),
      idempotencyKey: 'new',
      meanwhile: async () => {
        await query(`update team set status = 'ended', erasing_since = now() where id = $1`, team);
        await eraseTeams(api.db, { runMs: 100_000 });
      },
    });
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    expect(api.loggedErrors).toEqual([]);
  });
});

test('in the app, a call whose body comes after its sender was removed is refused', async () => {
  const seed = makeSeed([makeFullTeam('app')], { catalog: CATALOG });
  const clock = startClock();
  const api = await startTestApi({ seed, clock });
  const query = async (sql: string) => (await api.db.pool.query(sql)).rows;
  const counted = () => query(`select count from team_counter where bucket = 'app'`);
  const identity = { kind: 'user', userId: userId('app', 'admin'), teamId: 'team_app' } as const;
  const body = JSON.stringify({
    member_id: 'mem_app_member',
    title: 'Practise objections',
    situation_id: 'sit_cold',
    personality_id: 'per_calm',
    industry_id: 'ind_saas',
  });
  const send = async (meanwhile: () => Promise<unknown>): Promise<Answer> => {
    const before = JSON.stringify(await counted());
    const call = request(`${api.url}/trpc/v1.assignments.create`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await tokenOf(identity, clock.now())}`,
        'content-type': 'application/json',
        'content-length': body.length,
      },
    });
    const answer = answerOf(call);
    call.flushHeaders();
    await until(async () => JSON.stringify(await counted()) !== before);
    await meanwhile();
    clock.pass(LONG_MS);
    call.end(body);
    return answer;
  };
  const created = () => query('select from assignment');
  const before = (await created()).length;
  expect(await send(async () => undefined)).toMatchObject({ status: 200 });
  // It counts once.
  expect(await counted()).toEqual([{ count: 1 }]);
  const removal = `update member set status = 'ended', ended_at = now() where id = 'mem_app_admin'`;
  expect(await send(() => query(removal))).toMatchObject({ status: 401 });
  expect(await created()).toHaveLength(before + 1);
});

interface Slow {
  readonly body: object;
  readonly idempotencyKey?: string;
  readonly meanwhile: () => Promise<unknown>;
}

interface Answer {
  readonly status: number | undefined;
  readonly body: Record<string, unknown>;
}

function answerOf(call: ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    call.on('error', reject);
    call.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode,
          body: JSON.parse(Buffer.concat(chunks).toString()),
        }),
      );
    });
  });
}
