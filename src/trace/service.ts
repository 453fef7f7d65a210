/** Reads what belongs to an id. */
import { isSandbox } from '../core/sandbox.ts';
import type { Db, Tx } from '../db/client.ts';
import { attemptsOf } from '../db/kept-attempts.ts';
import { isDistributed } from '../db/parts.ts';
import { listTeamIds } from '../db/team-pages.ts';
import { listWorkers } from '../delivery/claim-store.ts';
import { findOldestWaiting } from '../delivery/beside-store.ts';
import { keyOfJob, REMOVE_CONNECTION, SYNC_CONNECTION } from '../features/crm/sync/jobs.ts';
import { slotOf, timeOfRequest } from '../features/requests/rules.ts';
import * as callers from './caller-store.ts';
import * as find from './find-store.ts';
import * as reasons from './reasons.ts';
import { firstUsageDay, kindsOf, LIMITS, normalize, windowOf } from './rules.ts';
import * as state from './state-store.ts';

/** What to look for. */
export interface Wanted {
  readonly id: string;
  /** Looks in this team only, which is faster than in all; null: in all. */
  readonly teamId: string | null;
  readonly now: Date;
}

/** A statement that takes longer has met something that it should not. */
const STATEMENT_TIMEOUT_MS = 4_000;
/** How many teams one statement looks in: some milliseconds. */
const TEAMS_PER_STATEMENT = 2_000;

/** What has the id. */
interface Found extends Chain {
  readonly endpoints: find.IdRow[];
  readonly keys: find.IdRow[];
  readonly connections: find.IdRow[];
  readonly teams: find.IdRow[];
}

/** The chain from a request to its deliveries. */
interface Chain {
  readonly requests: find.RequestRow[];
  readonly audit: find.AuditRow[];
  readonly events: find.EventRow[];
  readonly deliveries: find.DeliveryRow[];
}

/** What `trace --json` prints. */
export type TraceResult = Awaited<ReturnType<typeof trace>>;

/** Finds everything that belongs to an id. Opens a transaction, which only reads. */
export function trace(db: Db, { id: given, teamId, now }: Wanted) {
  return db.transaction(async (tx) => {
    state.readOnly(tx, STATEMENT_TIMEOUT_MS);
    const id = normalize(given);
    const distributed = await isDistributed(db);
    const workers = distributed ? await state.listWorkersOfNodes(tx) : await listWorkers(tx);
    const oldest = await findOldestWaiting(tx);
    const found = await lookUp(tx, id, teamId);
    const isFound = Object.values(found).some((rows: readonly unknown[]) => rows.length > 0);
    const chain = await follow(tx, found);
    const rows = [chain, found].flatMap((one) => Object.values(one).flat());
    const teamIds = new Set(rows.map((row: find.IdRow) => row.team_id));
    const context = { found, chain, now, distributed, workers };
    const teams = await Promise.all(Array.from(teamIds, (team) => readTeam(tx, team, context)));
    const cut = (['audit', 'events', 'deliveries'] as const).filter(
      (name) => chain[name].length >= LIMITS[name],
    );
    const why: reasons.Reason[] = isFound ? [] : [reasons.notFound(id)];
    if (workers.length === 0) why.push(reasons.NO_WORKER);
    if (cut.length > 0) why.push({ code: 'cut', text: `There may be more: ${cut.join(', ')}.` });
    return {
      id,
      asked_at: now.toISOString(),
      found: isFound,
      /** The numbers of those that are alive. */
      workers,
      oldest_waiting_event_at: oldest?.toISOString() ?? null,
      why,
      requests: chain.requests,
      audit: chain.audit,
      events: teams.flatMap(({ events }) => events),
      deliveries: teams.flatMap(({ deliveries }) => deliveries),
      endpoints: teams.flatMap(({ endpoints }) => endpoints),
      keys: teams.flatMap(({ keys }) => keys),
      connections: teams.flatMap(({ connections }) => connections),
      teams: teams.flatMap(({ team }) => team),
    };
  });
}

/** Looks for the id as everything that it may be of, at once. */
async function lookUp(tx: Tx, id: string, teamId: string | null): Promise<Found> {
  const kinds = new Set(kindsOf(id));
  const inTeams = createSearch(tx, teamId);
  const [byRequest, events, deliveries, endpoints, keys, connections, team] = await Promise.all([
    kinds.has('request') ? findOfRequest(tx, id, teamId) : null,
    kinds.has('event') ? inTeams((teams) => find.findEvents(tx, teams, id)) : [],
    kinds.has('delivery') ? inTeams((teams) => find.findDeliveries(tx, teams, id)) : [],
    kinds.has('endpoint') ? inTeams((teams) => find.findEndpoints(tx, teams, id)) : [],
    kinds.has('key') ? inTeams((teams) => find.findKeys(tx, teams, id)) : [],
    kinds.has('connection') ? inTeams((teams) => find.findConnections(tx, teams, id)) : [],
    kinds.has('team') ? state.findTeam(tx, id) : null,
  ]);
  const { requests = [], audit = [] } = byRequest ?? {};
  const isPublicPart = kinds.has('key') && keys.length === 0;
  const byPrefix = isPublicPart ? await find.findKeyByPrefix(tx, id) : [];
  return {
    requests,
    audit,
    events,
    deliveries,
    endpoints,
    keys: [...keys, ...byPrefix.filter((key) => teamId === null || key.team_id === teamId)],
    connections,
    teams: team ? [{ team_id: id, id }] : [],
  };
}

