// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// `member_detail_enabled` is off, in random teams: no endpoint, not even a future one, may return
// what the switch withholds about a member.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import { loadTestSeed, startTestApi, type ApiResponse, type TestApi } from '../support/api.ts';
import {
  makeEvaluation,
  makeFullTeam,
  makeSeed,
  makeTraining,
  type TeamSeed,
} from '../support/seed.ts';
import { addDeliveries, validRequest } from './requests.ts';

const RUNS = 12;
/** Enough members that the analytics would name them if the switch were on. */
const ALWAYS_ACTIVE = 6;

/**
 * Where a user id may be returned although details are withheld. The switch withholds emails,
 * scores and some other fields. It withholds user ids only on the routes that it closes altogether.
 */
const ALLOWED_USER_IDS: readonly {
  readonly operation: RegExp;
  readonly field: string;
  readonly reason: string;
}[] = [
  {
    operation: /^members\./,
    field: 'user_id',
    reason: 'a member always has user_id; the switch only withholds email',
  },
  {
    operation: /^cases\.(create|update)$/,
    field: 'user_id',
    reason: 'user_id is a required field of a case, and the switch only closes GET',
  },
  {
    operation: /^assignments\.(create|update)$/,
    field: 'member_user_id',
    reason: 'the switch only makes member_email null, and only closes GET',
  },
];

/**
 * Emails and user ids that occur nowhere else, and totals that equal no other number of the API.
 */
interface Secrets {
  readonly emails: readonly string[];
  readonly userIds: readonly string[];
  readonly totals: readonly number[];
}

interface Tenant extends Secrets {
  readonly name: string;
  readonly seed: TeamSeed;
}

const people = fc.uniqueArray(
  fc.record({
    mark: fc.stringMatching(/^[a-z0-9]{12}$/),
    total: fc.integer({ min: 3000, max: 9999 }),
    status: fc.constantFrom('active' as const, 'ended' as const),
  }),
  { minLength: 7, maxLength: 10, selector: ({ total }) => total },
);
const tenants = fc
  .record({ people, leaderboard: fc.boolean() })
  // Means are aggregates, which may be returned. None may happen to equal a member's own total.
  .filter((facts) => facts.people.every(({ total }) => !meansOf(facts.people).includes(total)));

function meansOf(drawn: readonly { total: number; status: string }[]): number[] {
  const totals = drawn
    .filter((person, index) => index < ALWAYS_ACTIVE || person.status === 'active')
    .map(({ total }) => total);
  const mean = totals.reduce((sum, total) => sum + total, 0) / totals.length;
  return [Math.round(mean), Math.round(mean * 10) / 10];
}

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([]), allowPrivateTargets: true });
});

describe('while member_detail_enabled is off', () => {
  // Except for the user ids of ALLOWED_USER_IDS.
  it('no response and no event has an email, a score or a user id', async () => {
    await fc.assert(
      fc.asyncProperty(tenants, async (facts) => {
        const tenant = makeTenant(facts);
        const key = await load(tenant);
        for (const endpoint of inOrderOfDamage()) {
          const answer = await callOn(endpoint, tenant, key);
          expect(leaksIn(endpoint, answer, tenant), `${endpoint.name} → ${answer.text}`).toEqual(
            [],
          );
        }
        for (const event of await readEvents(tenant)) {
          expect(event.data, event.type).not.toHaveProperty('user_id');
          expect(event.data, event.type).not.toHaveProperty('score');
          expect(secretsIn(event.data, tenant), event.type).toEqual([]);
        }
      }),
      { numRuns: RUNS, seed: 20261102 },
    );
  });

  it('the same calls return all of them while it is on, so the test above can fail', async () => {
    const tenant = makeTenant(fc.sample(tenants, { numRuns: 1, seed: 20261102 })[0] ?? fail());
    const key = await load(tenant);
    await api.db.pool.query(
      'update team set member_detail_enabled = true, leaderboard_enabled = true where id = $1',
      [tenant.seed.id],
    );
    const told: unknown[] = [];
    for (const endpoint of inOrderOfDamage())
      told.push(...leaksIn(endpoint, await callOn(endpoint, tenant, key), tenant));
    expect(told).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/@leak\.test$/),
        expect.stringMatching(/^usr_leak_/),
        expect.any(Number),
      ]),
    );
    const events = await readEvents(tenant);
    expect(
      events.some(({ data }) => typeof data === 'object' && data !== null && 'user_id' in data),
    ).toBe(true);
  });
});

describe('after member_detail_enabled was switched off', () => {
  it('no replay has what the first response had', async () => {
    const tenant = makeTenant(fc.sample(tenants, { numRuns: 1, seed: 20261102 })[0] ?? fail());
    const key = await load(tenant);
    const setDetail = (enabled: boolean) =>
      api.db.pool.query('update team set member_detail_enabled = $2 where id = $1', [
        tenant.seed.id,
        enabled,
      ]);
    await setDetail(true);
    const told: unknown[] = [];
    const posts = ENDPOINTS.filter(({ method }) => method === 'POST');
    for (const endpoint of posts)
      told.push(...leaksIn(endpoint, await callOn(endpoint, tenant, key, 'kept'), tenant));
    expect(told).toEqual(expect.arrayContaining([expect.stringMatching(/\.leak\.test$/)]));
    await setDetail(false);
    for (const endpoint of posts) {
      const answer = await callOn(endpoint, tenant, key, 'kept');
      expect(answer.headers['idempotency-replayed'], endpoint.name).toBe('true');
      expect(leaksIn(endpoint, answer, tenant), `${endpoint.name} → ${answer.text}`).toEqual([]);
    }
  });
});

