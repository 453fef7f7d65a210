// Every list that issues cursors, of the API and of the app, in each of its orders: with the cursor
// of every other one, and with cursors that nobody has issued.
import type { AnyProcedure } from '@trpc/server';
import { beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { SANDBOX_END } from '../../src/core/sandbox.ts';
import { SORTS } from '../../src/features/members/rules.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { admin } from '../../src/routers/routers.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import {
  makeFullTeam,
  makeMember,
  makeSeed,
  makeTeam,
  makeTraining,
  memberId,
  userId,
} from '../support/seed.ts';
import { addDeliveries, existingId, fillPath } from './requests.ts';

const TEAM = 'lists';
/** It has the lists of sandboxes. */
const SANDBOX = `${TEAM}${SANDBOX_END}`;

interface Answer {
  readonly status: number;
  readonly nextCursor: string | null;
  /** The place of the fault, without `query.`. */
  readonly fault: string | null;
}

interface List {
  readonly name: string;
  readonly ask: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Answer>;
}

let api: TestApi;

/** What makes a list have pages that is the contract's plain one without it. */
const BY_PAGES: Readonly<Record<string, object>> = {
  'webhooks.listDeliveries': { since: '2020-01-01T00:00:00Z' },
};

/** What gives a list another order, or `{}` for the order that it has without. */
const ORDERS: Readonly<Record<string, readonly object[]>> = {
  'events.list': [{}, { order: 'asc' }],
  'assignments.list': [{}, { updated_since: '2020-01-01T00:00:00Z' }],
  'admin.members.search': SORTS.map((sort) => ({ sort })),
};
/** Parameters that change the order of a list. */
const ORDERING = ['order', 'sort', 'updated_since'];
/** Lists that these do not give another order. */
const IN_ONE_ORDER = ['evaluations.list'];

const ordersOf = (name: string) =>
  (ORDERS[name] ?? [{}]).map((by) => ({ name: [name, ...Object.values(by)].join(' '), by }));

const PAGED = ENDPOINTS.filter(({ input }) => 'cursor' in input.shape);

const REST_LISTS: List[] = PAGED.flatMap((endpoint) =>
  ordersOf(endpoint.name).map(({ name, by }) => ({
    name,
    ask: async (query: object) => {
      const path = fillPath(endpoint, (parameter) => existingId(parameter, TEAM));
      const parameters = new URLSearchParams(
        Object.entries({ ...query, ...BY_PAGES[endpoint.name], ...by }).map(
          ([parameter, value]) => [parameter, String(value)],
        ),
      );
      const { status, body } = await api.call(
        api.key(`team_${endpoint.mode === 'test' ? SANDBOX : TEAM}`),
        'GET',
        `${path}?${parameters}`,
      );
      const { next_cursor: nextCursor = null, errors = [] } = body;
      return { status, nextCursor, fault: errors[0]?.path?.replace('query.', '') ?? null };
    },
  })),
);

const inputOf = ({ _def }: AnyProcedure) =>
  (_def as unknown as { inputs: z.ZodObject[] }).inputs[0];
const PAGED_IN_APP = Object.entries(
  admin._def.procedures as unknown as Record<string, AnyProcedure>,
).filter(([, procedure]) => 'cursor' in (inputOf(procedure)?.shape ?? {}));

const APP_LISTS: List[] = PAGED_IN_APP.flatMap(([procedure]) =>
  ordersOf(`admin.${procedure}`).map(({ name, by }) => ({
    name,
    ask: async (query: object) => {
      const owner = {
        kind: 'user',
        userId: userId(TEAM, 'owner'),
        teamId: `team_${TEAM}`,
      } as const;
      const input = encodeURIComponent(JSON.stringify({ ...query, ...by }));
      const response = await fetch(`${api.url}/trpc/admin.${procedure}?input=${input}`, {
        headers: { authorization: `Bearer ${await tokenOf(owner)}` },
      });
      const body = (await response.json()) as {
        readonly result?: { readonly data: { readonly next_cursor: string | null } };
        readonly error?: { readonly data: { readonly problem: { readonly field?: string } } };
      };
      return {
        status: response.status,
        nextCursor: body.result?.data.next_cursor ?? null,
        fault: body.error?.data.problem.field ?? null,
      };
    },
  })),
);

const LISTS = [...REST_LISTS, ...APP_LISTS];
const cursors = new Map<string, string>();

beforeAll(async () => {
  const full = makeFullTeam(TEAM, {
    members: [makeMember(TEAM, 'second', { role: 'admin' })],
    trainings: ['1', '2'].map((n) => makeTraining(TEAM, `trn_${n}`)),
    cases: ['1', '2'].map((n) => ({ id: `cas_${n}`, user_id: userId(TEAM, 'member'), title: n })),
    assignments: ['1', '2'].map((n) => ({
      id: `asg_${n}`,
      member_id: memberId(TEAM, 'member'),
      title: n,
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    })),
    crm_deals: ['1', '2'].map((n) => ({ id: `deal_${n}`, external_id: n, outcome: 'open' })),
    crm_objections: ['1', '2'].map((n) => ({
      id: `obj_${n}`,
      deal_id: 'deal_1',
      category: 'price',
      text: n,
      lang: 'en',
    })),
  });
  api = await startTestApi({ seed: makeSeed([full, makeTeam(SANDBOX)]) });
  await addDeliveries(api.db);
  const { pool } = api.db;
  await pool.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select team_id, id || '_2', type, data, created_at, created_at from event`,
  );
  await pool.query(
    `update event e set place = n.place
     from (select team_id, id, row_number() over () as place from event) n
     where e.team_id = n.team_id and e.id = n.id`,
  );
  await pool.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at)
     select team_id, id || '_2', endpoint_id, event_id || '_2', event_type, status, attempt,
       created_at
     from webhook_delivery`,
  );
  await pool.query(
    `insert into request_log
       (team_id, slot, id, created_at, key_id, method, route, status, duration_ms)
     select team_id, slot, overlay(id placing '9' from 20 for 1), created_at, key_id, method, route,
       status, duration_ms
     from request_log`,
  );
  await pool.query(
    `insert into api_key_usage (team_id, day, key_id, count_2xx)
     select team_id, now(), id, 1 from api_key where name in ('full', 'none')`,
  );
  await pool.query(
    `insert into audit_log
       (team_id, created_at, id, actor_kind, actor_id, action, target_id, request_id)
     select $1, now(), 'aud_' || n, 'system', 'test', 'team.seeded', null, 'none'
     from generate_series(1, 2) n`,
    [`team_${TEAM}`],
  );
  await pool.query(
    `insert into sandbox_mail (team_id, id, recipient, subject, body, created_at)
     select $1, 'mail_' || n, 'x', 'x', 'x', now() from generate_series(1, 2) n`,
    [`team_${SANDBOX}`],
  );
  for (const { name, ask } of LISTS) {
    const { nextCursor } = await ask({ limit: 1 });
    if (nextCursor !== null) cursors.set(name, nextCursor);
  }
});