/** Returns a function that asks page after page of the teams, until one has an answer. */
function createSearch(tx: Tx, teamId: string | null) {
  return async <Row>(ask: (teamIds: readonly string[]) => Promise<Row[]>): Promise<Row[]> => {
    if (teamId !== null) return ask([teamId]);
    for (let after = ''; ;) {
      const teamIds = await listTeamIds(tx, after, TEAMS_PER_STATEMENT);
      const rows = teamIds.length > 0 ? await ask(teamIds) : [];
      if (rows.length > 0 || teamIds.length < TEAMS_PER_STATEMENT) return rows;
      after = teamIds.at(-1) ?? '';
    }
  };
}

/** The line of the request log first: its team is the only one whose audit log can have more. */
async function findOfRequest(
  tx: Tx,
  requestId: string,
  teamId: string | null,
): Promise<Pick<Found, 'requests' | 'audit'>> {
  const at = timeOfRequest(requestId);
  if (at === null) return { requests: [], audit: [] };
  const inTeams = createSearch(tx, teamId);
  const wanted = { id: requestId, slot: slotOf(at) };
  const requests = await inTeams((teams) => find.findRequests(tx, teams, wanted));
  const audit = { requestId, window: windowOf(requestId), limit: LIMITS.audit + 1 };
  const [request] = requests;
  return {
    requests,
    audit: request
      ? await find.findAudit(tx, [request.team_id], audit)
      : await inTeams((teams) => find.findAudit(tx, teams, audit)),
  };
}

/** The whole chain, whatever was found of it. */
async function follow(tx: Tx, found: Found): Promise<Chain> {
  const failed = await Promise.all([
    ...found.teams.map(({ id }) => state.listFailed(tx, id, null, LIMITS.failed)),
    ...found.endpoints.map(({ team_id: teamId, id }) =>
      state.listFailed(tx, teamId, id, LIMITS.failed),
    ),
  ]);
  const above = await Promise.all(
    found.deliveries.map((row) => find.findEvents(tx, [row.team_id], row.event_id)),
  );
  const refused = await Promise.all(
    found.keys.map((key) => callers.listRefused(tx, key.team_id, key.id)),
  );
  const made = await eventsOfEntries(tx, found.audit);
  const below = await Promise.all(
    [...made, ...found.events].map((event) =>
      state.listDeliveries(tx, event.team_id, event.id, LIMITS.deliveries),
    ),
  );
  const origin = await Promise.all(
    [...found.events, ...above.flat()].map((event) => originOf(tx, event)),
  );
  const audit = [...found.audit, ...origin.flatMap((one) => one.audit)];
  const events = [...made, ...found.events, ...above.flat()];
  const deliveries = [...below.flat(), ...found.deliveries, ...failed.flat()];
  return {
    requests: [...found.requests, ...origin.flatMap((one) => one.requests), ...refused.flat()],
    audit: audit.slice(0, LIMITS.audit),
    events: events.slice(0, LIMITS.events),
    deliveries: deliveries.slice(0, LIMITS.deliveries),
  };
}

/** The events of the changes, each of which has the time of its audit entry. */
async function eventsOfEntries(
  tx: Tx,
  entries: readonly find.AuditRow[],
): Promise<find.EventRow[]> {
  const changes = Map.groupBy(entries, (entry) => `${entry.team_id}\n${entry.created_at}`);
  const events = await Promise.all(
    Array.from(changes.values(), async ([entry]) => {
      if (!entry) return [];
      const { team_id: teamId, request_id: requestId, created_at: at } = entry;
      return state.listEventsAt(tx, teamId, { requestId, at }, LIMITS.events);
    }),
  );
  return events.flat();
}

/** The request that has raised an event, and its audit entries: none for an event of a seed. */
async function originOf(
  tx: Tx,
  { team_id: teamId, created_at: createdAt, request_id: requestId }: find.EventRow,
): Promise<Pick<Found, 'requests' | 'audit'>> {
  if (requestId === null) return { requests: [], audit: [] };
  const at = new Date(createdAt);
  const audit = await state.listAuditAt(tx, teamId, { requestId, at }, LIMITS.audit);
  const came = timeOfRequest(requestId);
  if (came === null) return { requests: [], audit };
  const wanted = { id: requestId, slot: slotOf(came) };
  return { requests: await find.findRequests(tx, [teamId], wanted), audit };
}

