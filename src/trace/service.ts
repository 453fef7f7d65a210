/** Reads what belongs to an id, and why it waits. */
import { isSandbox } from '../core/sandbox.ts';
import type { Db, Tx } from '../db/client.ts';
import { isDistributed } from '../db/parts.ts';
import { listTeamIds } from '../db/team-pages.ts';
import { listWorkers } from '../delivery/due-store.ts';
import { KEPT_DAYS_MAX, slotOf, timeOfRequest } from '../features/requests/rules.ts';
import { readConnections, readKey } from './callers.ts';
import * as find from './find-store.ts';
import { listRefused } from './key-store.ts';
import * as reasons from './reasons.ts';
import { keptDays, kindsOf, LIMITS, normalize, OTHER_IDS, windowOf } from './rules.ts';
import { readScene } from './scene.ts';
import type { Reason } from './reason-codes.ts';
import type { TraceResult } from './view.ts';
import * as state from './state-store.ts';
import * as view from './view.ts';

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

/** What was found, before its state is read. */
interface Found {
  readonly requests: find.RequestRow[];
  readonly audit: find.AuditRow[];
  readonly events: find.EventRow[];
  readonly deliveries: find.DeliveryRow[];
  /** Endpoints of which all is to be shown. */
  readonly endpoints: find.IdRow[];
  readonly keys: find.IdRow[];
  readonly connections: find.IdRow[];
  /** Teams of which all is to be shown. */
  readonly teams: string[];
}

/** Finds everything that belongs to an id. Opens a transaction, which only reads. */
export function trace(db: Db, { id: given, teamId, now }: Wanted): Promise<TraceResult> {
  return db.transaction(async (tx) => {
    state.readOnly(tx, STATEMENT_TIMEOUT_MS);
    const id = normalize(given);
    const distributed = await isDistributed(db);
    const workers = distributed ? await state.listWorkersOfNodes(tx) : await listWorkers(tx);
    const found = await lookUp(tx, id, teamId);
    const whole = await complete(tx, found);
    return {
      id,
      asked_at: now.toISOString(),
      found: !isEmpty(found),
      workers,
      notes: notesOf(id, found, whole),
      ...(await describe(tx, { found, whole, now, distributed, workers })),
    };
  });
}

