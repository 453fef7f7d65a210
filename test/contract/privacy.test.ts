// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// `member_detail_enabled` is off, in random teams: no endpoint, not even a future one, may return
// what the switch withholds about a member.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { AnyProcedure } from '@trpc/server';
import { beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { AUDIT_ACTIONS } from '../../src/core/audit-actions.ts';
import { isPersonal, privateFieldsOf } from '../../src/core/private-fields.ts';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import { admin } from '../../src/routers/routers.ts';
import { loadTestSeed, startTestApi, type ApiResponse, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import {
  makeEvaluation,
  makeFullTeam,
  makeSeed,
  makeTraining,
  userId,
  type TeamSeed,
} from '../support/seed.ts';
import { addDeliveries, EXISTING_IDS, validRequest } from './requests.ts';
import { sampleOf } from './samples.ts';

const SEED = 20261102;
const RUNS = Number(process.env['RUNS'] ?? 4);
const SEEDS = Array.from({ length: RUNS }, (_, run) => SEED + run);
/** Personal fields in which no secret is to be seen while the switch is on. */
const WITHOUT_SECRETS: Readonly<Record<string, string>> = {
  'trainings.get evaluation': 'only lists have it',
  'admin.members.leaver open_assignments': 'a number: `member-search.test.ts` sees it withheld',
  'admin.members.leaver has_more': 'the same',
};
/** Enough members that the analytics would name them if the switch were on. */
const ALWAYS_ACTIVE = 6;

/**
 * Where a user id may be returned although details are withheld. The switch withholds emails,
 * scores and some other fields. It withholds user ids only on the routes that it closes altogether.
 */
const ALLOWED_USER_IDS: readonly {
  readonly operation: RegExp;
  /** In an audit entry the action stands before the name. */
  readonly field: string;
  readonly reason: string;
}[] = [
  {
    operation: /^(admin\.)?members\./,
    field: 'user_id',
    reason: 'a member always has user_id; the switch only withholds email',
  },
  {
    operation: /^cases\.create$/,
    field: 'user_id',
    reason: 'the request names the person',
  },
  {
    operation: /^assignments\.(create|createBatch)$/,
    field: 'member_user_id',
    reason: 'the request names the member, whose user_id GET /users shows',
  },
  {
    operation: /^admin\.auditLog\.list$/,
    field: 'member.accepted user_id',
    reason: 'GET /users shows which user a membership has',
  },
  {
    operation: /^admin\.auditLog\.list$/,
    field: 'person.deleted target_id',
    reason: 'the user whose memberships ended; nothing that they did',
  },
];

/**
 * Emails, user ids and words of evaluations that occur nowhere else, and totals that equal no other
 * number of the API.
 */
interface Secrets {
  readonly emails: readonly string[];
  readonly words: readonly string[];
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
  it.each(SEEDS)(
    'no response and no event has an email, a score or a user id: %i',
    async (seed) => {
      await fc.assert(
        fc.asyncProperty(tenants, async (facts) => {
          const tenant = makeTenant(facts);
          const key = await load(tenant);
          for (const { operation, call } of inOrderOfDamage()) {
            const answer = await call(tenant, key);
            expect(
              leaksIn(operation, answer, tenant),
              `${operation.name} → ${answer.text}`,
            ).toEqual([]);
          }
          for (const { action, details } of await readRecorded(tenant))
            expect(secretsIn(details, tenant), action).toEqual([]);
          for (const event of await readEvents(tenant)) {
            expect(event.data, event.type).not.toHaveProperty('user_id');
            expect(event.data, event.type).not.toHaveProperty('score');
            expect(secretsIn(event.data, tenant), event.type).toEqual([]);
          }
        }),
        { numRuns: 1, seed },
      );
    },
  );

  it('the same calls return all of them while it is on, so the test above can fail', async () => {
    const tenant = makeTenant(fc.sample(tenants, { numRuns: 1, seed: SEED })[0] ?? fail());
    const key = await load(tenant);
    await api.db.pool.query(
      'update team set member_detail_enabled = true, leaderboard_enabled = true where id = $1',
      [tenant.seed.id],
    );
    const told: unknown[] = [];
    const called = new Set<string>();
    const silent = new Set<string>();
    const withoutRows = new Set<string>();
    const refused: string[] = [];
    for (const { operation, call } of inOrderOfDamage()) {
      const answer = await call(tenant, key);
      const { name, isRead, output } = operation;
      told.push(...leaksIn(operation, answer, tenant));
      for (const { kind, path } of privateFieldsOf(output)) {
        const isTold = secretsIn(valuesAt(resultOf(answer), path.split('.')), tenant).length > 0;
        if (isTold) silent.delete(`${name} ${path}`);
        else if (kind === 'personal' && !called.has(name)) silent.add(`${name} ${path}`);
      }
      if (isRead && !called.has(name)) {
        if (answer.status !== 200) refused.push(`${name} → ${answer.text}`);
        if (/"data":\[\]/.test(answer.text)) withoutRows.add(name);
      }
      called.add(name);
    }
    expect(refused).toEqual([]);
    // "Empty in the fixtures" is no place to hide, neither for a list nor for a field.
    expect([...withoutRows]).toEqual([]);
    expect([...silent]).toEqual(Object.keys(WITHOUT_SECRETS));
    expect(told).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/@leak\.test$/),
        expect.stringMatching(/^usr_leak_/),
        expect.stringMatching(/^word /),
        expect.any(Number),
      ]),
    );
    const events = await readEvents(tenant);
    expect(
      events.some(({ data }) => typeof data === 'object' && data !== null && 'user_id' in data),
    ).toBe(true);
  });
});

