// What the demo team's keys have done: 30 days of usage and a week of calls. One key does what it
// should, one asks for what it may not, and one was taken: it is used from elsewhere at night.
import { v7 } from 'uuid';
import type { Limit } from '../core/limits.ts';
import { slotOf } from '../features/requests/rules.ts';
import { DEMO_TEAM_ID } from './demo-team.ts';
import { createRandom, nextInt, pick, type Random } from './random.ts';
import type { Team } from './demo-history.ts';
import type { SeedRow } from './seed-rows.ts';

const SEED = 2026;
/** Not one of the streams of generated rows, whose numbers are small. */
const STREAM = 111;
const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
const USAGE_DAYS = 30;
const LOGGED_DAYS = 6;
const LEAK_DAYS = 3;

interface Call {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly code?: string;
  readonly limit?: Limit;
  readonly errors?: readonly { readonly path: string; readonly code: string }[];
}

type Calls = readonly [Call, ...Call[]];

const LMS: Calls = [
  { method: 'GET', route: '/users', status: 200 },
  { method: 'GET', route: '/assignments', status: 200 },
  { method: 'GET', route: '/catalog', status: 200 },
  { method: 'POST', route: '/assignments', status: 201 },
  { method: 'PATCH', route: '/assignments/{assignment_id}', status: 200 },
  {
    method: 'POST',
    route: '/assignments',
    status: 422,
    code: 'validation_error',
    errors: [{ path: 'body.due_date', code: 'invalid_format' }],
  },
];
const REPORT: Calls = [
  { method: 'GET', route: '/analytics/team', status: 200 },
  { method: 'GET', route: '/trainings', status: 200 },
  { method: 'GET', route: '/trainings/{training_id}/evaluation', status: 200 },
  { method: 'GET', route: '/trainings/{training_id}/evaluation', status: 404, code: 'not_found' },
  { method: 'GET', route: '/users', status: 403, code: 'insufficient_scope' },
];
const THIEF: Calls = [
  { method: 'GET', route: '/users', status: 200 },
  { method: 'GET', route: '/trainings', status: 200 },
  { method: 'GET', route: '/cases', status: 200 },
  { method: 'POST', route: '/users', status: 403, code: 'insufficient_scope' },
  { method: 'GET', route: '/users', status: 429, code: 'rate_limited', limit: 'key_rate' },
];

/** The keys besides `demo`, with what they do on a day. */
const KEYS = [
  { name: 'Learning platform', calls: LMS, perDay: 140, network: '198.51.100.0/24' },
  { name: 'Power BI report', calls: REPORT, perDay: 45, network: '198.51.100.0/24' },
  { name: 'Old export script', calls: THIEF, perDay: 60, network: '203.0.113.0/24' },
] as const;

export const DEMO_KEYS: NonNullable<Team['api_keys']> = [
  { name: 'demo', scopes: 'all' },
  {
    name: 'Learning platform',
    scopes: ['users:read', 'assignments:read', 'assignments:write', 'catalog:read'],
  },
  { name: 'Power BI report', scopes: ['trainings:read', 'evaluations:read', 'analytics:read'] },
  { name: 'Old export script', scopes: ['users:read', 'trainings:read', 'cases:read'] },
];

/** What the keys have done until now, as rows. `keyIds` by their names. */
export function demoCalls(
  now: Date,
  keyIds: ReadonlyMap<string, string>,
): {
  readonly usage: SeedRow<'ApiKeyUsage'>[];
  readonly requests: SeedRow<'RequestLog'>[];
  readonly lastUsed: Map<string, Date>;
} {
  const today = Math.floor(now.getTime() / DAY_MS);
  const days = KEYS.flatMap((key, place) =>
    // The taken key was quiet until then.
    Array.from({ length: key.calls === THIEF ? LEAK_DAYS : USAGE_DAYS }, (_, daysAgo) => {
      const random = createRandom(SEED, STREAM + place, daysAgo);
      const calls = callsOfDay(key, random, (today - daysAgo) * DAY_MS, now);
      return { keyId: keyIds.get(key.name) ?? '', network: key.network, daysAgo, calls };
    }),
  ).filter(({ calls }) => calls.length > 0);
  const recent = days.filter(({ daysAgo }) => daysAgo <= LOGGED_DAYS);
  // The oldest day first: the map keeps what comes last.
  const last = days.toReversed().map(({ keyId, calls }) => [keyId, latestOf(calls)] as const);
  return {
    usage: days.map(toUsage),
    requests: recent.flatMap(({ keyId, network, calls }) =>
      calls.map((call) => toRequest(call, keyId, network)),
    ),
    lastUsed: new Map(last),
  };
}

function latestOf(calls: readonly TimedCall[]): Date {
  return new Date(Math.max(...calls.map(({ at }) => at.getTime())));
}

interface TimedCall extends Call {
  readonly at: Date;
  readonly durationMs: number;
  readonly random: Uint8Array;
}

/** Fewer calls on Sundays and Saturdays, none that are still to come. */
function callsOfDay(
  { calls, perDay }: { readonly calls: Calls; readonly perDay: number },
  random: Random,
  midnight: number,
  now: Date,
): TimedCall[] {
  const weekday = new Date(midnight).getUTCDay();
  const isQuiet = calls !== THIEF && (weekday === 0 || weekday === 6);
  const count = Math.round((isQuiet ? 0.15 : 0.8 + 0.4 * random()) * perDay);
  const [from, to] = calls === THIEF ? [60, 200] : [420, 1_080];
  return Array.from({ length: count }, () => {
    const at = new Date(midnight + nextInt(random, from * MINUTE_MS, to * MINUTE_MS));
    // The first of its calls is what a key does most.
    const usual = pick(random, calls);
    const call = random() < 0.7 ? calls[0] : usual;
    return {
      ...call,
      at,
      durationMs: nextInt(random, 3, 40),
      random: Uint8Array.from({ length: 16 }, () => nextInt(random, 0, 255)),
    };
  }).filter(({ at }) => at < now);
}

function toUsage({
  keyId,
  calls,
}: {
  readonly keyId: string;
  readonly calls: readonly TimedCall[];
}): SeedRow<'ApiKeyUsage'> {
  const count = (from: number, to: number) =>
    calls.filter(({ status }) => status >= from && status < to).length;
  return {
    team_id: DEMO_TEAM_ID,
    day: latestOf(calls).toISOString().slice(0, 10),
    key_id: keyId,
    count_2xx: count(200, 300),
    count_4xx: count(400, 500) - count(429, 430),
    count_429: count(429, 430),
    count_5xx: 0,
    peak_percent: count(429, 430) > 0 ? 100 : Math.min(60, Math.round(calls.length / 4)),
  };
}

function toRequest(call: TimedCall, keyId: string, network: string): SeedRow<'RequestLog'> {
  const {
    at,
    method,
    route,
    status,
    durationMs,
    code = null,
    errors = null,
    limit = null,
    random,
  } = call;
  return {
    team_id: DEMO_TEAM_ID,
    slot: slotOf(at),
    id: v7({ msecs: at.getTime(), random }),
    created_at: at.toISOString(),
    key_id: keyId,
    method,
    route,
    status,
    duration_ms: durationMs,
    network,
    error_code: code,
    errors,
    limited_by: limit,
  };
}
