/**
 * A sandbox is a team of its own, beside the live team that it belongs to. Which team that is, is
 * said by its id alone: nothing that could be written wrongly into a row says it again.
 */

/** `test`: of a sandbox. */
export const MODES = ['live', 'test'] as const;
export type Mode = (typeof MODES)[number];

/** No team of the host application has an id with this end (`platform-shapes.ts`). */
export const SANDBOX_END = ':sandbox';

/** The sandbox of a live team has this id, so there is one at most. */
export function sandboxIdOf(liveId: string): string {
  return liveId + SANDBOX_END;
}

/** The live team of a sandbox. */
export function liveIdOf(sandboxId: string): string {
  return sandboxId.slice(0, -SANDBOX_END.length);
}

/**
 * The order in which a transaction locks several teams: a sandbox before its live team
 * (`features/sandbox/rules.ts`), whose id its own begins with.
 */
export function inLockOrder(teamIds: readonly string[]): string[] {
  return teamIds.toSorted().toReversed();
}

export function isSandbox(teamId: string): boolean {
  return teamId.endsWith(SANDBOX_END);
}

export function modeOf(teamId: string): Mode {
  return isSandbox(teamId) ? 'test' : 'live';
}

/**
 * The first member of every sandbox. The live team's admins act as this member there, with the role
 * and the rights that they have in the live team at that moment.
 */
export const SANDBOX_OWNER = {
  memberId: 'mem_sandbox_owner',
  userId: 'usr_sandbox_owner',
  email: 'owner@sandbox.example',
} as const;

/** What a sandbox has at most. */
export const SANDBOX_LIMITS = { seats: 200, requestsPerMinute: 300 } as const;

/** What a sandbox takes over from its live team, whenever that changes. */
export const TAKEN_OVER = ['name', 'plan', 'status', 'language', 'rate_limit_per_min'] as const;

/** What a live team has, as its sandbox has it: never more requests in a minute, perhaps fewer. */
export function asSandbox<Live extends { readonly rate_limit_per_min: number }>(live: Live): Live {
  const { requestsPerMinute } = SANDBOX_LIMITS;
  return { ...live, rate_limit_per_min: Math.min(live.rate_limit_per_min, requestsPerMinute) };
}

/** The status of a sandbox. A suspension is simulated only while the live team is active. */
export function statusInSandbox<Status extends string>(
  live: Status,
  isSuspensionSimulated: boolean,
): Status | 'suspended' {
  return isSuspensionSimulated ? 'suspended' : live;
}

/** What a person of a scenario is called, by their first name. */
export const SANDBOX_PEOPLE = {
  memberOf: (name: string): string => `mem_sandbox_${name}`,
  userOf: (name: string): string => `usr_sandbox_${name}`,
  emailOf: (name: string): string => `${name}@sandbox.example`,
} as const;

/** Who does in a sandbox what the host application does in a live team: its stand-in. */
export const SANDBOX_ACTOR = { kind: 'platform', id: 'sandbox' } as const;

/**
 * Whether a reset removes what the operation has made. Webhook endpoints with their deliveries
 * stay, and so does what only the app can make, such as keys.
 */
export function isRemovedByReset(operation: string): boolean {
  return /^\/(?!webhook-|sandbox\/reset$)/.test(operation);
}
