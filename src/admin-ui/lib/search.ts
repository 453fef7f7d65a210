/** The filters in the address of a page. What an address holds is read with care. */
import type { RouterInputs } from './api.ts';
import { everyOf } from './every-of.ts';

const HOUR_MS = 3_600_000;
const PAST_MS = { '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 7 * 24 * HOUR_MS } as const;

/** Which times a list can be limited to. `custom`: from `since` until `until`. */
export const PASTS = [...(Object.keys(PAST_MS) as (keyof typeof PAST_MS)[]), 'custom'] as const;

/** The times that a list is limited to. */
export interface TimeSearch {
  past?: (typeof PASTS)[number] | undefined;
  /** ISO; only with `custom`. */
  since?: string | undefined;
  until?: string | undefined;
}

function readTimes(search: Record<string, unknown>): TimeSearch {
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

export interface DeliverySearch extends TimeSearch {
  status?: DeliveryStatus | undefined;
  endpoint?: string | undefined;
  type?: string | undefined;
}

/** The filters of the list of deliveries. */
export function readDeliverySearch(search: Record<string, unknown>): DeliverySearch {
  const found: DeliverySearch = {
    status: DELIVERY_STATUSES.find((one) => one === search['status']),
    endpoint: textOf(search['endpoint']),
    type: textOf(search['type']),
    ...readTimes(search),
  };
  return withoutEmpty(found);
}

/** The beginning of a past time, as the API takes it. */
export function sinceOf(past: keyof typeof PAST_MS): string {
  return new Date(Date.now() - PAST_MS[past]).toISOString();
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

export interface AuditSearch extends TimeSearch {
  action?: string | undefined;
  kind?: ActorKind | undefined;
  /** The id of a key, a member or a service. */
  actor?: string | undefined;
  target?: string | undefined;
}

/** The filters of the audit log. */
export function readAuditSearch(search: Record<string, unknown>): AuditSearch {
  return withoutEmpty({
    action: textOf(search['action']),
    kind: ACTOR_KINDS.find((one) => one === search['kind']),
    actor: textOf(search['actor']),
    target: textOf(search['target']),
    ...readTimes(search),
  });
}

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

export interface MemberSearch {
  text?: string | undefined;
  role?: MemberRole | undefined;
  status?: MemberStatus | undefined;
  sort?: MemberSort | undefined;
  /** The cursor of the page; left out: the first one. */
  page?: string | undefined;
}

/** The filters of the members, and the page that is shown. */
export function readMemberSearch(search: Record<string, unknown>): MemberSearch {
  return withoutEmpty({
    text: textOf(search['text']),
    role: MEMBER_ROLES.find((one) => one === search['role']),
    status: MEMBER_STATUSES.find((one) => one === search['status']),
    sort: MEMBER_SORTS.find((one) => one === search['sort']),
    page: textOf(search['page']),
  });
}

/** How many days the usage can be shown for. */
export const USAGE_DAYS = [7, 30, 90] as const;

export interface UsageSearch {
  days?: (typeof USAGE_DAYS)[number] | undefined;
  key?: string | undefined;
}

/** The filters of the usage. */
export function readUsageSearch(search: Record<string, unknown>): UsageSearch {
  return withoutEmpty({
    days: USAGE_DAYS.find((one) => one === search['days']),
    key: textOf(search['key']),
  });
}

/** Groups of statuses. One status can be searched for, too. */
export const REQUEST_STATUSES = ['errors', '2xx', '4xx', '5xx'] as const;

export interface RequestSearch extends TimeSearch {
  /** One of `REQUEST_STATUSES`, or a status such as `404`. */
  status?: string | undefined;
  key?: string | undefined;
  path?: string | undefined;
  code?: string | undefined;
  id?: string | undefined;
}

/** The filters of the request log. */
export function readRequestSearch(search: Record<string, unknown>): RequestSearch {
  return withoutEmpty({
    status: statusOf(search['status']),
    key: textOf(search['key']),
    path: textOf(search['path']),
    code: textOf(search['code']),
    id: textOf(search['id']),
    ...readTimes(search),
  });
}

/** One of `REQUEST_STATUSES`, or a status, which the router reads from the address as a number. */
function statusOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : (textOf(value) ?? '');
  const isKnown = REQUEST_STATUSES.some((one) => one === text) || /^[1-5]\d\d$/.test(text);
  return isKnown ? text : undefined;
}
