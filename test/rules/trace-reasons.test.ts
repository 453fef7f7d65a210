// Each reason that `npm run trace` gives, beside the neighbour that has another one. How each state
// comes to be, and that its rows are found, is tested in test/processes/trace.test.ts.
import { describe, expect, test } from 'vitest';
import { JOB_ACTORS, type ACTOR_KINDS } from '../../src/core/actor.ts';
import { SANDBOX_ACTOR } from '../../src/core/sandbox.ts';
import { connectionReasons, keyReasons } from '../../src/trace/caller-reasons.ts';
import type { ChangeRow } from '../../src/trace/change-store.ts';
import type { ConnectionRow, JobRow } from '../../src/trace/connection-store.ts';
import type { AuditRow, DeliveryRow, EventRow, RequestRow } from '../../src/trace/find-store.ts';
import type { KeyRow } from '../../src/trace/key-store.ts';
import {
  deliveryReasons,
  emptyRequestReason,
  eventReasons,
  sourceReason,
  teamReasons,
  type Scene,
} from '../../src/trace/reasons.ts';
import { SCHEDULED } from '../../src/features/crm/sync/jobs.ts';
import { SOON_MS } from '../../src/trace/rules.ts';
import { REASON_CODES, type Reason } from '../../src/trace/reason-codes.ts';
import type { EndpointRow, LockRow, TeamRow } from '../../src/trace/state-store.ts';

const now = new Date('2026-11-26T10:00:00Z');
const DAY_MS = 86_400_000;
const ago = (ms: number): string => new Date(now.getTime() - ms).toISOString();

const ENDPOINT: EndpointRow = {
  team_id: 'team_a',
  id: 'whe_a',
  url: 'https://a.test/hook',
  events: ['assignment.created'],
  status: 'active',
  created_at: ago(90 * DAY_MS),
  failing_since: null,
  last_success_at: null,
  requested: 0,
  pending: 1,
  retrying: 0,
  oldest_due_at: null,
};
const DELIVERY: DeliveryRow = {
  team_id: 'team_a',
  id: 'whd_a',
  endpoint_id: 'whe_a',
  event_id: 'evt_a',
  event_type: 'assignment.created',
  status: 'pending',
  attempt: 0,
  created_at: ago(60_000),
  next_try_at: ago(60_000),
  last_attempt_at: null,
  response_code: null,
  response_ms: null,
  error: null,
  failed_attempts: null,
  urgent: false,
  claimed_by: null,
};
const EVENT: EventRow = {
  team_id: 'team_a',
  id: 'evt_a',
  type: 'assignment.created',
  created_at: ago(60_000),
  request_id: null,
  fanned_out_at: ago(60_000),
  has_place: true,
};
const TEAM: TeamRow = {
  id: 'team_a',
  status: 'active',
  erasing_since: null,
  receivers_fail_until: null,
};
const ENTRY: AuditRow = {
  team_id: 'team_a',
  id: 'aud_a',
  created_at: ago(60_000),
  actor_kind: 'api_key',
  actor_id: 'key_a',
  action: 'assignment.created',
  target_id: null,
  request_id: 'a',
};
const REQUEST: RequestRow = {
  team_id: 'team_a',
  id: 'a',
  created_at: ago(60_000),
  key_id: 'key_a',
  method: 'POST',
  route: '/assignments',
  status: 201,
  duration_ms: 3,
  error_code: null,
  limited_by: null,
};
const LOCK: LockRow = { id: '', pid: 7, application_name: 'psql', xact_start: ago(5_000) };

const sceneOf = (more: Partial<Scene> = {}): Scene => ({
  now,
  workers: new Set([1]),
  team: TEAM,
  endpoints: [ENDPOINT],
  inHand: [],
  pauses: new Map(),
  locks: new Map(),
  olderEvents: new Map(),
  ...more,
});
const locked = (id: string): Partial<Scene> => ({ locks: new Map([[id, LOCK]]) });
const NO_WORKER: Partial<Scene> = { workers: new Set() };
const HELD = { inHand: [{ endpoint_id: 'whe_a', worker: 1, count: 3 }] };
const withEndpoint = (more: Partial<EndpointRow>): Partial<Scene> => ({
  endpoints: [{ ...ENDPOINT, ...more }],
});

