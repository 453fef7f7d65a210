/**
 * Calls of every endpoint and every procedure with many inputs, made from the declarations: each
 * existing id, each value of an enumeration and each filter, one at a time. A new declaration needs
 * nothing here, unless it takes a new kind of id (see `TWIN_IDS`).
 */
import { request } from 'undici';
import { z } from 'zod';
import type { AnyProcedure } from '@trpc/server';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import { appRouter } from '../../src/routers/routers.ts';
import type { TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import {
  ENTRY_IDS,
  teamIdOf,
  trainingUserOf,
  TWIN_IDS,
  TWINS_NOW,
  UNSTORED_SECRET,
  type Side,
} from '../support/twins.ts';
import { sampleOf } from './samples.ts';
import { SHARED_IDEMPOTENCY_KEY, type TwinCall } from './twin-worlds.ts';

type Input = Readonly<Record<string, unknown>>;

/** What the twins call: an endpoint, a procedure or a job, with all its inputs. */
export interface Operation {
  readonly name: string;
  readonly changes: boolean;
  /** With a key. */
  readonly isRest?: true;
  /** A call for each input; `label` names the input when a test fails. */
  readonly calls: readonly { readonly label: string; readonly call: TwinCall }[];
}

const existing: Readonly<Record<string, readonly string[]>> = TWIN_IDS;

/** Values to try besides ids, enumerations and booleans, by the name of the field. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  email: ['mem_3@twin.test', 'mem_4@twin.test', 'mem_7@twin.test', 'new@twin.test'],
  role: ['admin', 'member'],
  status: [
    'scored',
    'running',
    'open',
    'done',
    'active',
    'disabled',
    'retrying',
    'gave_up',
    'suspended',
  ],
  since: ['2026-10-10T00:00:00Z', '2026-11-03'],
  until: ['2026-10-20T00:00:00Z', '2026-11-03'],
  include: ['evaluation'],
  due_before: ['2026-12-10'],
  external_ref_id: ['ext_1', 'ext_2'],
  updated_since: ['2026-10-10T00:00:00Z'],
  limit: [1, 200],
  blocked: [[], ['own_1'], ['per_tough', 'ind_public', 'own_b', 'sit_cold'], ['own_a']],
  rules: [[{ situation_id: 'sit_renewal', industry_id: 'ind_saas' }]],
  released: [[], ['sit_cold', 'ind_public', 'per_calm'], ['own_1']],
  name: ['full', 'a new one'],
  action: ['member.invited'],
  actor_id: ['mem_1', 'key_full'],
  target_id: ['target_1'],
  event_type: ['training.completed'],
  entries: [
    [
      { kind: 'situation', id: 'own_1', name: { de: 'neu' } },
      { kind: 'role', id: 'own_b', name: {} },
    ],
  ],
  ...ENTRY_IDS,
  ...TWIN_IDS,
};

/** Inputs that cannot be made from the declaration. */
const SPECIAL: Readonly<Record<string, (side: Side, crmUrl: string) => Input>> = {
  'admin.crm.connect': (_side, crmUrl) => ({
    provider: 'hubspot',
    credentials: 'token',
    base_url: crmUrl,
  }),
  'admin.crm.replaceCredentials': () => ({
    connection_id: TWIN_IDS.connection_id[0],
    provider: 'hubspot',
    credentials: 'token',
  }),
  'admin.webhooks.confirmStored': (side) => ({
    endpoint_id: UNSTORED_SECRET.endpointId,
    secret: UNSTORED_SECRET.secretOf(side),
  }),
  'platform.teams.create': () => ({
    team_id: 'team_new',
    name: 'New',
    owner: { user_id: 'usr_1', email: 'mem_1@twin.test' },
  }),
};

/** One more input for calls that change nothing with any other one: some of its fields. */
const MORE: Readonly<Record<string, (side: Side) => Input>> = {
  'POST /assignments/batch': (side) => ({
    assignments: ['mem_1', 'mem_3', 'mem_4'].map((member_id) => ({
      member_id,
      title: 'Practise',
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: side === 'a' ? 'ind_saas' : 'ind_public',
    })),
  }),
  'admin.team.grantRight': (side) => ({ member_id: side === 'a' ? 'mem_1' : 'mem_2' }),
  'platform.trainings.start': () => ({ training_id: 'trn_new', assignment_id: undefined }),
  'platform.trainings.end': () => ({ training_id: 'trn_new', assignment_id: undefined }),
  'platform.trainings.abort': () => ({ training_id: 'trn_new', assignment_id: undefined }),
  'platform.cases.create': () => ({ case_id: 'cas_new', user_id: 'usr_1' }),
  'platform.teams.erase': () => ({}),
  'platform.apiKeys.createFirst': () => ({ name: 'first', template: 'results', scopes: undefined }),
};

/** What is called before that, with which inputs: without it, nothing would change. */
const BEFORE: Readonly<Record<string, readonly [name: string, inputs: readonly Input[]]>> = {
  'platform.apiKeys.createFirst': [
    'platform.apiKeys.revoke',
    TWIN_IDS.key_id.map((key_id) => ({ key_id })),
  ],
  'platform.teams.erase': ['platform.teams.update', [{ status: 'ended' }]],
  'admin.team.grantRight': [
    'admin.team.withdrawRight',
    ['mem_1', 'mem_2'].map((member_id) => ({ member_id, right: 'schnittstellen' })),
  ],
};

/** Each endpoint of the REST API, with a key of the owner. */
export const REST_OPERATIONS: readonly Operation[] = ENDPOINTS.map((endpoint) => {
  const name = `${endpoint.method} ${endpoint.path}`;
  const base = baseOf(endpoint);
  const calls = inputsOf(endpoint.input, base).map((input): Operation['calls'][number] => ({
    label: JSON.stringify(input),
    call: (api, side) => callRest(api, side, endpoint, input),
  }));
  const more = MORE[name];
  if (more)
    calls.push({
      label: 'that changes something',
      call: (api, side) => callRest(api, side, endpoint, { ...base, ...more(side) }),
    });
  return { name, changes: endpoint.method !== 'GET', isRest: true, calls };
});

/**
 * Returns each procedure of the tRPC API. The owner sends all inputs; members whose role differs
 * between the teams send the first one. The CRM is at `crmUrl`.
 */
export function appOperations(crmUrl: string): readonly Operation[] {
  return Object.entries(appRouter._def.procedures as unknown as Record<string, AnyProcedure>).map(
    ([name, { _def }]) => {
      const { inputs = [] } = _def as unknown as { inputs?: z.ZodType[] };
      const shape = inputs[0] ?? z.object({});
      const inputFor = (side: Side, input: Input): Input =>
        withTeam(shape, { ...input, ...SPECIAL[name]?.(side, crmUrl) }, side, name);
      const all = SPECIAL[name] ? [{}] : inputsOf(shape, sampleOf(shape) as Input | undefined);
      // Procedures of v1 run the same code as the REST API, so a few inputs are enough.
      const chosen = name.startsWith('v1.') ? all.slice(0, 2) : all;
      const isPlatform = name.startsWith('platform.');
      const as =
        (user: string, input: Input): TwinCall =>
        (api, side) =>
          callApp(api, side, {
            name,
            type: _def.type,
            user: isPlatform ? null : user,
            input: inputFor(side, input),
          });
      const first = chosen[0] ?? {};
      const more = MORE[name];
      const [before = '', inputsBefore = []] = BEFORE[name] ?? [];
      const changing: TwinCall = async (api, side) => {
        const user = isPlatform ? null : 'usr_owner';
        const team = isPlatform ? { team_id: teamIdOf(side) } : {};
        for (const input of inputsBefore)
          await callApp(api, side, {
            name: before,
            type: 'mutation',
            user,
            input: { ...team, ...input },
          });
        return as('usr_owner', { ...first, ...more?.(side) })(api, side);
      };
      return {
        name,
        changes: _def.type === 'mutation',
        calls: [
          ...chosen.map((input) => ({
            label: JSON.stringify(input),
            call: as('usr_owner', input),
          })),
          ...(more ? [{ label: 'that changes something', call: changing }] : []),
          ...(isPlatform ? [] : ['usr_1', 'usr_2', 'usr_3']).map((user) => ({
            label: user,
            call: as(user, first),
          })),
        ],
      };
    },
  );
}

/**
 * Adds the team for host procedures, and the training's own user if a training is reported again.
 */
function withTeam(shape: z.ZodType, input: Input, side: Side, name: string): Input {
  const isOfTraining = name.startsWith('platform.trainings.') && !('of_another' in input);
  const { of_another: _, ...given } = input;
  return {
    ...given,
    ...('team_id' in propertiesOf(shape) && name !== 'platform.teams.create'
      ? { team_id: teamIdOf(side) }
      : {}),
    ...(isOfTraining ? { user_id: trainingUserOf(side, String(input['training_id'])) } : {}),
  };
}

function baseOf(endpoint: Endpoint): Input {
  const ids = endpoint.pathParameters.map((name) => [name, first(name)]);
  const body = Object.entries((endpoint.example.body ?? {}) as Input).map(([name, value]) => [
    name,
    name === 'url' ? 'http://127.0.0.1:9/hook' : value,
  ]);
  return Object.fromEntries([...body, ...ids]) as Input;
}

function first(name: string): unknown {
  const [value] = VALUES[name] ?? [];
  if (value === undefined) throw new Error(`TWIN_IDS lacks ${name}`);
  return value;
}

type JsonSchema = z.core.JSONSchema.JSONSchema;

/** Returns the fields of an input; for a union, those of all its choices. */
function propertiesOf(shape: z.ZodType): Readonly<Record<string, JsonSchema>> {
  const root = z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' });
  const choices = [root, ...(root.anyOf ?? []), ...(root.oneOf ?? [])] as JsonSchema[];
  return Object.assign({}, ...choices.map(({ properties = {} }) => properties)) as Record<
    string,
    JsonSchema
  >;
}

/** Returns a base input, and variants of it in which one field has each of its values. */
function inputsOf(shape: z.ZodType, sample: Input = {}): readonly Input[] {
  const base = Object.fromEntries(
    Object.entries(sample).map(([name, value]) => [name, existing[name]?.[1] ?? value]),
  );
  const properties = propertiesOf(shape);
  const varied = Object.entries(properties).flatMap(([name, schema]) =>
    valuesOf(name, schema).map((value) => ({
      ...base,
      [name]: value,
    })),
  );
  const others =
    'training_id' in properties && 'user_id' in properties
      ? TWIN_IDS.user_id.map((user_id) => ({ ...base, user_id, of_another: true }))
      : [];
  return [base, ...varied, ...together(base, Object.keys(properties)), ...others];
}

/** Varies all ids at once: the first of each kind, the second, and so on (`mem_5` with `usr_5`). */
function together(base: Input, names: readonly string[]): readonly Input[] {
  const lists = names.flatMap((name) => (existing[name] ? [{ name, ids: existing[name] }] : []));
  if (lists.length < 2) return [];
  const count = Math.max(...lists.map(({ ids }) => ids.length));
  return Array.from({ length: count }, (_, index) => ({
    ...base,
    ...Object.fromEntries(lists.map(({ name, ids }) => [name, ids[index % ids.length]])),
  }));
}

function valuesOf(name: string, schema: JsonSchema): readonly unknown[] {
  if (schema.type === 'boolean') return [true, false];
  return [...new Set([...(schema.enum ?? []), ...(VALUES[name] ?? [])])];
}

async function callRest(
  api: TestApi,
  side: Side,
  endpoint: Endpoint,
  input: Input,
): Promise<unknown> {
  const { method, pathParameters } = endpoint;
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
    encodeURIComponent(String(input[name])),
  );
  const rest = Object.entries(input).filter(([name]) => !pathParameters.includes(name));
  const key = api.key(teamIdOf(side));
  if (method === 'GET')
    return readPages(async (cursor) => {
      const query = new URLSearchParams(
        Object.fromEntries(rest.map(([name, value]) => [name, String(value)])),
      );
      if (cursor !== null) query.set('cursor', cursor);
      return comparable(await api.call(key, 'GET', `${path}?${query.toString()}`));
    });
  const headers = method === 'POST' ? { 'idempotency-key': SHARED_IDEMPOTENCY_KEY } : {};
  const hasBody = endpoint.bodyName !== null;
  return comparable(
    await api.call(key, method, path, {
      headers,
      ...(hasBody ? { body: Object.fromEntries(rest) } : {}),
    }),
  );
}

