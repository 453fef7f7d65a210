// oxlint-disable vitest/valid-expect -- the second argument names the failing query of a loop
// Every list with every filter, alone and in pairs: it shows what a look at the whole list keeps.
import { beforeAll, describe, expect, it, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import type { Page } from '../support/lists.ts';
import { addTwinRows, SIDES, TWINS_NOW, twinSeed } from '../support/twins.ts';
import { fillPath, queryNamesOf } from './requests.ts';

type Item = Readonly<Record<string, unknown>>;
const idOf = ({ id }: Item): unknown => id;

interface Filter {
  /** Whether the list keeps the item when it is asked for `value`. */
  readonly keeps: (item: Item, value: string) => boolean;
  /** What the list is asked for because of this item. */
  readonly valuesOf: (item: Item) => readonly string[];
}

const equals = (field: string): Filter => ({
  keeps: (item, value) => item[field] === value,
  valuesOf: ({ [field]: value }) => (typeof value === 'string' ? [value] : []),
});
/** At the moment of the item, and right after it. */
const time = (field: string, keeps: (at: number, value: number) => boolean): Filter => ({
  keeps: ({ [field]: at }, value) =>
    typeof at === 'string' && keeps(Date.parse(at), Date.parse(value)),
  valuesOf: ({ [field]: at }) =>
    typeof at === 'string' ? [0, 1].map((ms) => new Date(Date.parse(at) + ms).toISOString()) : [],
});
const FAILED = ['retrying', 'gave_up'];
const idIn = (ref: unknown): string | undefined => {
  const { id } = (ref ?? {}) as { readonly id?: string | number };
  return id === undefined ? undefined : String(id);
};
const dayAfter = (date: string): string =>
  new Date(Date.parse(date) + 86_400_000).toISOString().slice(0, 10);

/** By the name of the parameter. `list.parameter` is for this list alone. */
const FILTERS: Readonly<Record<string, Filter>> = {
  user_id: equals('user_id'),
  // The members of the twins are called as their addresses begin.
  member_id: {
    keeps: ({ member_email }, value) => member_email === `${value}@twin.test`,
    valuesOf: ({ member_email }) =>
      typeof member_email === 'string' ? [member_email.replace(/@.*/, '')] : [],
  },
  assignment_id: equals('assignment_id'),
  external_ref_id: {
    keeps: ({ external_ref }, value) => idIn(external_ref) === value,
    valuesOf: ({ external_ref }) => [idIn(external_ref) ?? 'unknown'],
  },
  status: equals('status'),
  role: equals('role'),
  email: equals('email'),
  type: equals('type'),
  event_type: equals('event_type'),
  since: time('created_at', (at, since) => at >= since),
  until: time('created_at', (at, until) => at < until),
  due_before: {
    keeps: ({ due_date }, value) => typeof due_date === 'string' && due_date < value,
    valuesOf: ({ due_date }) =>
      typeof due_date === 'string' ? [due_date, dayAfter(due_date)] : [],
  },
  'webhooks.listDeliveries.status': {
    keeps: ({ status }, value) =>
      value === 'failed' ? FAILED.includes(String(status)) : status === value,
    valuesOf: ({ status }) => [String(status), 'failed'],
  },
};
/** Parameters that filter by nothing that an item shows, or not at all. */
const OTHERS = ['cursor', 'limit', 'include', 'order', 'after', 'updated_since'];

const filterOf = ({ name }: Endpoint, parameter: string): Filter | undefined =>
  FILTERS[`${name}.${parameter}`] ?? FILTERS[parameter];
const LISTS = ENDPOINTS.filter(
  (endpoint) =>
    'cursor' in endpoint.input.shape &&
    endpoint.mode !== 'test' &&
    queryNamesOf(endpoint).some((parameter) => filterOf(endpoint, parameter)),
);

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: twinSeed(), clock: fixedClock(TWINS_NOW) });
  await addTwinRows(api.db, 'http://127.0.0.1:9', SIDES);
  // In the twins' file several people trained for one assignment, as the platform allows nobody.
  await api.db.pool.query(
    `update training t
     set assignment_id = null
     where user_id <> (
       select l.user_id
       from training l
       where l.team_id = t.team_id and l.assignment_id = t.assignment_id
       order by l.created_at desc, l.id desc
       limit 1
     )`,
  );
});

async function ask(endpoint: Endpoint, query: Readonly<Record<string, string>>): Promise<Item[]> {
  const path = fillPath(endpoint, () => 'whe_1');
  const parameters = new URLSearchParams({ limit: '200', ...query });
  const { status, body } = await api.call(
    api.key('team_a'),
    endpoint.method,
    `${path}?${parameters}`,
  );
  expect(status, parameters.toString()).toBe(200);
  const { data, next_cursor: next = null } = body as Partial<Page<Item>>;
  expect(next).toBeNull();
  return data ?? [];
}

/** The queries with at most two of these filters, each with a value of the item. */
function* queriesFor(
  item: Item,
  filters: readonly (readonly [string, Filter])[],
  most = 2,
): Generator<Record<string, string>> {
  yield {};
  if (most === 0) return;
  for (const [place, [name, filter]] of filters.entries())
    for (const value of filter.valuesOf(item))
      for (const rest of queriesFor(item, filters.slice(place + 1), most - 1))
        yield { [name]: value, ...rest };
}

describe('a list', () => {
  it.each(LISTS)('$name shows what its filters keep', async (endpoint) => {
    const filters = queryNamesOf(endpoint).flatMap((name) => {
      const filter = filterOf(endpoint, name);
      return filter ? [[name, filter] as const] : [];
    });
    const all = await ask(endpoint, {});
    expect(all.length).toBeGreaterThan(2);
    const asked = new Set<string>();
    for (const query of all.slice(0, 12).flatMap((item) => [...queriesFor(item, filters)])) {
      const text = JSON.stringify(query);
      if (asked.has(text)) continue;
      asked.add(text);
      const kept = all.filter((item) =>
        filters.every(([name, { keeps }]) => !query[name] || keeps(item, query[name])),
      );
      expect((await ask(endpoint, query)).map(idOf), text).toEqual(kept.map(idOf));
    }
    for (const [name] of filters) expect([...asked].join()).toContain(`"${name}"`);
  });
});

test('each parameter of a list is a filter, or is listed as another one', () => {
  const unknown = ENDPOINTS.filter(({ input }) => 'cursor' in input.shape).flatMap((endpoint) =>
    queryNamesOf(endpoint).filter((name) => !filterOf(endpoint, name) && !OTHERS.includes(name)),
  );
  expect(unknown).toEqual([]);
});
