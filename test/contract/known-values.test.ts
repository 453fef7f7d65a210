// The document names the values that the data has: what a client is told of is what it meets.
import { beforeAll, expect, test } from 'vitest';
import { SCOPES } from '../../src/core/scopes.ts';
import { GOALS, OBJECTION_CATEGORIES, TRAINING_SOURCES } from '../../src/core/vocabularies.ts';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { writeDemoPast } from '../../src/seed/demo-past-store.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { DEMO_SANDBOX_ID, DEMO_TEAM_ID } from '../../src/seed/demo-team.ts';
import type { SeedFileInput } from '../../src/seed/schema.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const { components, paths } = openApiDocument('https://team.example') as unknown as {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<
    Record<string, { get?: { responses: Record<string, { content: Record<string, Media> }> } }>
  >;
};
interface Media {
  readonly schema: Schema;
}

/** The team of `npm start`, and a generated one. */
function teamsOfService(): SeedFileInput {
  const demo = demoSeedFile(new Date());
  const generated = {
    id: 'team_gen',
    plan: 'team',
    members: [{ id: 'mem_o', user_id: 'usr_o', email: 'o@gen.test', role: 'owner' }],
    seats: 100,
    generate: {
      members: 60,
      trainings: 3_000,
      assignments: 400,
      cases: 10,
      crm_deals: 150,
      from: '2026-01-01',
      to: '2026-07-01',
      random_seed: 7,
    },
    api_keys: [{ name: 'full', scopes: SCOPES }],
  };
  return { ...demo, teams: [...(demo.teams ?? []), generated] } as SeedFileInput;
}

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: teamsOfService() });
  await writeDemoPast(api.databaseUrl, new Date());
});

/** The values that each place with known values has, which are texts. */
const met = new Map<string, Set<string>>();
const known = new Map<string, ReadonlySet<unknown>>();

function look(given: Schema, value: unknown, place: string): void {
  if (value === null || value === undefined) return;
  const name = given.$ref?.split('/').at(-1);
  const schema = name === undefined ? given : (components.schemas[name] ?? {});
  const at = name ?? place;
  const [first, ...others] = schema.anyOf ?? [];
  if (first?.enum && typeof value === 'string') {
    known.set(at, new Set(first.enum));
    met.set(at, (met.get(at) ?? new Set()).add(value));
    return;
  }
  for (const choice of first ? [first, ...others] : []) look(choice, value, at);
  if (Array.isArray(value)) for (const one of value) look(schema.items ?? {}, one, at);
  else if (typeof value === 'object')
    for (const [field, of] of Object.entries(schema.properties ?? {}))
      look(of, (value as Record<string, unknown>)[field], `${at}.${field}`);
}

/** Reads a list of a team to its end, or one object. */
async function readAll(key: string, path: string, query: string): Promise<void> {
  const schema = paths[path]?.get?.responses['200']?.content['application/json']?.schema;
  let next: string | null = '';
  while (schema && next !== null) {
    const cursor = next === '' ? '' : `&cursor=${encodeURIComponent(next)}`;
    const answer = await api.call(key, 'GET', `${path}?${query}${cursor}`);
    expect([path, answer.status]).toEqual([path, 200]);
    look(schema, answer.body, path);
    next = (answer.body as { next_cursor?: string | null }).next_cursor ?? null;
  }
}

/** Of live teams. The values of sandboxes are declared where their CHECKs are compared. */
const LISTS = ENDPOINTS.filter(
  ({ method, path, mode }) => method === 'GET' && mode === null && !path.includes('{'),
);

test('every value of the data is one that the document names', async () => {
  const keys = [api.key(DEMO_TEAM_ID, 'demo'), api.key('team_gen')];
  const testKey = api.key(DEMO_SANDBOX_ID, 'demo');
  await api.call(testKey, 'POST', '/sandbox/reset', { body: { scenario: 'typical' } });
  for (const key of [...keys, testKey])
    for (const { path, input, mode } of LISTS) {
      if (mode === 'test' && key !== testKey) continue;
      const limit = 'limit' in input.shape ? 'limit=200' : '';
      await readAll(key, path, path === '/trainings' ? `${limit}&include=evaluation` : limit);
    }
  const unnamed = [...met].flatMap(([place, values]) =>
    [...values].filter((value) => !known.get(place)?.has(value)).map((one) => `${place}: ${one}`),
  );
  expect(unnamed).toEqual([]);
});

test.each([
  ['Training.source', TRAINING_SOURCES],
  ['Evaluation.goal', GOALS],
  ['Training.status', ['started', 'aborted', 'completed', 'scored']],
  ['Assignment.status', ['open', 'done', 'revoked']],
  ['CrmDeal.outcome', ['open', 'won', 'lost']],
])('the data has every value of %s', (place, values) => {
  expect([...(met.get(place) ?? [])].toSorted()).toEqual([...values].toSorted());
});

test('the categories of generated objections are some of those that the service guesses', () => {
  const categories = [...(met.get('CrmObjection.category') ?? [])];
  expect(categories.length).toBeGreaterThan(3);
  expect(OBJECTION_CATEGORIES).toEqual(expect.arrayContaining(categories));
});