interface Answer {
  readonly status: number;
  readonly location: string | null;
  readonly replayed: string | null;
  readonly body: { readonly next_cursor?: string | null };
}

function comparable({ status, headers, body }: Awaited<ReturnType<TestApi['call']>>): Answer {
  return {
    status,
    location: headers['location'] ?? null,
    replayed: headers['idempotency-replayed'] ?? null,
    body,
  };
}

/** Reads all pages of a list. */
async function readPages(read: (cursor: string | null) => Promise<Answer>): Promise<unknown> {
  const pages: Answer[] = [];
  let cursor: string | null = null;
  do {
    const page: Answer = await read(cursor);
    pages.push(page);
    cursor = page.body.next_cursor ?? null;
  } while (cursor !== null);
  return pages;
}

async function callApp(
  api: TestApi,
  side: Side,
  call: { name: string; type: string; user: string | null; input: Input },
): Promise<unknown> {
  const identity =
    call.user === null
      ? ({ kind: 'platform', service: 'training' } as const)
      : ({ kind: 'user', userId: call.user, teamId: teamIdOf(side) } as const);
  const headers = {
    authorization: `Bearer ${await knownTokenOf(identity)}`,
    'content-type': 'application/json',
  };
  const url = `${api.url}/trpc/${call.name}`;
  const json = JSON.stringify(call.input);
  // Not `fetch`, whose streams take more time than the call.
  const response = await (call.type === 'query'
    ? request(`${url}?input=${encodeURIComponent(json)}`, { headers })
    : request(url, { method: 'POST', headers, body: json }));
  const body: unknown = await response.body.json();
  // A failing statement would fail with and without the twin, so it must not count as a response.
  const status = response.statusCode;
  if (status >= 500)
    throw new Error(`${call.name} ${json} → ${status}\n${api.loggedErrors.at(-1)}`);
  return { status, body };
}

const tokens = new Map<string, Promise<string>>();

/** The clock stands still, so each of the thousands of calls would sign the same token again. */
function knownTokenOf(identity: Parameters<typeof tokenOf>[0]): Promise<string> {
  const name = JSON.stringify(identity);
  const token = tokens.get(name) ?? tokenOf(identity, TWINS_NOW);
  tokens.set(name, token);
  return token;
}