it('an operation that shows a person needs a scope', () => {
  const shown = ENDPOINTS.filter(({ output }) =>
    privateFieldsOf(output).some(({ kind }) => kind === 'personal'),
  );
  expect(shown.length).toBeGreaterThan(10);
  expect(shown.filter(({ scope }) => scope === null).map(({ name }) => name)).toEqual([]);
});

describe('after member_detail_enabled was switched off', () => {
  it('no replay has what the first response had', async () => {
    const tenant = makeTenant(fc.sample(tenants, { numRuns: 1, seed: SEED })[0] ?? fail());
    const key = await load(tenant);
    const setDetail = (enabled: boolean) =>
      api.db.pool.query('update team set member_detail_enabled = $2 where id = $1', [
        tenant.seed.id,
        enabled,
      ]);
    await setDetail(true);
    const told: unknown[] = [];
    const posts = OF_LIVE_TEAMS.filter(({ method }) => method === 'POST');
    for (const endpoint of posts)
      told.push(
        ...leaksIn(operationOf(endpoint), await callOn(endpoint, tenant, key, 'kept'), tenant),
      );
    expect(told).toEqual(expect.arrayContaining([expect.stringMatching(/\.leak\.test$/)]));
    await setDetail(false);
    for (const endpoint of posts) {
      const answer = await callOn(endpoint, tenant, key, 'kept');
      expect(answer.headers['idempotency-replayed'], endpoint.name).toBe('true');
      expect(
        leaksIn(operationOf(endpoint), answer, tenant),
        `${endpoint.name} → ${answer.text}`,
      ).toEqual([]);
    }
  });
});

/** What the test calls: an endpoint, or a procedure that the admin page reads by. */
interface Operation {
  readonly name: string;
  readonly isRead: boolean;
  readonly output: z.ZodType;
}

interface Call {
  readonly operation: Operation;
  readonly call: (tenant: Tenant, key: string) => Promise<ApiResponse>;
}

const operationOf = ({ name, method, output }: Endpoint): Operation => ({
  name,
  isRead: method === 'GET',
  output,
});

/** test/features/sandbox.test.ts has those of sandboxes. */
const OF_LIVE_TEAMS = ENDPOINTS.filter(({ mode }) => mode === null);

const ENDPOINT_CALLS = OF_LIVE_TEAMS.map((endpoint) => ({
  method: endpoint.method,
  operation: operationOf(endpoint),
  call: (tenant: Tenant, key: string) => callOn(endpoint, tenant, key),
}));

/** The queries of the router `admin`; those of `v1` are the endpoints. */
const QUERIES: readonly Call[] = Object.entries(
  admin._def.procedures as unknown as Record<string, AnyProcedure>,
)
  .filter(([, { _def }]) => _def.type === 'query')
  .map(([procedure, { _def }]) => {
    const { inputs, output } = _def as unknown as { inputs: z.ZodType[]; output: z.ZodType };
    const name = `admin.${procedure}`;
    return {
      operation: { name, isRead: true, output },
      call: (tenant) => ask(name, inputs[0], tenant),
    };
  });

