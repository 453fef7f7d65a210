// oxlint-disable vitest/valid-expect -- the second argument says which of the looped-over cases failed
// `member_detail_enabled` off, over tenants made at random: what withholds a person must hold for every operation, present and future.
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
/** Enough that the analytics would name members, were the switch on. */
const ALWAYS_ACTIVE = 6;

/**
 * Where a person's id may stand although details are withheld. The specification withholds emails, scores and the fields that it says so of; ids of
 * persons only on the routes that it closes altogether.
 */
const ALLOWED_USER_IDS: readonly {
  readonly operation: RegExp;
  readonly field: string;
  readonly reason: string;
}[] = [
  {
    operation: /^members\./,
    field: 'user_id',
    reason:
      'Member.user_id has no condition, unlike email (specification, "Members", rule 6; decisions 43)',
  },
  {
    operation: /^cases\.(create|update)$/,
    field: 'user_id',
    reason: 'Case.user_id is a required field, and only GET is closed (decisions 43)',
  },
  {
    operation: /^assignments\.(create|update)$/,
    field: 'member_user_id',
    reason: 'only member_email is null then, and only GET is closed (decisions 23, 43)',
  },
];

/** Emails and user ids that occur nowhere else, and totals that no other number of the API equals. */
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
  // Means are aggregates, which may be shown: none may happen to be a person's own total.
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
  it('no answer and no event tells an email, a score or a person, but for the fields that the specification leaves open', async () => {
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

  it('the same calls tell emails, scores and persons once it is on, so the test above can fail', async () => {
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

/** Reads, then what adds, changes and removes, and reads again what is left. */
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
  // The members of every full team, whose ids the valid requests use, are persons to withhold too.
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

/** Only the total is recognisable; means of dimensions are told to everybody. */
function scoreOf(total: number): NonNullable<ReturnType<typeof makeEvaluation>> {
  const evaluation = makeEvaluation(50);
  return { ...evaluation, score: { ...evaluation.score, total } };
}

async function load(tenant: Tenant): Promise<string> {
  const seeded = await loadTestSeed({ url: api.databaseUrl }, makeSeed([tenant.seed]));
  await addDeliveries(api.db);
  return seeded.teams[`team_${tenant.name}`]?.api_keys['full'] ?? fail();
}

function callOn(endpoint: Endpoint, tenant: Tenant, key: string): Promise<ApiResponse> {
  const { method, path, body } = validRequest(endpoint, tenant.name);
  const invitation = body && 'email' in body ? { email: `invited@${tenant.name}.leak.test` } : {};
  return api.call(
    key,
    method,
    path,
    body === undefined ? {} : { body: { ...body, ...invitation } },
  );
}

function leaksIn(endpoint: Endpoint, { body, headers }: ApiResponse, secrets: Secrets): unknown[] {
  const allowed = ALLOWED_USER_IDS.filter(({ operation }) => operation.test(endpoint.name)).map(
    ({ field }) => field,
  );
  return [...secretsIn(body, secrets, allowed), ...secretsIn(headers, secrets)];
}

/** Every value in the JSON that is, or has in it, something to withhold; fields of `allowed` names may hold the id of a person. */
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
  // Not the event of the seeded delivery, which no call wrote.
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
