// Valid requests, made from the declarations of the endpoints, for tests that loop over all of
// them. A new endpoint needs nothing here unless it takes a new kind of id.
import { hash } from 'node:crypto';
import { it } from 'vitest';
import { newRequestId } from '../../src/core/ids.ts';
import { SANDBOX_END } from '../../src/core/sandbox.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { slotOf, timeOfRequest } from '../../src/features/requests/rules.ts';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import type { SeedFileInput } from '../../src/seed/schema.ts';
import { makeFullTeam, makeSeed, memberId, userId, type TeamSeed } from '../support/seed.ts';
import { marksOf } from '../support/table-marks.ts';

/** A request that `TestApi.call` can send. */
export interface EndpointRequest {
  readonly method: string;
  /** Relative to the base path, with parameters filled in. */
  readonly path: string;
  readonly body?: Record<string, unknown>;
}

const REQUEST_ID_PREFIX = newRequestId().slice(0, 18);

/** The id of the request that `addDeliveries` adds to the team. */
function requestIdOf(teamId: string): string {
  const digest = hash('md5', teamId);
  return `${REQUEST_ID_PREFIX}-8${digest.slice(0, 3)}-${digest.slice(3, 15)}`;
}

/**
 * The ids in a team made by `makeFullTeam(team)`, by their name in paths, queries and bodies. A new
 * kind of id needs a line here.
 */
export const EXISTING_IDS: Readonly<Record<string, (team: string) => string>> = {
  member_id: (team) => memberId(team, 'member'),
  user_id: (team) => userId(team, 'member'),
  training_id: (team) => `trn_${team}`,
  assignment_id: (team) => `asg_${team}`,
  external_ref_id: (team) => `ext_${team}`,
  case_id: (team) => `cas_${team}`,
  endpoint_id: (team) => `whe_${team}`,
  delivery_id: (team) => `whd_${team}`,
  resend_id: (team) => `whr_${team}`,
  request_id: (team) => requestIdOf(`team_${team}`),
};

/**
 * Replaces values of the examples that cannot be used, because the hosts in the documentation do
 * not exist. Needs `allowPrivateTargets`.
 */
const REPLACED_VALUES: Readonly<Record<string, unknown>> = { url: 'http://127.0.0.1:9/hook' };

/** Returns a valid request on the resources of `team`, with the body of the declared example. */
export function validRequest(endpoint: Endpoint, team: string): EndpointRequest {
  return requestWith(endpoint, (name) => existingId(name, team));
}

/** Returns the same request with the ids of `idOf` in the path; the body stays valid for `team`. */
export function requestOn(
  endpoint: Endpoint,
  team: string,
  idOf: (parameter: string) => string,
): EndpointRequest {
  return { ...validRequest(endpoint, team), path: fillPath(endpoint, idOf) };
}

function requestWith(endpoint: Endpoint, idOf: (name: string) => string): EndpointRequest {
  const path = fillPath(endpoint, idOf);
  const { body } = endpoint.example;
  if (typeof body !== 'object' || body === null) return { method: endpoint.method, path };
  return { method: endpoint.method, path, body: withIds(body, idOf) };
}

/** Replaces the ids of an object, and of the objects in its lists. */
function withIds(body: object, idOf: (name: string) => string): Record<string, unknown> {
  const replace = (name: string, value: unknown): unknown => {
    if (name in EXISTING_IDS) return idOf(name);
    if (Array.isArray(value))
      return value.map((one: unknown) =>
        typeof one === 'object' && one !== null ? withIds(one, idOf) : one,
      );
    return REPLACED_VALUES[name] ?? value;
  };
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, replace(name, value)]),
  );
}

/** Returns the names of the inputs that are not in the path: of a GET, its query parameters. */
export function queryNamesOf({ input, pathParameters }: Endpoint): string[] {
  return Object.keys(input.shape).filter((name) => !pathParameters.includes(name));
}

/** Returns the path with its parameters replaced by percent-encoded ids. */
export function fillPath(endpoint: Endpoint, idOf: (parameter: string) => string): string {
  return endpoint.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
    encodeURIComponent(idOf(name)),
  );
}