/** Orders the calls: reads, then creations, changes and removals, and then reads again. */
function inOrderOfDamage(): Call[] {
  const by = (wanted: string): Call[] => ENDPOINT_CALLS.filter(({ method }) => method === wanted);
  const reads = [...by('GET'), ...QUERIES];
  return [...reads, ...['POST', 'PATCH', 'DELETE'].flatMap(by), ...reads];
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
    words: persons.map(({ total }) => wordOf(total)),
  };
}

/** A text that only the evaluation with this total has. */
const wordOf = (total: number): string => `word ${total} of the evaluation`;

/** The dimensions cannot be recognized, because their means are returned to everybody. */
function scoreOf(total: number): NonNullable<ReturnType<typeof makeEvaluation>> {
  const evaluation = makeEvaluation(50);
  const word = wordOf(total);
  return {
    ...evaluation,
    score: { ...evaluation.score, total, spread: total },
    tips: [{ issue: word, moment: word, principle: word, rewrite: word, impact: word }],
    goal: word,
    strongest: word,
    biggest_lever: word,
  };
}

async function load(tenant: Tenant): Promise<string> {
  const seeded = await loadTestSeed({ url: api.databaseUrl }, makeSeed([tenant.seed]));
  await addDeliveries(api.db);
  const team = tenant.seed.id;
  const [user, total] = [tenant.userIds[0], tenant.totals[0]];
  // What happened while the switch was on. The seeded delivery is of it, too.
  await api.db.pool.query(
    `with old as (
       update event
       set type = 'evaluation.completed', data = (data::jsonb || $2)::json
       where team_id = $1
       returning *
     ), resend as (
       insert into webhook_resend
         (team_id, id, endpoint_id, state, since, total, has_more, created_at, finished_at)
       select team_id, replace(team_id, 'team_', 'res_'), replace(team_id, 'team_', 'whe_'), 'done',
         now(), 0, false, now(), now()
       from old
     ), usage as (
       insert into api_key_usage (team_id, day, key_id)
       select team_id, now(), id from api_key where team_id = $1 and name = 'full'
     )
     update webhook_delivery set event_type = 'evaluation.completed' where team_id = $1`,
    [team, JSON.stringify({ training_id: `trn_${tenant.name}`, user_id: user, score: total })],
  );
  await api.db.pool.query(`update api_key set id = $2 where team_id = $1 and name = 'none'`, [
    team,
    `key_${tenant.name}`,
  ]);
  await api.db.pool.query(
    `insert into sandbox_mail (team_id, id, recipient, subject, body, created_at)
     values ($1, 'mail', $2, 'x', $2, now())`,
    [team, tenant.emails[0]],
  );
  await addAuditEntries(tenant);
  return seeded.teams[`team_${tenant.name}`]?.api_keys['full'] ?? fail();
}

/**
 * Adds an old entry of every action, with all of its details, and one of an action that this
 * version does not know. Their request is `old`.
 */
async function addAuditEntries({ seed, userIds }: Tenant): Promise<void> {
  const user = userIds[0] ?? fail();
  const valueOf = (field: z.ZodType): string => (isPersonal(field) ? user : 'x');
  const entries = Object.entries(AUDIT_ACTIONS).map(([action, { details, target_id }]) => ({
    action,
    target_id: valueOf(target_id),
    details: Object.fromEntries(
      Object.entries<z.ZodType>(details).map(([name, field]) => [name, valueOf(field)]),
    ),
  }));
  const unknown = { action: 'person.promoted', target_id: null, details: { user_id: user } };
  await api.db.pool.query(
    `insert into audit_log
       (team_id, created_at, id, actor_kind, actor_id, action, target_id, request_id, details)
     select $1, now(), 'aud_' || action, 'system', 'seed', action, target_id, 'old', details
     from json_to_recordset($2) as old (action text, target_id text, details jsonb)`,
    [seed.id, JSON.stringify([...entries, unknown])],
  );
}