/** All codes that the tests of this file have met. */
const seen = new Set<string>();
function codesOf(reasons: readonly Reason[]): string[] {
  const codes = reasons.map(({ code }) => code);
  for (const code of codes) seen.add(code);
  return codes;
}

const DUE = { status: 'retrying', attempt: 1 } as const;

describe('a delivery', () => {
  test.each<[Partial<DeliveryRow>, Partial<Scene>, ...string[]]>([
    [{ claimed_by: 1 }, {}, 'claimed'],
    [{ claimed_by: 1 }, locked('whe_a'), 'claimed', 'row_locked'],
    [{ claimed_by: 2 }, {}, 'claimed_by_dead_worker'],
    [{ claimed_by: 2 }, NO_WORKER, 'no_worker', 'claimed_by_dead_worker'],
    [{ status: 'ok', attempt: 1, last_attempt_at: ago(0) }, {}, 'delivered'],
    [{ status: 'ok', urgent: true, next_try_at: null }, {}, 'attempt_requested', 'not_claimed'],
    [{}, { endpoints: [] }, 'endpoint_deleted'],
    [{ status: 'gave_up', attempt: 8 }, {}, 'gave_up'],
    [{ status: 'gave_up', urgent: true }, HELD, 'attempt_requested', 'endpoint_at_limit'],
    [{ urgent: true, next_try_at: ago(-1) }, HELD, 'attempt_requested', 'endpoint_at_limit'],
    [{}, withEndpoint({ status: 'disabled' }), 'endpoint_disabled'],
    [{}, withEndpoint({ status: 'disabled_failures' }), 'endpoint_disabled_failures'],
    [{ ...DUE, next_try_at: ago(-1) }, {}, 'next_attempt'],
    [{ ...DUE, next_try_at: ago(-1) }, NO_WORKER, 'no_worker', 'next_attempt'],
    [{ ...DUE, next_try_at: ago(-1) }, locked('whd_a'), 'next_attempt', 'row_locked'],
    [{}, NO_WORKER, 'no_worker'],
    [{}, locked('whd_a'), 'row_locked'],
    [{}, HELD, 'endpoint_at_limit'],
    [{}, { inHand: [{ endpoint_id: 'whe_b', worker: 1, count: 3 }] }, 'not_claimed'],
    [{ next_try_at: ago(SOON_MS) }, HELD, 'due_now'],
    [{ next_try_at: ago(SOON_MS) }, {}, 'due_now'],
    [{ next_try_at: ago(SOON_MS + 1) }, {}, 'not_claimed'],
    [{}, withEndpoint({ retrying: 1 }), 'behind_others'],
  ])('%j at %j', (delivery, scene, ...codes) => {
    const reasons = deliveryReasons(sceneOf(scene), { ...DELIVERY, ...delivery });
    expect(codesOf(reasons)).toEqual(codes);
  });

  test('says what its endpoint was paused by, and how the last attempt ended', () => {
    const entry = { actor_kind: 'user' as const, actor_id: 'kim', created_at: ago(7_200_000) };
    const [paused] = deliveryReasons(
      sceneOf({
        ...withEndpoint({ status: 'disabled_failures', failing_since: ago(2 * DAY_MS) }),
        pauses: new Map([['whe_a', { ...entry, request_id: 'r' }]]),
      }),
      DELIVERY,
    );
    expect(paused?.text).toBe(
      'The endpoint is paused after failures, by user kim at 2026-11-26 08:00:00Z (2 h ago), ' +
        'request r. It has failed since 2026-11-24 10:00:00Z (2 days ago). ' +
        "The team's admins resume it.",
    );
    const next = { ...DELIVERY, ...DUE, next_try_at: ago(-90_000), error: 'timeout' };
    const [waiting] = deliveryReasons(sceneOf(), { ...next, response_ms: 10_000 });
    expect(waiting?.text).toBe(
      'Attempt 2 is due at 2026-11-26 10:01:30Z (in 90 s). The last: timeout in 10 s ' +
        '(no complete response within 10 seconds).',
    );
  });
});

