import type { z } from 'zod';
import { EVENTS, isEventType } from './events.ts';
import { personal, personalOrNull } from './private-fields.ts';
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

declare const decided: unique symbol;

/**
 * A person's detail that the switches let pass. The type is opaque, so that only the fields that
 * `detail` and `detailOrNull` mark take it, and these take nothing else. A view cannot forget the
 * switch, nor a shape the mark.
 */
export interface MemberDetail<T> {
  readonly [decided]: T;
}

/** Returns a person's detail, for instance an email, or undefined while details are off. */
export function memberDetail<T>(privacy: Privacy, value: T): MemberDetail<T> | undefined {
  return showsMemberDetail(privacy) ? (value as unknown as MemberDetail<T>) : undefined;
}

/** A field of a response for a result of `memberDetail`, which may be left out. */
export function detail<T extends z.ZodType>(field: T) {
  return personal(field) as unknown as z.ZodOptional<Detail<T>>;
}

/** A field of a response for a result of `memberDetail`, or null. */
export function detailOrNull<T extends z.ZodNullable>(field: T) {
  return personalOrNull(field) as unknown as z.ZodNullable<Detail<T>>;
}

type Detail<T extends z.ZodType> = z.ZodType<z.output<T>, MemberDetail<z.input<T>>>;

/** Whether a response may be shown that holds details of persons. */
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
