/**
 * Decisions about API keys that the specification leaves open:
 *  * A key's name is unique among all of the team's keys, the ended ones included, so that list and audit log never show two of a name. A taken name is a
 *    validation error of the field `name`.
 *  * Live is a key that a request may still use: neither expired nor revoked, the grace after a rotation included. A team has at most 50 of them; one more is a
 *    validation error of `name` (creation) or `grace_s` (rotation: without a grace the old key makes room for the new one).
 *  * A rotation makes a new key with the scopes, addresses and expiry of the old one, unless it brings a new expiry; it can widen nothing. Its name is the old
 *    one with the next free number, `Import` → `Import (2)`. Its creator is who rotates. The old key ends after the grace, or when it expires, or when it is
 *    revoked meanwhile. Only a live key can be rotated, and only once: anything else is a validation error of `key_id`.
 *  * A revocation can be repeated; only the first one is a change.
 *  * `revoked` is told before `expired`. Both go by the clock that authentication goes by: the database's.
 *  * A plan without the API has no new keys: `api_disabled`, for a rotation too. Listing and revoking are possible in any plan.
 *  * The creator's email follows `member_detail_enabled` as in the API, although the page belongs to the team's admins: the switch says who sees people's
 *    details, not at which door.
 *  * The last use is the minute that the key's rate counter is in. It is not written for this page, so it is gone with the counter (retention, a crash).
 */
import type { Actor } from '../../core/actor.ts';
import type { Localized } from '../../core/language.ts';
import { hasApi } from '../../core/plans.ts';
import { invalidField, ProblemError } from '../../core/problem.ts';
import { SCOPES, type Scope } from '../../core/scopes.ts';

export const LIVE_KEYS_MAX = 50;

export type KeyState = 'active' | 'expired' | 'revoked';

export interface Template {
  readonly id: string;
  readonly name: Localized;
  readonly scopes: readonly Scope[];
}

const READ_SCOPES = SCOPES.filter((scope) => scope.endsWith(':read'));

/** What the app offers beside a selection of one's own (specification, "Authentication"). */
export const TEMPLATES: readonly Template[] = [
  { id: 'read_only', name: { de: 'Nur lesen', en: 'Read only' }, scopes: READ_SCOPES },
  {
    id: 'read_and_assignments',
    name: { de: 'Lesen und Aufgaben', en: 'Read plus assignments' },
    scopes: inOrder([...READ_SCOPES, 'assignments:write']),
  },
];

/** Each scope once, in the order of the specification. */
export function inOrder(scopes: readonly Scope[]): Scope[] {
  return SCOPES.filter((scope) => scopes.includes(scope));
}

/** Throws `api_disabled` for a plan whose keys authentication would refuse (decisions 31). */
export function requirePlanWithApi(plan: string): void {
  if (!hasApi(plan)) throw new ProblemError('api_disabled');
}

/** The member who makes a key. Throws `forbidden` for anybody else: some rights of a key are those of its creator. */
export function requireCreator(actor: Actor): string {
  if (actor.kind !== 'user') throw new ProblemError('forbidden');
  return actor.id;
}

/** Throws `validation_error` (field `expires_at`) for a time that is not to come. */
export function requireFuture(expiresAt: string | null, now: Date): void {
  if (expiresAt !== null && Date.parse(expiresAt) <= now.getTime())
    throw invalidField('expires_at', 'The expiry must lie in the future.');
}

/** Throws `validation_error` (field `name`). The facts must have been read under the team's lock. */
export function requireCreatable(facts: { readonly liveKeys: number; readonly nameTaken: boolean }): void {
  if (facts.nameTaken) throw invalidField('name', 'The team has, or had, a key of this name.');
  if (facts.liveKeys >= LIVE_KEYS_MAX) throw invalidField('name', `A team may have ${LIVE_KEYS_MAX} live keys.`);
}

/** Throws `validation_error` (field `key_id`) for a key that has ended, or whose end is set already. */
export function requireRotatable(key: { readonly state: KeyState; readonly revoked_at: string | null }): void {
  if (key.state === 'active' && key.revoked_at === null) return;
  throw invalidField('key_id', 'Only a key that is live and was not rotated yet can be rotated.');
}

/** Throws `validation_error` (field `grace_s`). Counted under the team's lock, the old key included. */
export function requireRoomForSuccessor(liveKeys: number, graceS: number): void {
  const staying = graceS === 0 ? liveKeys - 1 : liveKeys;
  if (staying < LIVE_KEYS_MAX) return;
  throw invalidField(
    'grace_s',
    `A team may have ${LIVE_KEYS_MAX} live keys: rotate without a grace, or revoke one first.`,
  );
}

const NUMBERED = / \((\d{1,6})\)$/;
/** Leaves room for the number in what a name may be long. */
const BASE_MAX = 80;

/** What the names of a key's successors begin with. */
export function baseOf(name: string): string {
  return Array.from(name.replace(NUMBERED, '')).slice(0, BASE_MAX).join('').trimEnd();
}

/** The name that follows all of `taken`, the team's names that begin with the same base. */
export function successorName(name: string, taken: readonly string[]): string {
  const base = baseOf(name);
  const numbers = taken
    .filter((other) => baseOf(other) === base)
    .map((other) => Number(NUMBERED.exec(other)?.[1] ?? 1));
  let number = Math.max(1, ...numbers) + 1;
  while (taken.includes(`${base} (${number})`)) number += 1;
  return `${base} (${number})`;
}