describe('an event', () => {
  const young = { fanned_out_at: null, created_at: ago(SOON_MS) };
  test.each<[Partial<EventRow>, readonly DeliveryRow[], Partial<Scene>, ...string[]]>([
    [young, [], {}, 'fan_out_waits'],
    [young, [], NO_WORKER, 'no_worker', 'fan_out_waits'],
    [young, [], locked('evt_a'), 'row_locked', 'fan_out_waits'],
    [young, [], locked('whe_a'), 'row_locked', 'fan_out_waits'],
    [
      young,
      [],
      { ...locked('whe_a'), ...withEndpoint({ events: ['member.joined'] }) },
      'fan_out_waits',
    ],
    [
      young,
      [],
      { ...locked('whe_a'), ...withEndpoint({ status: 'disabled' }) },
      'row_locked',
      'fan_out_waits',
    ],
    [{ has_place: false }, [DELIVERY], {}, 'place_waits'],
    [{ has_place: false }, [DELIVERY], NO_WORKER, 'no_worker', 'place_waits'],
    [{}, [DELIVERY], {}],
    [{}, [], withEndpoint({ events: ['member.joined'] }), 'no_subscriber'],
    [{}, [], {}, 'endpoint_not_active_then'],
    [{}, [], withEndpoint({ created_at: ago(0) }), 'endpoint_not_active_then'],
    [{ type: 'ping' }, [DELIVERY], {}],
    [{ type: 'ping' }, [], {}, 'deliveries_gone'],
    [{ created_at: ago(31 * DAY_MS), fanned_out_at: ago(31 * DAY_MS) }, [], {}, 'deliveries_gone'],
    [
      { created_at: ago(29 * DAY_MS), fanned_out_at: ago(29 * DAY_MS) },
      [],
      {},
      'endpoint_not_active_then',
    ],
  ])('%j with %j at %j', (event, deliveries, scene, ...codes) => {
    const reasons = eventReasons(sceneOf(scene), { ...EVENT, ...event }, deliveries);
    expect(codesOf(reasons)).toEqual(codes);
  });

  test.each([
    [SOON_MS, 'wait, too.', 'within half a second.'],
    [SOON_MS + 1, 'wait, too (alert FanOutLate).', 'asc yet.'],
  ])('of %i ms names the alert when it is late', (ms, fanOut, place) => {
    const [one] = eventReasons(
      sceneOf({ olderEvents: new Map([['evt_a', 1001]]) }),
      { ...EVENT, fanned_out_at: null, created_at: ago(ms) },
      [],
    );
    expect(one?.text).toContain(`1000 or more older events of all teams ${fanOut}`);
    const [other] = eventReasons(
      sceneOf(),
      { ...EVENT, fanned_out_at: ago(ms), has_place: false },
      [DELIVERY],
    );
    expect(other?.text.endsWith(place)).toBe(true);
  });

  test('tells an endpoint that came later from one that was paused', () => {
    const textOf = (more: Partial<EndpointRow>) =>
      eventReasons(sceneOf(withEndpoint(more)), EVENT, [])[0]?.text;
    expect(textOf({ created_at: ago(59_999) })).toContain('was created after the event');
    expect(textOf({ created_at: ago(60_000) })).toContain('It is active now.');
    expect(textOf({ status: 'disabled' })).toContain('disabled (by whom is not known any more)');
  });
});

describe('a team', () => {
  const SANDBOX = { id: 'team_a:sandbox' };
  test.each<[Partial<TeamRow>, ...string[]]>([
    [{}],
    [{ status: 'suspended' }, 'team_suspended'],
    [{ status: 'ended' }, 'team_ended'],
    [{ status: 'ended', erasing_since: ago(1) }, 'team_erased'],
    [{ ...SANDBOX, receivers_fail_until: ago(-1) }, 'receivers_fail'],
    [{ ...SANDBOX, receivers_fail_until: ago(0) }],
  ])('%j', (team, ...codes) => {
    expect(codesOf(teamReasons({ ...TEAM, ...team }, now))).toEqual(codes);
  });
});

