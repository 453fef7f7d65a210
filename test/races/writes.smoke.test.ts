// Two API processes share a database and get conflicting calls. What must happen once happens once.
// @module-tag never-repeated
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { createCall, loadTestSeed, type ApiResponse, type Call } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';
import { Client } from 'pg';

const ROUNDS = 2;
const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
const invited = (team: string) => [makeMember(team, 'second', { role: 'admin' })];

let calls: [Call, Call];
let keys: Record<string, string>;
let client: Client;

beforeAll(async () => {
  const database = await createTestDatabase();
  const teams = rounds.flatMap((round) => [
    makeTeam(`seat${round}`, { seats: 4 }),
    makeTeam(`admin${round}`, { members: invited(`admin${round}`) }),
    makeTeam(`email${round}`),
    makeTeam(`key${round}`),
    makeTeam(`guess${round}`, { privacy: { member_detail_enabled: false } }),
  ]);
  const { teams: loaded } = await loadTestSeed(
    database,
    makeSeed([...teams, makeTeam('limit'), makeTeam('tenant', { rate_limit_per_min: 120 })]),
  );
  keys = Object.fromEntries(
    Object.entries(loaded).map(([id, team]) => [id, team.api_keys['full'] ?? '']),
  );
  const limit = { API_KEY_RATE_LIMIT_PER_MIN: '120' };
  const [one, two] = await Promise.all([
    startApiProcess(database.url, limit),
    startApiProcess(database.url, limit),
  ]);
  calls = [createCall(one.url, { connections: 64 }), createCall(two.url, { connections: 64 })];
  client = new Client({ connectionString: database.url });
  await client.connect();
  return async () => {
    await client.end();
    await Promise.all([one.kill('SIGTERM'), two.kill('SIGTERM')]);
    await database.drop();
  };
});

/** Makes the call at both processes at once. */
function both(act: (call: Call, index: number) => Promise<ApiResponse>): Promise<ApiResponse[]> {
  return Promise.all(calls.map(act));
}

const statuses = (responses: readonly ApiResponse[]) =>
  responses.map((response) => response.status).toSorted((a, b) => a - b);
const keyOf = (team: string) => keys[`team_${team}`] ?? '';
const count = async (sql: string, team: string) =>
  Number((await client.query(`select count(*) as n ${sql}`, [`team_${team}`])).rows[0].n);

describe('two processes at once', () => {
  test.each(rounds)('exactly one member gets the last seat (round %i)', async (round) => {
    const team = `seat${round}`;
    const responses = await both((call, n) =>
      call(keyOf(team), 'POST', '/users', { body: { email: `n${n}@seat.test` } }),
    );
    expect(statuses(responses)).toEqual([201, 409]);
    expect(responses.find((response) => response.status === 409)?.body).toMatchObject({
      code: 'seat_limit_reached',
    });
    expect(await count(`from member where team_id = $1 and status <> 'ended'`, team)).toBe(4);
    expect(await count(`from event where team_id = $1`, team)).toBe(1);
  });

  test.each(rounds)('exactly one of the last two admins can leave (round %i)', async (round) => {
    const team = `admin${round}`;
    const targets = [`mem_${team}_admin`, `mem_${team}_second`];
    const responses = await both((call, n) =>
      n === round % 2
        ? call(keyOf(team), 'DELETE', `/users/${targets[n]}`)
        : call(keyOf(team), 'PATCH', `/users/${targets[n]}`, { body: { role: 'member' } }),
    );
    expect(statuses(responses)).toEqual([200, 409]);
    expect(responses.find((response) => response.status === 409)?.body).toMatchObject({
      code: 'last_admin',
    });
    expect(
      await count(`from member where team_id = $1 and role = 'admin' and status = 'active'`, team),
    ).toBe(1);
  });

  test.each(rounds)('one email becomes one member (round %i)', async (round) => {
    const team = `email${round}`;
    const responses = await both((call, n) =>
      call(keyOf(team), 'POST', '/users', {
        body: { email: n ? 'Same@email.test' : 'same@EMAIL.test' },
      }),
    );
    expect(statuses(responses)).toEqual([201, 409]);
    expect(responses.find((response) => response.status === 409)?.body).toMatchObject({
      code: 'conflict',
    });
    expect(
      await count(`from member where team_id = $1 and lower(email) = 'same@email.test'`, team),
    ).toBe(1);
  });

  test.each(rounds)(
    'of 70 guesses whose address it is, 60 are answered (round %i)',
    async (round) => {
      const team = `guess${round}`;
      const guess = (n: number) =>
        (calls[n % 2] as Call)(keyOf(team), 'POST', '/users', {
          body: { email: `member@${team}.test` },
          ...(n % 3 === 0 && { headers: { 'idempotency-key': `guess ${n}` } }),
        });
      const responses = await Promise.all(Array.from({ length: 70 }, (_, n) => guess(n)));
      expect(statuses(responses)).toEqual([...Array(60).fill(409), ...Array(10).fill(429)]);
    },
  );

  test.each(rounds)('thirty calls with one Idempotency-Key act once (round %i)', async (round) => {
    const team = `key${round}`;
    const send = (n: number) =>
      (calls[n % 2] as Call)(keyOf(team), 'POST', '/users', {
        body: { email: 'once@key.test' },
        headers: { 'idempotency-key': 'the one' },
      });
    const responses = await Promise.all(Array.from({ length: 30 }, (_, n) => send(n)));
    const created = responses.filter((response) => response.status === 201);
    expect(created.length).toBeGreaterThan(0);
    expect(new Set(created.map((response) => response.text)).size).toBe(1);
    expect(
      created.filter((response) => response.headers['idempotency-replayed'] === undefined),
    ).toHaveLength(1);
    for (const other of responses.filter((response) => response.status !== 201))
      expect(other).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(await count('from member where team_id = $1 and invited_at is not null', team)).toBe(1);
    expect(await count('from event where team_id = $1', team)).toBe(1);
    expect(await count('from audit_log where team_id = $1', team)).toBe(1);
    expect((await send(0)).text).toBe(created[0]?.text);
  });
});

describe('150 requests at once on two processes', () => {
  test.each(['limit', 'tenant'])('exactly 120 pass (%s)', async (team) => {
    await inOneMinute(async () => {
      await client.query('delete from team_counter');
      const responses = await Promise.all(
        Array.from({ length: 150 }, (_, n) => (calls[n % 2] as Call)(keyOf(team), 'GET', '/me')),
      );
      expect(responses.filter((response) => response.status === 200)).toHaveLength(120);
      expect(responses.filter((response) => response.status === 429)).toHaveLength(30);
      const left = responses
        .filter((response) => response.status === 200)
        .map((response) => Number(response.headers['ratelimit-remaining']));
      expect(left.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 120 }, (_, n) => n));
    });
  });
});

/**
 * Runs a check within one minute of the database's clock, which real processes use. If a new minute
 * starts during the check, it is repeated once; the new minute is then long enough.
 */
async function inOneMinute(check: () => Promise<void>): Promise<void> {
  const minute = async (): Promise<number> =>
    (await client.query('select floor(extract(epoch from clock_timestamp()) / 60)::int as m'))
      .rows[0].m;
  const before = await minute();
  try {
    await check();
  } catch (error) {
    if ((await minute()) === before) throw error;
    await check();
  }
}