/** Returns the id of this kind that exists in `team`. Throws for an unknown kind. */
export function existingId(name: string, team: string): string {
  const idOf = EXISTING_IDS[name];
  if (!idOf) throw new Error(`EXISTING_IDS of test/contract/requests.ts lacks ${name}`);
  return idOf(team);
}

/**
 * Returns the name of the endpoint's own team, so that endpoints do not affect each other. An
 * endpoint of sandboxes has a sandbox. `use` tells several of them apart.
 */
export function teamOf({ name, mode }: Endpoint, use = ''): string {
  const team = name.replaceAll('.', '-').toLowerCase() + use;
  return mode === 'test' ? team + SANDBOX_END : team;
}

/** Makes a seed file with a full team for each endpoint, and `others`. */
export function seedForEveryEndpoint(
  others: TeamSeed[] = [],
  fields: Partial<TeamSeed> = {},
): SeedFileInput {
  return makeSeed([
    ...ENDPOINTS.map((endpoint) => makeFullTeam(teamOf(endpoint), fields)),
    ...others,
  ]);
}

/**
 * Adds a delivery `whd_<team>` that gave up for each team's webhook endpoint `whe_<team>`, a resend
 * `whr_<team>` that is done, and a logged request of its key `full`, because seed files of tests
 * have none.
 */
export async function addDeliveries(db: Database): Promise<void> {
  await db.pool.query(
    `with e as (
       insert into event (team_id, id, type, data, created_at, fanned_out_at)
       select team_id, 'evt_' || team_id, 'training.completed',
         json_build_object('team_id', team_id), now(), now()
       from webhook_endpoint
       on conflict do nothing
       returning *
     )
     insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at)
     select e.team_id, replace(e.team_id, 'team_', 'whd_'), replace(e.team_id, 'team_', 'whe_'),
       e.id, e.type, 'gave_up', 8, now()
     from e`,
  );
  await db.pool.query(
    `insert into webhook_resend
       (team_id, id, endpoint_id, state, since, total, has_more, created_at, finished_at)
     select team_id, replace(team_id, 'team_', 'whr_'), id, 'done', now(), 0, false, now(), now()
     from webhook_endpoint
     where id = replace(team_id, 'team_', 'whe_')
     on conflict do nothing`,
  );
  const at = timeOfRequest(requestIdOf('')) ?? new Date();
  await db.pool.query(
    `insert into request_log
       (team_id, slot, id, created_at, key_id, method, route, status, duration_ms)
     select team_id, $1,
       $2 || '-8' || substr(md5(team_id), 1, 3) || '-' || substr(md5(team_id), 4, 12),
       $3, id, 'GET', '/me', 200, 1
     from api_key
     where name = 'full'
     on conflict do nothing`,
    [slotOf(at), REQUEST_ID_PREFIX, at],
  );
}

/** The tables of each database that count as its state. */
const stateTables = new WeakMap<Database, readonly string[]>();

/**
 * Returns a mark of each table. Two of them are equal if nothing was written between them. Rate
 * counters, which every request writes, and idempotency records, which a refusal may write, do not
 * count.
 */
export async function readState(db: Database): Promise<Record<string, string>> {
  const tables = stateTables.get(db) ?? (await listStateTables(db));
  stateTables.set(db, tables);
  return Object.fromEntries(await marksOf(db.pool, tables));
}

async function listStateTables({ pool }: Database): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select quote_ident(table_name) as name
     from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE'
       and table_name not in (
         'rate_counter', 'team_counter', 'idempotency_record', '_prisma_migrations'
       )
     order by 1`,
  );
  return rows.map(({ name }) => name);
}

/**
 * Returns `it` if the guarantee applies to the endpoint. Otherwise it declares no test, because a
 * test that can never run should not be reported as skipped.
 */
export function when(
  applies: unknown,
): Pick<typeof it, 'each'> & ((name: string, test: () => Promise<void>) => void) {
  return applies ? it : nothing;
}

const nothing = Object.assign(() => undefined, {
  each: () => () => undefined,
}) as unknown as typeof it;
