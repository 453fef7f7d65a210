/**
 * Decisions about API keys that the specification leaves open:
 *  * A key's name is unique among all keys of the team, including ended ones, so that the list and
 *    the audit log never show two keys with one name. A taken name is a validation error of the
 *    field `name`.
 *  * A key is live while requests may use it: it is neither expired nor revoked. A rotated key is
 *    live until its grace period ends. A team may have at most 50 live keys, a sandbox fewer
 *    (`core/team-limits.ts`). One more is a validation error of `name` (creation) or `grace_s`
 *    (rotation: without a grace period the old key makes room for the new one).
 *  * A rotation creates a new key with the scopes, addresses and expiry of the old one, or with a
 *    new expiry. It cannot extend the scopes or addresses. The new name is the old one with the
 *    first free number after its own, `Import` → `Import (2)`. The creator is the actor of the
 *    rotation. The old key ends after the grace period, at its expiry, or when it is revoked,
 *    whichever is first; that time is its `revoked_at`. The page sends an expiry with each rotation
 *    of a key that has one: with the old one, a key that soon ends would have a successor that
 *    does, too. Only a live key can be rotated, and only once. Anything else is a
 *    validation error of `key_id`.
 *  * A revocation can be repeated. Only the first one is a change.
 *  * Whether the member may still make or end a key is read again after the wait for the locks, and
 *    so is the team's plan. Who has lost the role or the right meanwhile gets `forbidden`, and who
 *    has left the team `unauthorized`.
 *  * A creation or rotation can be repeated for a day with the same `Idempotency-Key`. It acts
 *    once, and the member who made it is shown the same key again: a lost response would lose the
 *    secret. Others are shown the key without its secret. A refusal is not kept.
 *  * Somebody with the right for keys can confirm that a key is stored. It says nothing else of the
 *    key; the page names keys that nobody has confirmed and nothing has used. Only the first
 *    confirmation is a change.
 *  * Besides the two templates of the specification, the app offers one for each of three usual
 *    purposes: HR, BI and an LMS. They come first, since each allows less.
 *  * In a sandbox a template with every scope comes first: nothing there can be harmed.
 *  * A key that is both revoked and expired has the state `revoked`. Both depend on the database's
 *    clock, as in authentication.
 *  * With a plan without the API, creation and rotation throw `api_disabled`. Listing and revoking
 *    work with any plan.
 *  * A first key can be made before anybody of the team can sign in: by a service of the host
 *    application, or by the service's operator (`platform.apiKeys.createFirst`). The specification
 *    gives keys to members alone, so the key is the owner's, as if the owner had made it. Services
 *    can make tokens for the owner anyway; here the audit log tells that it was a service. It is
 *    for a team without a live key: with one, it is a `conflict`, because then the team has
 *    somebody who decides about its keys. So a repeated call makes no second key.
 *  * A service of the host application, and so the service's operator, can revoke a key
 *    (`platform.apiKeys.revoke`): who is told at night that a key has leaked must not wait until an
 *    admin of the team wakes up. It works for a team in any status and does what an admin does, so
 *    it can be repeated, too. They cannot list or rotate keys, or make one beside a live one: what
 *    the team's programs may do is for the team. Rejected: to suspend the team instead, which stops
 *    its other keys, too.
 *  * The creator's email depends on `member_detail_enabled` as in the API, although only admins see
 *    the page: the switch decides who sees people's details, through any API.
 *  * The last use of a key is the minute of its rate counter. A crash or a failover of Postgres
 *    empties the counters. So the minute is also stored with the key, with the counts of its usage:
 *    at most ten seconds later, and never if the process is killed before.
 */
import type { CurrentActor } from '../../core/actor.ts';
import type { Localized } from '../../core/language.ts';
import { hasApi } from '../../core/plans.ts';
import { invalidField, ProblemError } from '../../core/problem.ts';
import { modeOf, type Mode } from '../../core/sandbox.ts';
import { SCOPES, scopesOf, TEST_SCOPES, type Scope } from '../../core/scopes.ts';
import { limitOf } from '../../core/team-limits.ts';

export type KeyState = 'active' | 'expired' | 'revoked';

/** A named set of scopes for a new key. */
export interface Template {
  readonly id: string;
  readonly name: Localized;
  /** What a program with such a key can do, in words. */
  readonly purpose: Localized;
  readonly scopes: readonly Scope[];
}