/** With `kept`, the call has an Idempotency-Key of that name and the endpoint's. */
function callOn(
  endpoint: Endpoint,
  tenant: Tenant,
  key: string,
  kept?: string,
): Promise<ApiResponse> {
  const { method, path, body } = validRequest(endpoint, tenant.name);
  const query = 'include' in endpoint.input.shape ? '?include=evaluation' : '';
  const invitation = body && 'email' in body ? { email: `invited@${tenant.name}.leak.test` } : {};
  return api.call(key, method, `${path}${query}`, {
    ...(body !== undefined && { body: { ...body, ...invitation } }),
    ...(kept !== undefined && { headers: { 'idempotency-key': `${kept} ${endpoint.name}` } }),
  });
}

/** Asks as the owner, whose page the admin page is. */
async function ask(
  name: string,
  shape: z.ZodType | undefined,
  tenant: Tenant,
): Promise<ApiResponse> {
  const ids: Readonly<Record<string, (team: string) => string>> = {
    ...EXISTING_IDS,
    resend_id: (team) => `res_${team}`,
    key_id: (team) => `key_${team}`,
  };
  const sample = Object.entries((shape && (sampleOf(shape) as object)) ?? {});
  const idOf = (field: string): string | undefined => ids[field]?.(tenant.name);
  const filled = sample.map(([field, value]) => [
    field,
    Array.isArray(value) ? [idOf(field.replace(/s$/, '')) ?? value].flat() : (idOf(field) ?? value),
  ]);
  const input = encodeURIComponent(JSON.stringify(Object.fromEntries(filled)));
  const owner = userId(tenant.name, 'owner');
  const token = await tokenOf({ kind: 'user', userId: owner, teamId: `team_${tenant.name}` });
  const response = await fetch(`${api.url}/trpc/${name}?input=${input}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const text = await response.text();
  const headers = Object.fromEntries(response.headers);
  return { status: response.status, headers, text, body: JSON.parse(text) };
}

function leaksIn({ name }: Operation, { body, headers }: ApiResponse, secrets: Secrets): unknown[] {
  const allowed = ALLOWED_USER_IDS.filter(({ operation }) => operation.test(name)).map(
    ({ field }) => field,
  );
  return [...secretsIn(body, secrets, allowed), ...secretsIn(headers, secrets)];
}

/** Returns every value in the JSON that contains a secret. Fields in `allowed` may be user ids. */
function secretsIn(
  value: unknown,
  secrets: Secrets,
  allowed: readonly string[] = [],
  { field, action }: { readonly field: string; readonly action: string } = {
    field: '',
    action: '',
  },
): unknown[] {
  if (Array.isArray(value))
    return value.flatMap((item) => secretsIn(item, secrets, allowed, { field, action }));
  if (typeof value === 'object' && value !== null) {
    const within = 'action' in value ? `${String(value.action)} ` : action;
    return Object.entries(value).flatMap(([name, item]) =>
      secretsIn(item, secrets, allowed, { field: `${within}${name}`, action: within }),
    );
  }
  if (typeof value === 'number') return secrets.totals.includes(value) ? [value] : [];
  if (typeof value !== 'string') return [];
  const texts = [
    ...secrets.emails,
    ...secrets.words,
    ...(allowed.includes(field) ? [] : secrets.userIds),
  ];
  return texts.filter((text) => value.toLowerCase().includes(text.toLowerCase()));
}

/** What the operation has returned: a procedure's stands in the envelope of tRPC. */
function resultOf({ body }: ApiResponse): unknown {
  return body?.result?.data ?? body;
}

/** The values at a path, of each entry of the lists that it leads through. */
function valuesAt(value: unknown, [name, ...rest]: readonly string[]): unknown[] {
  if (Array.isArray(value))
    return value.flatMap((one) => valuesAt(one, name === undefined ? [] : [name, ...rest]));
  if (name === undefined) return [value];
  if (typeof value !== 'object' || value === null || !(name in value)) return [];
  return valuesAt((value as Record<string, unknown>)[name], rest);
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

/** The audit entries of the calls. */
async function readRecorded(tenant: Tenant): Promise<{ action: string; details: unknown }[]> {
  const { rows } = await api.db.pool.query<{ action: string; details: unknown }>(
    `select action, details from audit_log where team_id = $1 and request_id <> 'old'`,
    [tenant.seed.id],
  );
  expect(rows.map(({ action }) => action)).toContain('case.created');
  return rows;
}

function fail(): never {
  throw new Error('the tenant was not made');
}