function isEmpty(found: Found): boolean {
  return Object.values(found).every((rows: readonly unknown[]) => rows.length === 0);
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
    teams: team ? [id] : [],
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

/** The chain from the request to its deliveries, whatever was found of it first. */
type Whole = Pick<Found, 'requests' | 'audit' | 'events' | 'deliveries'>;

async function complete(tx: Tx, found: Found): Promise<Whole> {
  const failed = await Promise.all([
    ...found.teams.map((team) => state.listFailed(tx, team, null, LIMITS.failed)),
    ...found.endpoints.map((endpoint) =>
      state.listFailed(tx, endpoint.team_id, endpoint.id, LIMITS.failed),
    ),
  ]);
  const above = await Promise.all(
    found.deliveries.map((row) => find.findEvents(tx, [row.team_id], row.event_id)),
  );
  const refused = await Promise.all(found.keys.map((key) => listRefused(tx, key.team_id, key.id)));
  const made = await eventsOfEntries(tx, found.audit);
  const events = [...made, ...found.events, ...above.flat()];
  const below = await Promise.all(
    [...made, ...found.events].map((event) =>
      state.listDeliveries(tx, event.team_id, event.id, LIMITS.deliveries + 1),
    ),
  );
  const origin = await Promise.all(
    [...found.events, ...above.flat()].map((event) => originOf(tx, event)),
  );
  return {
    requests: [...found.requests, ...origin.flatMap((one) => one.requests), ...refused.flat()],
    audit: [...found.audit, ...origin.flatMap((one) => one.audit)].slice(0, LIMITS.audit),
    events: events.slice(0, LIMITS.events),
    deliveries: [...below.flat(), ...found.deliveries, ...failed.flat()].slice(
      0,
      LIMITS.deliveries,
    ),
  };
}

/** The events of the changes, each of which has the time of its audit entry. */
async function eventsOfEntries(
  tx: Tx,
  entries: readonly find.AuditRow[],
): Promise<find.EventRow[]> {
  const changes = Map.groupBy(entries, (entry) => `${entry.team_id}\n${entry.created_at}`);
  const events = await Promise.all(
    [...changes.values()].flatMap(([entry]) =>
      entry
        ? [
            state.listEventsAt(
              tx,
              entry.team_id,
              { requestId: entry.request_id, at: entry.created_at },
              LIMITS.events + 1,
            ),
          ]
        : [],
    ),
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
  const audit = await state.listAuditAt(tx, teamId, { requestId, at }, LIMITS.audit + 1);
  const came = timeOfRequest(requestId);
  if (came === null) return { requests: [], audit };
  const wanted = { id: requestId, slot: slotOf(came) };
  return { requests: await find.findRequests(tx, [teamId], wanted), audit };
}

type Told = Omit<TraceResult, 'id' | 'asked_at' | 'found' | 'workers' | 'notes'>;

/** What is told of it all: rows as they are shown, and why they wait. */
async function describe(
  tx: Tx,
  context: {
    readonly found: Found;
    readonly whole: Whole;
    readonly now: Date;
    readonly distributed: boolean;
    readonly workers: readonly number[];
  },
): Promise<Told> {
  const { found, whole } = context;
  const teamIds = new Set([
    ...found.teams,
    ...[
      whole.requests,
      whole.audit,
      whole.events,
      whole.deliveries,
      found.endpoints,
      found.keys,
      found.connections,
    ].flatMap((rows) => rows.map((row) => row.team_id)),
  ]);
  const told: Told = {
    requests: whole.requests.map(view.dated),
    audit: whole.audit.map(view.dated),
    events: [],
    deliveries: [],
    endpoints: [],
    keys: await Promise.all(
      found.keys.map((key) => readKey(tx, key, { ...context, requests: whole.requests })),
    ).then((keys) => keys.flat()),
    connections: await Promise.all(
      [...found.connections, ...found.teams.map((team) => ({ team_id: team, id: null }))].map(
        (one) => readConnections(tx, one, context),
      ),
    ).then((connections) => connections.flat()),
    teams: [],
  };
  for (const teamId of teamIds) {
    const own = <Row extends { readonly team_id: string }>(rows: readonly Row[]): Row[] =>
      rows.filter((row) => row.team_id === teamId);
    const events = own(whole.events);
    const deliveries = own(whole.deliveries);
    const scene = await readScene(tx, teamId, { ...context, events, deliveries });
    const shown = new Set(own(found.endpoints).map(({ id }) => id));
    for (const { endpoint_id: id } of deliveries) shown.add(id);
    const isWhole = found.teams.includes(teamId);
    told.events.push(
      ...events.map((event) => {
        const its = deliveries.filter((delivery) => delivery.event_id === event.id);
        // Of an event above a delivery, the other deliveries were not read.
        const why = found.deliveries.length > 0 ? [] : reasons.eventReasons(scene, event, its);
        return { ...view.dated(event), why };
      }),
    );
    told.deliveries.push(
      ...deliveries.map((delivery) =>
        view.toDelivery(delivery, reasons.deliveryReasons(scene, delivery)),
      ),
    );
    told.endpoints.push(
      ...scene.endpoints
        .filter(({ id }) => isWhole || shown.has(id))
        .map((endpoint) => view.toEndpoint(scene, endpoint)),
    );
    if (scene.team)
      told.teams.push({
        id: teamId,
        status: scene.team.status,
        is_sandbox: isSandbox(teamId),
        why: reasons.teamReasons(scene.team, context.now),
      });
  }
  return told;
}

/** What is to be said about the id itself. */
function notesOf(id: string, found: Found, whole: Whole): Reason[] {
  if (isEmpty(found)) return [notFound(id)];
  const notes: Reason[] = [];
  const [request] = whole.requests;
  const isRequest = found.requests.length > 0 || found.audit.length > 0;
  if (request && whole.audit.length === 0 && isRequest)
    notes.push(reasons.emptyRequestReason(request));
  const source = request ? null : reasons.sourceReason(whole.audit);
  if (source) notes.push(source);
  if (isRequest && whole.audit.length > 0 && whole.events.length === 0)
    notes.push({
      code: 'request_raised_no_event',
      text: `The change (${actionsOf(whole.audit)}) raised no event.`,
    });
  const cut = (['audit', 'events', 'deliveries'] as const).filter(
    (name) => whole[name].length >= LIMITS[name],
  );
  if (cut.length > 0) notes.push({ code: 'cut', text: `There may be more: ${cut.join(', ')}.` });
  return notes;
}

function actionsOf(audit: readonly find.AuditRow[]): string {
  return [...new Set(audit.map(({ action }) => action))].join(', ');
}

function notFound(id: string): Reason {
  const other = OTHER_IDS[id.split('_')[0] ?? ''];
  const came = timeOfRequest(id);
  const looksLike = other
    ? `This is the id of another thing (${other}): nothing is looked up by it.`
    : came
      ? `It looks like the id of a request that came at ${came.toISOString()}.`
      : 'Ids are: of a request a UUID (version 7), of an event evt_…, of a delivery whd_…, of an ' +
        'endpoint whe_…, of a key key_… (or its public part), of a CRM connection crm_…, of a ' +
        'team its own, with :sandbox at its end for a sandbox.';
  const elsewhere =
    `Kept are: calls of keys ${KEPT_DAYS_MAX} days at most (not those of the app, nor calls ` +
    `without a valid key), audit entries ${keptDays('audit')} days (of a sandbox 30), events ` +
    `${keptDays('events')} and deliveries ${keptDays('deliveries')}. A call is written after two ` +
    `seconds. The log of the API has a line for each request: search it for request_id ${id}.`;
  return { code: 'not_found', text: `Nothing is found. ${looksLike} ${elsewhere}` };
}