interface Context {
  readonly found: Found;
  readonly chain: Chain;
  readonly now: Date;
  readonly distributed: boolean;
  readonly workers: readonly number[];
}

/** What is told of a team's rows. */
async function readTeam(tx: Tx, teamId: string, context: Context) {
  const { found, chain, now, distributed, workers } = context;
  const own = <Row extends { readonly team_id: string }>(rows: readonly Row[]): Row[] =>
    rows.filter((row) => row.team_id === teamId);
  const events = own(chain.events);
  const deliveries = own(chain.deliveries);
  const [team, endpoints, inHand] = await Promise.all([
    state.findTeam(tx, teamId),
    state.listEndpoints(tx, teamId, LIMITS.endpoints),
    state.countInHand(tx, teamId, workers),
  ]);
  const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);
  const lockers = distributed
    ? []
    : await Promise.all([
        state.findLockers(tx, 'event', teamId, idsOf(events)),
        state.findLockers(tx, 'delivery', teamId, idsOf(deliveries)),
        state.findLockers(tx, 'endpoint', teamId, idsOf(endpoints)),
      ]);
  const locksOf = (id: string) =>
    lockers.flat().flatMap((lock) => (lock.id === id ? [reasons.lockReason(lock)] : []));
  const shown = new Set([
    ...idsOf(own(found.teams).length > 0 ? endpoints : own(found.endpoints)),
    ...deliveries.map((delivery) => delivery.endpoint_id),
  ]);
  const toldEvents = events.map((event) => {
    const its = deliveries.filter((delivery) => delivery.event_id === event.id);
    // Of an event above a delivery, the other deliveries were not read.
    if (found.deliveries.length > 0) return { ...event, why: locksOf(event.id) };
    const missing = reasons.findMissing(event, its, endpoints);
    for (const { id } of missing) shown.add(id);
    return { ...event, why: [...locksOf(event.id), ...reasons.eventReasons(event, its, missing)] };
  });
  return {
    events: toldEvents,
    deliveries: deliveries.map((delivery) => {
      const endpoint = endpoints.find(({ id }) => id === delivery.endpoint_id);
      const why = reasons.deliveryReasons(delivery, endpoint, workers);
      // Kept as attempts.
      const { failed_attempts: _failed, last_attempt_at: _at, ...row } = delivery;
      const { response_code: _code, response_ms: _ms, error: _error, ...facts } = row;
      const attempts = attemptsOf(delivery);
      return { ...facts, attempts, why: [...locksOf(delivery.id), ...why] };
    }),
    endpoints: await Promise.all(
      endpoints
        .filter(({ id }) => shown.has(id))
        .map(async ({ url, ...endpoint }) => ({
          ...endpoint,
          host: URL.parse(url)?.host ?? '',
          in_hand: inHand
            .filter((held) => held.endpoint_id === endpoint.id)
            .map(({ worker, count }) => ({ worker, count })),
          changes: await callers.listChanges(tx, teamId, endpoint.id),
          why: locksOf(endpoint.id),
        })),
    ),
    keys: (await Promise.all(own(found.keys).map(({ id }) => readKey(tx, teamId, id, now)))).flat(),
    connections: (
      await Promise.all([
        ...own(found.connections).map(({ id }) => readConnections(tx, teamId, id)),
        ...own(found.teams).map(() => readConnections(tx, teamId, null)),
      ])
    ).flat(),
    team: team ? [{ ...team, is_sandbox: isSandbox(teamId), why: reasons.teamReasons(team) }] : [],
  };
}

async function readKey(tx: Tx, teamId: string, id: string, now: Date) {
  const [key, calls, changes] = await Promise.all([
    callers.findKey(tx, teamId, id),
    callers.sumUsage(tx, teamId, id, firstUsageDay(now)),
    callers.listChanges(tx, teamId, id),
  ]);
  return key ? [{ ...key, calls, changes, why: reasons.keyReasons(key) }] : [];
}

/** The connection with this id; with null, those of the team. */
async function readConnections(tx: Tx, teamId: string, id: string | null) {
  const rows: callers.ConnectionRow[] = await callers.listConnections(tx, teamId, id);
  return Promise.all(
    rows.map(async (row) => {
      const ref = { teamId, connectionId: row.id };
      const keys = [SYNC_CONNECTION, REMOVE_CONNECTION].map((task) => keyOfJob(task, ref));
      const [jobs, changes] = await Promise.all([
        callers.listJobs(tx, keys),
        callers.listChanges(tx, teamId, row.id),
      ]);
      return { ...row, jobs, changes };
    }),
  );
}