const READ_SCOPES = SCOPES.filter((scope) => scope.endsWith(':read'));

const TEMPLATES = [
  {
    id: 'members_only',
    name: { de: 'Personal: nur Mitglieder', en: 'HR: members only' },
    purpose: {
      de: 'Sieht, wer im Team ist, lädt ein und entfernt. Sieht keine Trainings oder Ergebnisse.',
      en: 'Sees who is in the team, invites and removes. Sees no trainings and no results.',
    },
    scopes: inOrder(['users:read', 'users:write']),
  },
  {
    id: 'results',
    name: { de: 'BI: Ergebnisse lesen', en: 'BI: read results' },
    purpose: {
      de: 'Sieht Trainings, Bewertungen und Teamergebnisse. Ändert nichts.',
      en: 'Sees trainings, evaluations and the results of the team. Changes nothing.',
    },
    scopes: inOrder(['trainings:read', 'evaluations:read', 'analytics:read']),
  },
  {
    id: 'assignments',
    name: { de: 'Lernplattform: Zuweisungen', en: 'LMS: assignments' },
    purpose: {
      de: 'Legt Zuweisungen aus dem Katalog an und sieht, ob sie erledigt sind. Keine Ergebnisse.',
      en: 'Gives assignments from the catalog, and sees whether they are done. No results.',
    },
    scopes: inOrder(['users:read', 'assignments:read', 'assignments:write', 'catalog:read']),
  },
  {
    id: 'read_only',
    name: { de: 'Nur lesen', en: 'Read only' },
    purpose: {
      de: 'Sieht alles, was ein Schlüssel sehen kann. Ändert nichts.',
      en: 'Sees all that a key can see. Changes nothing.',
    },
    scopes: READ_SCOPES,
  },
  {
    id: 'read_and_assignments',
    name: { de: 'Lesen und Zuweisungen', en: 'Read plus assignments' },
    purpose: {
      de: 'Sieht alles, was ein Schlüssel sehen kann, und ändert Zuweisungen.',
      en: 'Sees all that a key can see, and changes assignments.',
    },
    scopes: inOrder([...READ_SCOPES, 'assignments:write']),
  },
] as const satisfies readonly Template[];

/** The templates of live keys. */
export const TEMPLATE_IDS = TEMPLATES.map(({ id }) => id);
type TemplateId = (typeof TEMPLATE_IDS)[number];

const EVERYTHING: Template = {
  id: 'everything',
  name: { de: 'Alles ausprobieren', en: 'Try everything' },
  purpose: {
    de: 'Sieht und ändert alles in der Sandbox und simuliert dort Ereignisse.',
    en: 'Sees and changes everything in the sandbox, and plays events there.',
  },
  scopes: TEST_SCOPES,
};

/** The sets of scopes that the app offers for a new key, those that allow least first. */
export function templatesOf(mode: Mode): readonly Template[] {
  return mode === 'test' ? [EVERYTHING, ...TEMPLATES] : TEMPLATES;
}

/** Removes duplicates, and sorts the scopes in the order of `TEST_SCOPES`. */
export function inOrder(scopes: readonly Scope[]): Scope[] {
  return TEST_SCOPES.filter((scope) => scopes.includes(scope));
}

/** Throws `validation_error` (field `scopes`) for a scope that keys of this mode cannot have. */
export function requireScopesOf(mode: Mode, scopes: readonly Scope[]): void {
  const foreign = scopes.filter((scope) => !scopesOf(mode).includes(scope));
  if (foreign.length > 0)
    throw invalidField('scopes', `Only test keys can have ${foreign.join(', ')}.`);
}

/**
 * Throws `api_disabled` for a plan without the API: authentication would refuse its keys. Read it
 * under the team's lock.
 */
export function requirePlanWithApi(plan: string): void {
  if (!hasApi(plan)) throw new ProblemError('api_disabled');
}

/**
 * Throws `api_disabled`, `validation_error` (field `scopes` or `expires_at`). Read the plan under
 * the team's lock. `at`: now by the database's clock, which ends keys.
 */
