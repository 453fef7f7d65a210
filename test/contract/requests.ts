// Valid requests, made from the declarations, for tests that loop over all operations: a new operation gets them for free.
import { it } from 'vitest';
import type { Database } from '../../src/db/client.ts';
import type { SeedFileInput } from '../../src/seed/schema.ts';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import { makeFullTeam, makeSeed, memberId, userId, type TeamSeed } from '../support/seed.ts';

export interface EndpointRequest {
  readonly method: string;
  /** Below the base path, parameters filled in. */
  readonly path: string;
  readonly body?: Record<string, unknown>;
}

/** What exists in a team made by `makeFullTeam(team)`, by the name that paths, queries and bodies call it. A new kind of id needs a line here. */
export const EXISTING_IDS: Readonly<Record<string, (team: string) => string>> = {
  member_id: (team) => memberId(team, 'member'),
  user_id: (team) => userId(team, 'member'),
  training_id: (team) => `trn_${team}`,
  assignment_id: (team) => `asg_${team}`,
  case_id: (team) => `cas_${team}`,
  endpoint_id: (team) => `whe_${team}`,
  delivery_id: (team) => `whd_${team}`,
};

/** Values of examples that cannot be used as they are: the documents' hosts do not exist. Needs `allowPrivateTargets`. */
const REPLACED_VALUES: Readonly<Record<string, unknown>> = { url: 'http://127.0.0.1:9/hook' };

/** The operation on what exists in `team`, with the body of the declaration's own example. */
export function validRequest(endpoint: Endpoint, team: string): EndpointRequest {
  return requestWith(endpoint, (name) => existingId(name, team));
}

/** The same with ids of the test's choice in the path; the body stays valid for `team`. */
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
  const values = Object.entries(body).map(([name, value]) => [
    name,
    name in EXISTING_IDS ? idOf(name) : (REPLACED_VALUES[name] ?? value),
  ]);
  return {
    method: endpoint.method,
    path,
    body: Object.fromEntries(values) as Record<string, unknown>,
  };
}

/** The path with encoded ids. */
export function fillPath(endpoint: Endpoint, idOf: (parameter: string) => string): string {
  return endpoint.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
    encodeURIComponent(idOf(name)),
  );
}

export function existingId(name: string, team: string): string {
  const idOf = EXISTING_IDS[name];
  if (!idOf) throw new Error(`EXISTING_IDS of test/contract/requests.ts lacks ${name}`);
  return idOf(team);
}

/** The name of a team of its own for each operation, so that what one does is not in another's way. */
export function teamOf(endpoint: Endpoint): string {
  return endpoint.name.replaceAll('.', '-').toLowerCase();
}

/** A full team for each operation, and `others`. */
export function seedForEveryEndpoint(
  others: TeamSeed[] = [],
  fields: Partial<TeamSeed> = {},
): SeedFileInput {
  return makeSeed([
    ...ENDPOINTS.map((endpoint) => makeFullTeam(teamOf(endpoint), fields)),
    ...others,
  ]);
}

/** A delivery that was given up, `whd_<team>`, for each team's endpoint `whe_<team>`: seed files have none. */
export async function addDeliveries(db: Database): Promise<void> {
  await db.pool.query(
    `with e as (
       insert into event (team_id, id, type, data, created_at, fanned_out_at)
       select team_id, 'evt_' || team_id, 'training.completed', json_build_object('team_id', team_id), now(), now() from webhook_endpoint
       on conflict do nothing returning *
     )
     insert into webhook_delivery (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at)
     select e.team_id, replace(e.team_id, 'team_', 'whd_'), replace(e.team_id, 'team_', 'whe_'), e.id, e.type, 'gave_up', 8, now() from e`,
  );
}

/** What is stored, but for what every request leaves behind (rate counters) and what a refusal may (idempotency records): equal when nothing was written. */
export async function readState(db: Database): Promise<Record<string, string>> {
  const { rows: tables } = await db.pool.query<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'
     and table_name not in ('rate_counter', 'idempotency_record', '_prisma_migrations') order by 1`,
  );
  const selects = [...tables.map(({ name }) => name), 'graphile_worker._private_jobs'].map(
    (name) =>
      `select '${name}' as name, count(*) || ' ' || coalesce(md5(string_agg(t::text, '' order by t::text)), '') as state from ${name} t`,
  );
  const { rows } = await db.pool.query<{ name: string; state: string }>(
    selects.join(' union all '),
  );
  return Object.fromEntries(rows.map(({ name, state }) => [name, state]));
}

/** `it` where the guarantee applies to the operation; else nothing, so that a run reports no test as skipped that could never run. */
export function when(
  applies: unknown,
): Pick<typeof it, 'each'> & ((name: string, test: () => Promise<void>) => void) {
  return applies ? it : nothing;
}

const nothing = Object.assign(() => undefined, {
  each: () => () => undefined,
}) as unknown as typeof it;