describe('a request', () => {
  test.each<[(typeof ACTOR_KINDS)[number], string, string]>([
    ['user', 'usr_a', 'by_the_app'],
    ['platform', 'billing', 'by_the_platform'],
    ['platform', SANDBOX_ACTOR.id, 'by_a_simulation'],
    ['user', SANDBOX_ACTOR.id, 'by_the_app'],
    ['platform', JOB_ACTORS.crmSync.id, 'by_a_job'],
    ['platform', JOB_ACTORS.invitationExpiry.id, 'by_a_job'],
    ['system', 'worker', 'by_the_service'],
    ['api_key', 'key_a', 'request_not_logged'],
  ])('without a line in the log, by %s %s', (kind, id, code) => {
    const reason = sourceReason([{ ...ENTRY, actor_kind: kind, actor_id: id }]);
    expect(codesOf(reason ? [reason] : [])).toEqual([code]);
  });

  test.each<[Partial<RequestRow>, string]>([
    [{ status: 400, error_code: 'bad_request' }, 'request_refused'],
    [{ status: 399 }, 'request_wrote_nothing'],
    [{ method: 'GET' }, 'request_read'],
    [{ method: 'HEAD' }, 'request_read'],
    [{ method: 'GET', status: 404 }, 'request_refused'],
  ])('without an audit entry: %j', (request, code) => {
    expect(codesOf([emptyRequestReason({ ...REQUEST, ...request })])).toEqual([code]);
  });

  test('without either has no source', () => {
    expect(sourceReason([])).toBeNull();
  });
});

const changed = (action: string): ChangeRow => ({
  created_at: ago(60_000),
  actor_kind: 'user',
  actor_id: 'mem_a',
  action,
  request_id: 'request_a',
  reason: null,
});

describe('a key', () => {
  const KEY: KeyRow = {
    team_id: 'team_a',
    id: 'key_a',
    name: 'Import',
    prefix: '4f0a',
    created_by: 'mem_a',
    created_at: ago(DAY_MS),
    expires_at: null,
    revoked_at: null,
    last_used_at: ago(1),
    networks: 0,
    state: 'active',
  };
  const usage = { ok: 5, refused: 3, limited: 2, failed: 1 };
  const reasonsOf = (key: Partial<KeyRow>, changes: readonly ChangeRow[] = [], refused = 0) =>
    keyReasons({ ...KEY, ...key }, { changes, usage, refused, now });

  test.each<[Partial<KeyRow>, ...string[]]>([
    [{}, 'key_calls'],
    [{ last_used_at: null }, 'key_unused', 'key_calls'],
    [{ networks: 2 }, 'key_bound', 'key_calls'],
    [{ state: 'revoked', revoked_at: ago(1) }, 'key_revoked', 'key_calls'],
    [{ state: 'revoked', revoked_at: ago(1), expires_at: ago(1) }, 'key_revoked', 'key_calls'],
    [{ state: 'expired', expires_at: ago(1) }, 'key_expired', 'key_calls'],
    [{ revoked_at: ago(-1), expires_at: ago(-1) }, 'key_ends', 'key_calls'],
  ])('%j', (key, ...codes) => {
    expect(codesOf(reasonsOf(key))).toEqual(codes);
  });

  test('says who has ended it, as far as that is known', () => {
    const textOf = (...actions: string[]) =>
      reasonsOf({ state: 'revoked', revoked_at: ago(1) }, actions.map(changed))[0]?.text;
    const by = ', by user mem_a at 2026-11-26 09:59:00Z (60 s ago), request request_a. ';
    expect(textOf('api_key.stored', 'api_key.revoked')).toContain(`revoked${by}`);
    expect(textOf('api_key.revoked', 'api_key.rotated')).toContain(`was revoked${by}`);
    expect(textOf('api_key.rotated')).toContain(`replaced by another key${by}`);
    expect(textOf('api_key.created')).toContain('revoked (by whom is not known any more)');
  });

  test('counts its calls', () => {
    const [none] = reasonsOf({});
    expect(none?.text).toMatch(/5 calls without an error, 3 refused, 2 over a limit, 1 failed/);
    expect(none?.text).toContain('none that was refused or failed is of this key');
    const [some] = reasonsOf({}, [], 2);
    expect(some?.text).toContain('the last that was refused or failed of this key are above');
  });
});

