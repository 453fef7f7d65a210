/** The filters in the address of a page. What an address holds is read with care. */
import type { RouterInputs } from './api.ts';
import { now } from './clock.ts';
import { everyOf } from './every-of.ts';

const HOUR_MS = 3_600_000;
const PAST_MS = { '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 7 * 24 * HOUR_MS } as const;

type Search = Record<string, unknown>;

/** How each field of an address is read. */
type Fields = Readonly<Record<string, (value: unknown) => unknown>>;

/** Returns a function that reads these fields of an address. What is wrong is left out. */
function readerOf<F extends Fields>(fields: F) {
  return (search: Search) => {
    const found = Object.entries(fields).map(([name, read]) => [name, read(search[name])]);
    return withoutEmpty(Object.fromEntries(found) as { [N in keyof F]?: ReturnType<F[N]> });
  };
}

/** The same of a list that can be limited to times. */
function timedReaderOf<F extends Fields>(fields: F) {
  const read = readerOf(fields);
  return (search: Search) => ({ ...read(search), ...withoutEmpty(readTimes(search)) });
}

/** Reads one of these words. */
function oneOf<Word>(words: readonly Word[]): (value: unknown) => Word | undefined {
  return (value) => words.find((word) => word === value);
}

/** Which times a list can be limited to. `custom`: from `since` until `until`. */
export const PASTS = [...(Object.keys(PAST_MS) as (keyof typeof PAST_MS)[]), 'custom'] as const;

/** The times that a list is limited to. */
export interface TimeSearch {
  past?: (typeof PASTS)[number] | undefined;
  /** ISO; only with `custom`. */
  since?: string | undefined;
  until?: string | undefined;
}

function readTimes(search: Search): TimeSearch {
  const past = PASTS.find((one) => one === search['past']);
  if (past !== 'custom') return { past };
  return { past, since: instantOf(search['since']), until: instantOf(search['until']) };
}

/** An ISO moment, or undefined. */
function instantOf(value: unknown): string | undefined {
  const ms = Date.parse(textOf(value) ?? '');
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** Times as the API takes them. */
export interface Times {
  readonly since: string | undefined;
  readonly until: string | undefined;
}

/** The times that a filter means now. */
export function timesOf({ past, since, until }: TimeSearch): Times {
  if (past === 'custom') return { since, until };
  return { since: past && sinceOf(past), until: undefined };
}

type DeliveryStatus = NonNullable<RouterInputs['admin']['deliveries']['list']['status']>;

export const DELIVERY_STATUSES = everyOf<DeliveryStatus>({
  failed: true,
  ok: true,
  retrying: true,
  gave_up: true,
  pending: true,
});

/** The filters of the list of deliveries. */
export const readDeliverySearch = timedReaderOf({
  status: oneOf(DELIVERY_STATUSES),
  endpoint: textOf,
  type: textOf,
});

/** The beginning of a past time, as the API takes it. */
export function sinceOf(past: keyof typeof PAST_MS): string {
  return new Date(now() - PAST_MS[past]).toISOString();
}

/** A text, or undefined. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Leaves out what is undefined, so that it is not in the address. */
export function withoutEmpty<T extends object>(search: T): T {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as T;
}

type ActorKind = NonNullable<RouterInputs['admin']['auditLog']['list']['actor_kind']>;

/** Who can have done something. */
export const ACTOR_KINDS = everyOf<ActorKind>({
  user: true,
  api_key: true,
  platform: true,
  system: true,
});

/** The filters of the audit log. */
export const readAuditSearch = timedReaderOf({
  action: textOf,
  kind: oneOf(ACTOR_KINDS),
  /** The id of a key, a member or a service. */
  actor: textOf,
  target: textOf,
});

type Found = RouterInputs['admin']['members']['search'];
export type MemberRole = NonNullable<Found['role']>;
type MemberStatus = NonNullable<Found['status']>;
export type MemberSort = NonNullable<Found['sort']>;

/** The roles and the states by which members can be searched. */
export const MEMBER_ROLES = everyOf<MemberRole>({ owner: true, admin: true, member: true });
export const MEMBER_STATUSES = everyOf<MemberStatus>({ active: true, invited: true });
/** The order of an address that names none. */
export const MEMBER_SORT = 'newest';
/** The orders of the members. */
export const MEMBER_SORTS = everyOf<MemberSort>({
  [MEMBER_SORT]: true,
  address: true,
  role: true,
  joined: true,
  joined_first: true,
});

/** The filters of the members, and the page that is shown. */
export const readMemberSearch = readerOf({
  text: textOf,
  role: oneOf(MEMBER_ROLES),
  status: oneOf(MEMBER_STATUSES),
  sort: oneOf(MEMBER_SORTS),
  /** The cursor of the page; left out: the first one. */
  page: textOf,
});
export type MemberSearch = ReturnType<typeof readMemberSearch>;

/** How many days the usage can be shown for. */
export const USAGE_DAYS = [7, 30, 90] as const;

/** The filters of the usage. */
export const readUsageSearch = readerOf({ days: oneOf(USAGE_DAYS), key: textOf });

/** Groups of statuses. One status can be searched for, too. */
export const REQUEST_STATUSES = ['errors', '2xx', '4xx', '5xx'] as const;

/** The filters of the request log. */
export const readRequestSearch = timedReaderOf({
  status: statusOf,
  key: textOf,
  path: textOf,
  code: textOf,
  id: textOf,
});
export type RequestSearch = ReturnType<typeof readRequestSearch>;

/** One of `REQUEST_STATUSES`, or a status, which the router reads from the address as a number. */
function statusOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : (textOf(value) ?? '');
  const isKnown = REQUEST_STATUSES.some((one) => one === text) || /^[1-5]\d\d$/.test(text);
  return isKnown ? text : undefined;
}
