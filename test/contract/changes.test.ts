// Every operation and procedure that changes fields says in its audit entry which, and says their
// old and new values as far as the action declares them (core/audit-actions.ts).
import type { AnyProcedure } from '@trpc/server';
import { beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { appRouter } from '../../src/routers/routers.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { makeFullTeam, makeSeed, memberId, userId } from '../support/seed.ts';

type Values = Readonly<Record<string, unknown>>;

interface Change {
  /** The ids of the input, in this team. */
  readonly ids: (team: string) => Values;
  readonly action: string;
  /** For each field of the input: a new value, and what the entry says if only it is sent. */
  readonly fields: Readonly<Record<string, readonly [value: unknown, details: Values]>>;
}

const named = (name: string, more: Values = {}): Values => ({ fields: [name], ...more });

const ofTeam = (team: string): Values => ({ team_id: `team_${team}` });
const ofMember = (team: string): Values => ({ member_id: memberId(team, 'member') });
const ofCase = (team: string): Values => ({ case_id: `cas_${team}` });
const blocked = [['sit_cold'], { added: ['sit_cold'], removed: [] }] as const;

const caseFields: Change['fields'] = {
  title: ['New', named('title')],
  persona_id: ['per_new', named('persona_id')],
  fields: [{ budget: 2 }, named('fields')],
  external_ref: [{ lms: 8 }, named('external_ref')],
};

/** All changes. Where an entry has the state of a field that was not sent, that field is last. */
const CHANGES: Readonly<Record<string, Change>> = {
  'v1.members.update': {
    ids: ofMember,
    action: 'member.role_changed',
    fields: { role: ['admin', { from: 'member', to: 'admin' }] },
  },
  'v1.assignments.update': {
    ids: (team) => ({ assignment_id: `asg_${team}` }),
    action: 'assignment.updated',
    fields: {
      note: ['New', named('note', { status: 'open' })],
      due_date: ['2027-01-01', named('due_date', { status: 'open' })],
      external_ref: [{ id: 'lms-8' }, named('external_ref', { status: 'open' })],
      status: ['done', named('status', { status: 'done' })],
    },
  },
  'v1.cases.update': { ids: ofCase, action: 'case.updated', fields: caseFields },
  'v1.webhooks.updateEndpoint': {
    ids: (team) => ({ endpoint_id: `whe_${team}` }),
    action: 'webhook_endpoint.updated',
    fields: {
      url: ['http://127.0.0.1:9/hook', named('url', { host: '127.0.0.1:9' })],
      description: ['New', named('description')],
      events: [['member.joined'], named('events', { events: ['member.joined'] })],
      status: ['disabled', named('status', { status: 'disabled' })],
    },
  },
  'admin.team.privacy.set': {
    ids: () => ({}),
    action: 'team.privacy_changed',
    fields: {
      member_detail_enabled: [false, { member_detail_enabled: false }],
      leaderboard_enabled: [false, { leaderboard_enabled: false }],
    },
  },
  'admin.team.policy.set': {
    ids: () => ({ was: [] }),
    action: 'team.policy_changed',
    fields: { blocked },
  },
  'admin.team.memberPolicy.set': {
    ids: (team) => ({ ...ofMember(team), was: [] }),
    action: 'member.policy_changed',
    fields: { blocked },
  },
  'admin.team.release.set': {
    ids: () => ({ was: 'all' }),
    action: 'team.release_changed',
    fields: { released: [['sit_cold'], { all: false, added: ['sit_cold'], removed: [] }] },
  },
  'platform.teams.update': {
    ids: ofTeam,
    action: 'team.updated',
    fields: Object.fromEntries(
      Object.entries({
        name: ['Old', 'New'],
        plan: ['team', 'enterprise'],
        seats: [25, 7],
        language: ['de', 'en'],
        rate_limit_per_min: [600, 700],
        status: ['active', 'suspended'],
      }).map(([name, [from, to]]) => [name, [to, { from: { [name]: from }, to: { [name]: to } }]]),
    ),
  },
  'platform.cases.update': {
    ids: (team) => ({ ...ofTeam(team), ...ofCase(team) }),
    action: 'case.updated',
    fields: { ...caseFields, private: [true, named('private')] },
  },
};

/** Changes that are in no audit log, and why. */
const UNSAID: Readonly<Record<string, string>> = {
  'v1.sandbox.update': 'a live team has none: test/features/sandbox-play.test.ts',
  'admin.alerts.set': 'which mails somebody wants is nobody else’s business',
};

/** The procedures that change fields, with the names of their inputs. */
const DECLARED = Object.entries(
  appRouter._def.procedures as unknown as Record<string, AnyProcedure>,
).flatMap(([name, { _def }]) => {
  const { type, inputs, meta } = _def as unknown as {
    type: string;
    inputs: z.ZodObject[];
    meta: { rest?: { method: string } };
  };
  const isChange =
    !(name in UNSAID) &&
    type === 'mutation' &&
    (meta.rest ? meta.rest.method === 'PATCH' : /\.(update|set)$/.test(name));
  return isChange ? [[name, Object.keys(inputs[0]?.shape ?? {})] as const] : [];
});

let api: TestApi;
beforeAll(async () => {
  const teams = Object.keys(CHANGES).flatMap((name) => [alone(name), together(name)]);
  api = await startTestApi({
    seed: makeSeed(teams.map((team) => makeFullTeam(team, BEFORE))),
    allowPrivateTargets: true,
  });
});

const BEFORE = {
  name: 'Old',
  plan: 'team',
  seats: 25,
  language: 'de',
  rate_limit_per_min: 600,
  privacy: { member_detail_enabled: true, leaderboard_enabled: true },
} as const;
const alone = (name: string): string => `${name.replaceAll('.', '_').toLowerCase()}_1`;
const together = (name: string): string => `${name.replaceAll('.', '_').toLowerCase()}_2`;

/** Calls the procedure, as the team's owner or as a service of the host application. */
async function call(name: string, team: string, input: Values): Promise<void> {
  const token = await tokenOf(
    name.startsWith('platform.')
      ? { kind: 'platform', service: 'test' }
      : { kind: 'user', userId: userId(team, 'owner'), teamId: `team_${team}` },
  );
  const response = await fetch(`${api.url}/trpc/${name}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(input),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
}

/** Returns what the call has added to the audit log of the team. */
async function entriesOf(name: string, team: string, values: Values): Promise<object[]> {
  const { ids } = CHANGES[name] ?? { ids: () => ({}) };
  await api.db.pool.query('delete from audit_log where team_id = $1', [`team_${team}`]);
  await call(name, team, { ...ids(team), ...values });
  const { rows } = await api.db.pool.query<object>(
    'select action, details from audit_log where team_id = $1',
    [`team_${team}`],
  );
  return rows;
}

describe('the audit log', () => {
  it('has an expectation here for every field of every change', () => {
    const known = Object.entries(CHANGES).map(([name, { ids, fields }]) => [
      name,
      [...Object.keys(ids('x')), ...Object.keys(fields)].toSorted(),
    ]);
    const declared = DECLARED.map(([name, inputs]) => [name, inputs.toSorted()]);
    expect(Object.fromEntries(known)).toEqual(Object.fromEntries(declared));
  });

  it.each(Object.entries(CHANGES))('says each field that %s changes', async (name, change) => {
    const { action, fields } = change;
    for (const [field, [value, details]] of Object.entries(fields)) {
      const entries = await entriesOf(name, alone(name), { [field]: value });
      expect({ field, entries }).toEqual({ field, entries: [{ action, details }] });
    }
  });

  it.each(Object.entries(CHANGES))('says all fields that %s changes', async (name, change) => {
    const { action, fields } = change;
    const sent = Object.entries(fields).map(([field, [value]]) => [field, value]);
    const [entry, ...others] = await entriesOf(name, together(name), Object.fromEntries(sent));
    const said = Object.values(fields).map(([, details]) => details);
    expect(sorted(entry)).toEqual(sorted({ action, details: said.reduce(merge, {}) }));
    expect(others).toEqual([]);
  });
});

/** Lists of names are joined, and objects. Of other values the last one stays. */
function merge(all: Values, one: Values): Values {
  const entries = Object.entries(one).map(([name, value]) => [name, join(all[name], value, name)]);
  return { ...all, ...Object.fromEntries(entries) };
}

function join(before: unknown, value: unknown, name: string): unknown {
  if (name === 'fields') return [before ?? [], value].flat();
  if (isObject(before) && isObject(value)) return { ...before, ...value };
  return value;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The order of the names of fields does not matter. */
function sorted(entry: object | undefined): unknown {
  return JSON.parse(JSON.stringify(entry), (name, value: unknown) =>
    name === 'fields' ? new Set(value as unknown[]) : value,
  );
}
