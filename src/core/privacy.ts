import { withholdAuditDetails } from './audit-actions.ts';
import { withholdEventData } from './events.ts';
import { ProblemError } from './problem.ts';

declare const sealed: unique symbol;

/**
 * The team's privacy switches. The type is opaque on purpose: only this file reads the switches, so
 * it makes every decision about the personal data that may leave the service.
 */
export interface Privacy {
  readonly [sealed]: true;
}

declare const ofCall: unique symbol;

/**
 * The switches that one call goes by: those of its authentication, and all that it reads under its
 * locks. It shows what every one of them allows. So a change whose team has turned a switch off
 * meanwhile cannot respond with what the next read would withhold.
 */
export interface CallPrivacy extends Privacy {
  readonly [ofCall]: true;
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

/** The switches of a new call, which has read these. Each call needs its own. */
export function privacyOfCall(privacy: Privacy): CallPrivacy {
  return { ...read(privacy) } as unknown as CallPrivacy;
}

/** The call has read these switches, too. What they forbid it shows no longer. */
export function narrow(call: CallPrivacy, privacy: Privacy): void {
  const known: Writable<Switches> = read(call);
  const { memberDetailEnabled, leaderboardEnabled } = read(privacy);
  known.memberDetailEnabled &&= memberDetailEnabled;
  known.leaderboardEnabled &&= leaderboardEnabled;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Throws `privacy_restricted` while `member_detail_enabled` is off. */
export function requireMemberDetail(privacy: Privacy): void {
  if (!read(privacy).memberDetailEnabled) throw new ProblemError('privacy_restricted');
}

/** Whether details of persons may be shown, for instance an email. */
export function showsMemberDetail(privacy: Privacy): boolean {
  return read(privacy).memberDetailEnabled;
}

/**
 * Whether the per-member part of the analytics may be shown. `involvedMembers` is the number of
 * active members with at least one session.
 */
export function showsLeaderboard(privacy: Privacy, involvedMembers: number): boolean {
  const { memberDetailEnabled, leaderboardEnabled } = read(privacy);
  return memberDetailEnabled && leaderboardEnabled && involvedMembers >= LEADERBOARD_MIN_MEMBERS;
}

/** Returns the data that an event may have: without its personal fields while details are off. */
export function redactEventData<T extends object>(
  privacy: Privacy,
  type: string,
  data: T,
): Partial<T> {
  return showsMemberDetail(privacy) ? data : withholdEventData(type, data);
}

/** Returns the details that an audit entry may have: without personal ones while they are off. */
export function redactAuditDetails<T extends object>(
  privacy: Privacy,
  action: string,
  details: T,
): Partial<T> {
  return showsMemberDetail(privacy) ? details : withholdAuditDetails(action, details);
}

/** Returns the `privacy` object of GET /me. */
export function describePrivacy(privacy: Privacy): { member_detail_enabled: boolean } {
  return { member_detail_enabled: read(privacy).memberDetailEnabled };
}

function read(privacy: Privacy): Switches {
  return privacy as unknown as Switches;
}
