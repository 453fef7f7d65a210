import { ProblemError } from './problem.ts';

declare const sealed: unique symbol;

/**
 * The team's privacy switches. Opaque on purpose: this file alone reads them, everything else hands them on, so "what may leave" is answered here and
 * nowhere else (specification, general rule 7; decisions 23, 41 and 43).
 */
export interface Privacy {
  readonly [sealed]: true;
}

interface Switches {
  readonly memberDetailEnabled: boolean;
  readonly leaderboardEnabled: boolean;
}

/** A board of fewer people would tell who is who. */
const LEADERBOARD_MIN_MEMBERS = 5;

export function privacyOf(switches: Switches): Privacy {
  return switches as unknown as Privacy;
}

/** Throws `privacy_restricted` while the team keeps details of its members to itself. */
export function requireMemberDetail(privacy: Privacy): void {
  if (!read(privacy).memberDetailEnabled) throw new ProblemError('privacy_restricted');
}

/** A detail of a person (email, user id of an owner): the value, or undefined while details are off. */
export function memberDetail<T>(privacy: Privacy, value: T): T | undefined {
  return read(privacy).memberDetailEnabled ? value : undefined;
}

/** Whether the per-member part of the analytics may be shown, given how many active members have a session. */
export function showsLeaderboard(privacy: Privacy, involvedMembers: number): boolean {
  const { memberDetailEnabled, leaderboardEnabled } = read(privacy);
  return memberDetailEnabled && leaderboardEnabled && involvedMembers >= LEADERBOARD_MIN_MEMBERS;
}

/** Event data without what a webhook must not carry: the person and the score. */
export function redactEventData<T extends object>(privacy: Privacy, data: T): Partial<T> {
  if (read(privacy).memberDetailEnabled) return data;
  return Object.fromEntries(
    Object.entries(data).filter(([name]) => name !== 'user_id' && name !== 'score'),
  ) as Partial<T>;
}

/** The `privacy` object of GET /me. */
export function describePrivacy(privacy: Privacy): { member_detail_enabled: boolean } {
  return { member_detail_enabled: read(privacy).memberDetailEnabled };
}

function read(privacy: Privacy): Switches {
  return privacy as unknown as Switches;
}