describe('a CRM connection', () => {
  const CONNECTION: ConnectionRow = {
    team_id: 'team_a',
    id: 'crm_a',
    provider: 'hubspot',
    status: 'active',
    created_at: ago(DAY_MS),
    last_synced_at: null,
    last_error: null,
    failure_streak: 0,
    next_sync_at: ago(-1),
    sync_requested_at: null,
    sync_lease_until: null,
    has_credentials: true,
    reads: null,
  };
  const JOB: JobRow = {
    key: 'k',
    task: 'sync_crm_connection',
    run_at: ago(1),
    locked_at: null,
  };
  const FAILED = { last_error: 'timeout', failure_streak: 3 };
  interface Around {
    readonly changes?: readonly ChangeRow[];
    readonly jobs?: readonly JobRow[];
    readonly workers?: readonly number[];
  }
  const reasonsOf = (connection: Partial<ConnectionRow>, around: Around = {}) =>
    connectionReasons(
      { ...CONNECTION, ...connection },
      { changes: [], jobs: [], workers: [1], now, ...around },
    );

  test.each<[Partial<ConnectionRow>, Around, ...string[]]>([
    [{}, {}, 'crm_next'],
    [{}, { workers: [] }, 'no_worker', 'crm_next'],
    [FAILED, {}, 'crm_failed', 'crm_next'],
    [{ ...FAILED, status: 'paused' }, {}, 'crm_paused', 'crm_failed'],
    [{ ...FAILED, status: 'disconnected' }, {}, 'crm_disconnected'],
    [{ ...FAILED, has_credentials: false }, {}, 'crm_no_credentials', 'crm_failed'],
    [{ next_sync_at: null }, {}, 'crm_not_due'],
    [{ sync_lease_until: ago(-1) }, {}, 'crm_running'],
    [{ sync_lease_until: ago(0), next_sync_at: ago(0) }, {}, 'crm_due'],
    [{ next_sync_at: ago(0) }, { jobs: [JOB] }, 'crm_job'],
  ])('%j at %j', (connection, around, ...codes) => {
    expect(codesOf(reasonsOf(connection, around))).toEqual(codes);
  });

  test('that is due tells what it waits for', () => {
    const textOf = (lateMs: number, jobs: readonly JobRow[] = []) =>
      reasonsOf({ next_sync_at: ago(lateMs) }, { jobs })[0]?.text;
    expect(textOf(SCHEDULED.everyMs)).toContain('A job is made for it at the next minute.');
    expect(textOf(SCHEDULED.everyMs + 1)).toContain('No job was made for it');
    expect(textOf(0, [JOB])).toContain('Its job waits for a slot');
    expect(textOf(0, [{ ...JOB, locked_at: ago(1) }])).toContain('Its job began at');
  });

  test('tells who has stopped it, and where its round is', () => {
    const changes = [changed('crm_connection.paused'), changed('crm_connection.disconnected')];
    const [paused] = reasonsOf({ status: 'paused' }, { changes });
    expect(paused?.text).toMatch(/^The connection is paused, by user mem_a at /);
    const [gone] = reasonsOf({ status: 'disconnected' }, { changes, jobs: [JOB] });
    expect(gone?.text).toMatch(/is disconnected, by user mem_a .+ A job removes its deals\.$/);
    const running = { sync_lease_until: ago(-1), reads: 'deals', sync_requested_at: ago(1) };
    expect(reasonsOf(running)[0]?.text).toBe(
      'A run has the connection. Its round has come to the list deals. ' +
        'Another one is asked for and follows.',
    );
    expect(reasonsOf({ ...FAILED, last_error: 'unauthorized' })[0]?.text).toBe(
      'Its last 3 runs failed, the last with unauthorized. The customer must connect it anew.',
    );
  });
});

test('every reason was met, but for those that the service gives to the id itself', () => {
  const ofService = ['not_found', 'request_raised_no_event', 'cut'];
  expect([...seen, ...ofService].toSorted()).toEqual(REASON_CODES.toSorted());
});
