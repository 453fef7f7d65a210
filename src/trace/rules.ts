/**
 * Where a webhook is: what belongs to the id of a request, an event, a delivery, a webhook endpoint
 * or a team; and what a key or a CRM connection does. (No trace of OpenTelemetry: those leave the
 * service, and only some requests have one.)
 * What is decided here:
 *  * It prints facts: columns, under their names. It works out nothing that a worker decides.
 *  * No index is made for it. An operator asks now and then, and every request would pay. A request
 *    id tells its time. Its line of the request log has a key in each team, which is looked up for
 *    pages of teams; so is the range of the audit log around its time. An event has the time of its
 *    audit entry, and a range of the list's index.
 *  * Rejected: an index of the request log by id, and one of the audit log by request. Rejected,
 *    too: BRIN, which reads all that was not summarized yet.
 *  * The refused calls of a key are looked for among the team's newest 10,000, by the index of the
 *    list. Rejected: an index of the request log by key, which every call would pay.
 *  * Nothing is printed that may be about a person or secret: no data of events, no answer of a
 *    receiver, no details of audit entries, of a URL its host, of a key its name and its public
 *    part. Ids are.
 *  * It reads in a transaction that is read only, and sees what is committed. It takes no lock of a
 *    row and waits for none.
 */
import { parseApiKey } from '../core/api-key.ts';
import { timeOfRequest } from '../features/requests/rules.ts';
import { RETENTIONS } from '../features/retention/rules.ts';

const DAY_MS = 86_400_000;

/** What an id may be of. */
export const KINDS = [
  'request',
  'event',
  'delivery',
  'endpoint',
  'key',
  'connection',
  'team',
] as const;
export type Kind = (typeof KINDS)[number];

const PREFIXES: readonly (readonly [prefix: string, kind: Kind])[] = [
  ['evt_', 'event'],
  ['whd_', 'delivery'],
  ['whe_', 'endpoint'],
  ['key_', 'key'],
  ['crm_', 'connection'],
  ['team_', 'team'],
];

/**
 * What the id may be of, by its form. The host application and seed files may choose ids of other
 * forms: these are looked for everywhere. Only a request id always has its own.
 */
export function kindsOf(id: string): readonly Kind[] {
  if (timeOfRequest(id) !== null) return ['request', 'team'];
  const known = PREFIXES.find(([prefix]) => id.startsWith(prefix));
  if (known?.[1] === 'team' || id.endsWith(':sandbox')) return ['team'];
  return known ? [known[1]] : KINDS.filter((kind) => kind !== 'request');
}

/**
 * The id as it is stored. Who copies an id of a request may have changed its case. Of a whole key,
 * which nobody should give us, only the public part is taken, so that nothing prints the rest.
 */
export function normalize(id: string): string {
  const trimmed = id.trim();
  const key = parseApiKey(trimmed);
  if (key) return key.prefix;
  const lower = trimmed.toLowerCase();
  return timeOfRequest(lower) === null ? trimmed : lower;
}

/** A job gives all of its changes the time at which it has begun. */
const BEFORE_MS = 60_000;
/** The body of a request may take 30 s, and the calls of the app follow each other. */
const AFTER_MS = 60_000;

/** When a request may have made its changes. */
export function windowOf(requestId: string): { readonly from: Date; readonly to: Date } {
  const at = timeOfRequest(requestId)?.getTime() ?? 0;
  return { from: new Date(at - BEFORE_MS), to: new Date(at + AFTER_MS) };
}

/** How many days rows of a kind are kept. */
export function keptDays(name: 'events' | 'deliveries' | 'audit'): number {
  const kept = RETENTIONS.find((retention) => retention.name === name);
  if (!kept) throw new Error(`nothing is removed as ${name}`);
  return kept.keepMs / DAY_MS;
}

/** Returns the first of the days whose calls are counted, as `YYYY-MM-DD`. Days are in UTC. */
export function firstUsageDay(now: Date): string {
  const ms = now.getTime() - (LIMITS.usageDays - 1) * DAY_MS;
  return new Date(ms).toISOString().slice(0, 10);
}

/** How many rows are shown, and read, of each kind. */
export const LIMITS = {
  audit: 50,
  events: 100,
  deliveries: 100,
  endpoints: 100,
  failed: 10,
  changes: 10,
  connections: 20,
  /** How many calls of a team are looked through for those of a key. */
  calls: 10_000,
  usageDays: 7,
} as const;