export function requireNewKey(
  wanted: { readonly scopes: readonly Scope[]; readonly expiresAt: string | null },
  team: { readonly teamId: string; readonly plan: string; readonly at: Date },
): void {
  requirePlanWithApi(team.plan);
  requireScopesOf(modeOf(team.teamId), wanted.scopes);
  requireFuture(wanted.expiresAt, team.at);
}

/**
 * The owner, to whom a first key belongs. Throws `api_disabled` for a team that is suspended or
 * ended, `conflict` for one with a live key or without an owner. Read the facts under the team's
 * lock.
 */
export function requireFirst({
  status,
  liveKeys,
  ownerId,
}: {
  readonly status: string;
  readonly liveKeys: number;
  readonly ownerId: string | null;
}): string {
  if (status !== 'active') throw new ProblemError('api_disabled');
  if (liveKeys > 0)
    throw new ProblemError('conflict', {
      detail: 'The team has a live key. Its owner makes others in the app.',
    });
  if (ownerId !== null) return ownerId;
  throw new ProblemError('conflict', {
    detail: 'The team has no owner, whose key it would be. Transfer the ownership first.',
  });
}

/** The scopes of a template of live keys. */
export function scopesOfTemplate(id: TemplateId): readonly Scope[] {
  return TEMPLATES.find((template) => template.id === id)?.scopes ?? [];
}

/**
 * The member who creates a key: some rights of a key depend on its creator. Throws `forbidden` for
 * other actors.
 */
export function requireCreator(actor: CurrentActor): string {
  if (actor.kind !== 'user') throw new ProblemError('forbidden');
  return actor.id;
}

/**
 * Throws `validation_error` (field `expires_at`) unless the time is in the future. `now`: by the
 * database's clock, which ends keys.
 */
export function requireFuture(expiresAt: string | null, now: Date): void {
  if (expiresAt !== null && Date.parse(expiresAt) <= now.getTime())
    throw invalidField('expires_at', 'The expiry must lie in the future.', 'not_in_future');
}

/** Throws `validation_error` (field `name`). Read the facts under the team's lock. */
export function requireCreatable(
  teamId: string,
  facts: { readonly liveKeys: number; readonly nameTaken: boolean },
): void {
  if (facts.nameTaken)
    throw invalidField('name', 'The team has, or had, a key of this name.', 'name_taken');
  const max = limitOf(teamId, 'liveKeys');
  if (facts.liveKeys >= max)
    throw invalidField('name', `A team may have ${max} live keys.`, 'too_many_keys');
}

/** Throws `validation_error` (field `key_id`) for a key that has ended or was rotated before. */
export function requireRotatable(key: {
  readonly state: KeyState;
  readonly revoked_at: string | null;
}): void {
  if (key.state === 'active' && key.revoked_at === null) return;
  throw invalidField(
    'key_id',
    'Only a key that is live and was not rotated yet can be rotated.',
    'not_rotatable',
  );
}

/**
 * Throws `validation_error` (field `grace_s`). Count under the team's lock. The count includes the
 * old key.
 */
export function requireRoomForSuccessor(
  teamId: string,
  { liveKeys, graceS }: { readonly liveKeys: number; readonly graceS: number },
): void {
  const staying = graceS === 0 ? liveKeys - 1 : liveKeys;
  const max = limitOf(teamId, 'liveKeys');
  if (staying < max) return;
  throw invalidField(
    'grace_s',
    `A team may have ${max} live keys: rotate without a grace, or revoke one first.`,
    'too_many_keys',
  );
}

const NUMBERED = / \((\d{1,6})\)$/;
/** Leaves room for the number within the maximum length of a name. */
const BASE_MAX = 80;

/** The beginning of the names of all successors of a key. */
export function baseOf(name: string): string {
  return Array.from(name.replace(NUMBERED, '')).slice(0, BASE_MAX).join('').trimEnd();
}

/** How many names are looked up at once, to find a free one. */
export const NAMES_AT_ONCE = 100;

/** Names with the numbers after that of `name`, of which the first free one is its successor's. */
export function successorNames(name: string, skipped: number): string[] {
  const base = baseOf(name);
  const next = Math.max(1, Number(NUMBERED.exec(name)?.[1] ?? 1)) + 1 + skipped;
  return Array.from({ length: NAMES_AT_ONCE }, (_, place) => `${base} (${next + place})`);
}
