import { EVENTS, isEventType } from './events.ts';
import { ProblemError } from './problem.ts';

declare const sealed: unique symbol;

/**
 * The team's privacy switches. The type is opaque on purpose: only this file reads the switches, so
 * it makes every decision about the personal data that may leave the service.
 */
export interface Privacy {
  readonly [sealed]: true;
}

interface Switches {
  readonly memberDetailEnabled: boolean;
  readonly leaderboardEnabled: boolean;
}

/** With fewer people a leaderboard would reveal who is who. */
const LEADERBOARD_MIN_MEMBERS = 5;

/** Wraps the switches of a team. */
export function privacyOf(switches: Switches): Privacy {
  return switches as unknown as Privacy;
}

/** Throws `privacy_restricted` while `member_detail_enabled` is off. */
export function requireMemberDetail(privacy: Privacy): void {
  if (!read(privacy).memberDetailEnabled) throw new ProblemError('privacy_restricted');
}

/** Returns a person's detail, for instance an email, or undefined while details are off. */
export function memberDetail<T>(privacy: Privacy, value: T): T | undefined {
  return read(privacy).memberDetailEnabled ? value : undefined;
}

/**
 * Whether the per-member part of the analytics may be shown. `involvedMembers` is the number of
 * active members with at least one session.
 */
export function showsLeaderboard(privacy: Privacy, involvedMembers: number): boolean {
  const { memberDetailEnabled, leaderboardEnabled } = read(privacy);
  return memberDetailEnabled && leaderboardEnabled && involvedMembers >= LEADERBOARD_MIN_MEMBERS;
}

/**
 * Removes the personal fields from event data while details are off. Removes all fields of an event
 * type that this version does not know, because it cannot tell which of them are personal.
 */
export function redactEventData<T extends object>(
  privacy: Privacy,
  type: string,
  data: T,
): Partial<T> {
  if (read(privacy).memberDetailEnabled) return data;
  if (!isEventType(type)) return {};
  const { personal } = EVENTS[type];
  return Object.fromEntries(
    Object.entries(data).filter(([name]) => !personal.includes(name)),
  ) as Partial<T>;
}

/** Returns the `privacy` object of GET /me. */
export function describePrivacy(privacy: Privacy): { member_detail_enabled: boolean } {
  return { member_detail_enabled: read(privacy).memberDetailEnabled };
}

function read(privacy: Privacy): Switches {
  return privacy as unknown as Switches;
}