/** Orders the endpoints: reads, then creations, changes and removals, and then reads again. */
function inOrderOfDamage(): Endpoint[] {
  const reads = ENDPOINTS.filter(({ method }) => method === 'GET');
  return [
    ...reads,
    ...['POST', 'PATCH', 'DELETE'].flatMap((method) =>
      ENDPOINTS.filter((endpoint) => endpoint.method === method),
    ),
    ...reads,
  ];
}

function makeTenant(facts: {
  readonly people: readonly { mark: string; total: number; status: 'active' | 'ended' }[];
  readonly leaderboard: boolean;
}): Tenant {
  const name = `p${randomBytes(6).toString('hex')}`;
  const persons = facts.people.map(({ mark, total, status }, index) => ({
    userId: `usr_leak_${mark}${index}`,
    email: `${mark}${index}@leak.test`,
    total,
    status: index < ALWAYS_ACTIVE ? ('active' as const) : status,
  }));
  const full = makeFullTeam(name, {
    privacy: { member_detail_enabled: false, leaderboard_enabled: facts.leaderboard },
    members: persons.map(({ userId, email, status }, index) => ({
      id: `mem_${name}_${index}`,
      user_id: userId,
      email,
      status,
    })),
    trainings: persons.map(({ userId, total }, index) =>
      makeTraining(name, `trn_${name}${index === 0 ? '' : index}`, {
        user_id: userId,
        evaluation: scoreOf(total),
      }),
    ),
    cases: [{ id: `cas_${name}`, user_id: persons[0]?.userId ?? '', title: 'A case' }],
    crm_deals: [
      {
        id: `deal_${name}`,
        external_id: '1',
        outcome: 'open',
        owner_user_id: persons[1]?.userId ?? '',
      },
    ],
  });
  // The valid requests use the members of a full team, so those must be withheld too.
  const own = (full.members ?? []).slice(0, 3);
  return {
    name,
    seed: full,
    emails: [
      ...persons.map(({ email }) => email),
      ...own.map(({ email }) => email),
      `invited@${name}.leak.test`,
    ],
    userIds: [
      ...persons.map(({ userId }) => userId),
      ...own.flatMap(({ user_id }) => user_id ?? []),
    ],
    totals: persons.map(({ total }) => total),
  };
}

/** Only the total is recognizable, because means of dimensions are returned to everybody. */
function scoreOf(total: number): NonNullable<ReturnType<typeof makeEvaluation>> {
  const evaluation = makeEvaluation(50);
  return { ...evaluation, score: { ...evaluation.score, total } };
}

async function load(tenant: Tenant): Promise<string> {
  const seeded = await loadTestSeed({ url: api.databaseUrl }, makeSeed([tenant.seed]));
  await addDeliveries(api.db);
  return seeded.teams[`team_${tenant.name}`]?.api_keys['full'] ?? fail();
}

/** With `kept`, the call has an Idempotency-Key of that name and the endpoint's. */
function callOn(
  endpoint: Endpoint,
  tenant: Tenant,
  key: string,
  kept?: string,
): Promise<ApiResponse> {
  const { method, path, body } = validRequest(endpoint, tenant.name);
  const invitation = body && 'email' in body ? { email: `invited@${tenant.name}.leak.test` } : {};
  return api.call(key, method, path, {
    ...(body !== undefined && { body: { ...body, ...invitation } }),
    ...(kept !== undefined && { headers: { 'idempotency-key': `${kept} ${endpoint.name}` } }),
  });
}

function leaksIn(endpoint: Endpoint, { body, headers }: ApiResponse, secrets: Secrets): unknown[] {
  const allowed = ALLOWED_USER_IDS.filter(({ operation }) => operation.test(endpoint.name)).map(
    ({ field }) => field,
  );
  return [...secretsIn(body, secrets, allowed), ...secretsIn(headers, secrets)];
}

/** Returns every value in the JSON that contains a secret. Fields in `allowed` may be user ids. */
function secretsIn(
  value: unknown,
  secrets: Secrets,
  allowed: readonly string[] = [],
  field = '',
): unknown[] {
  if (Array.isArray(value))
    return value.flatMap((item) => secretsIn(item, secrets, allowed, field));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, item]) => secretsIn(item, secrets, allowed, name));
  if (typeof value === 'number') return secrets.totals.includes(value) ? [value] : [];
  if (typeof value !== 'string') return [];
  const texts = [...secrets.emails, ...(allowed.includes(field) ? [] : secrets.userIds)];
  return texts.filter((text) => value.toLowerCase().includes(text.toLowerCase()));
}

async function readEvents(tenant: Tenant): Promise<{ type: string; data: unknown }[]> {
  // Without the event of the seeded delivery, which no call wrote.
  const { rows } = await api.db.pool.query<{ type: string; data: unknown }>(
    'select type, data from event where team_id = $1 and id <> $2',
    [tenant.seed.id, `evt_${tenant.seed.id}`],
  );
  expect(rows.length).toBeGreaterThan(0);
  return rows;
}

function fail(): never {
  throw new Error('the tenant was not made');
}