/** Positions that nobody has issued, of the form that all have. */
const FORGED: readonly ((own: { readonly at: string; readonly id: string }) => string)[] = [
  ({ at, id }) => `${at}|${id.replace(/\d+/, '9'.repeat(30))}`,
  ({ at, id }) => `${at}|${'9'.repeat(18)}.${id}`,
  ({ at, id }) => `${at}|${'9'.repeat(19)}.${id}`,
  ({ at }) => `${at}|${'9'.repeat(300)}`,
  ({ at }) => `${at}|${'ü|'.repeat(100)}`,
  ({ at }) => `${at}|.|.|'`,
  ({ id }) => `9999-12-31T23:59:59.999Z|${id}`,
  ({ id }) => `0001-01-01T00:00:00.000Z|${id}`,
];

function forge(cursor: string, position: (typeof FORGED)[number]): string {
  const [list = '', at = '', ...id] = Buffer.from(cursor, 'base64url').toString().split('|');
  return Buffer.from(`${list}|${position({ at, id: id.join('|') })}`).toString('base64url');
}

it('the table of orders has every list that has several', () => {
  const paged = [
    ...PAGED.map(({ name, input }) => [name, input] as const),
    ...PAGED_IN_APP.map(([name, procedure]) => [`admin.${name}`, inputOf(procedure)] as const),
  ];
  const inOrders = paged.filter(([, input]) =>
    ORDERING.some((name) => name in (input?.shape ?? {})),
  );
  expect(inOrders.map(([name]) => name).toSorted()).toEqual(
    [...Object.keys(ORDERS), ...IN_ONE_ORDER].toSorted(),
  );
});

describe('a cursor', () => {
  it('is issued by every list here, and tells it from the others', () => {
    expect(LISTS.map(({ name }) => name).filter((name) => !cursors.has(name))).toEqual([]);
    expect(new Set(cursors.values()).size).toBe(LISTS.length);
  });

  it.each(LISTS)('of another list is refused by $name, its own is not', async ({ name, ask }) => {
    const answers = new Map<string, Answer>();
    for (const [issuer, cursor] of cursors) answers.set(issuer, await ask({ limit: 1, cursor }));
    expect(answers.get(name)).toMatchObject({ status: 200, fault: null });
    answers.delete(name);
    const wanted = [...answers.keys()].map((issuer) => [
      issuer,
      { status: 422, nextCursor: null, fault: 'cursor' },
    ]);
    expect([...answers]).toEqual(wanted);
  });

  it.each(LISTS)('that was forged gives $name a page or is refused', async ({ name, ask }) => {
    const cursor = cursors.get(name) ?? '';
    const forged = FORGED.map((position) => forge(cursor, position));
    const answers = await Promise.all(forged.map((each) => ask({ limit: 1, cursor: each })));
    const kinds = new Set(answers.map(({ status, fault }) => `${status} ${fault}`));
    expect([...kinds].filter((kind) => !['200 null', '422 cursor'].includes(kind))).toEqual([]);
  });
});
