/**
 * The announcement of a version's end by email (specification, "Versioning" 3: "to every admin who has an active key"). What that leaves open:
 *  * Admins are the owner and active members with the role `admin`. They have the keys that they created.
 *  * A key whose creator is no admin any more, or has left, is nobody's by that reading, and would end without a word: the team's owner hears of it.
 *  * A key is active until it is revoked or expires, also while its team is suspended; those of an ended team are not.
 *  * An announcement is a version with its two dates. Other dates are another announcement, of which everybody hears.
 *  * Whoever is an admin of two teams gets two mails: each names its team, and its keys by their names.
 *  * A mail counts as sent once the mail server took it. A kill between that and the note in the database repeats that one mail, and no other.
 */
import { isLongEnough, PARALLEL_MONTHS } from '../../core/deprecation.ts';

/** The versions that there are to announce the end of. */
const VERSIONS = ['v1'];

export interface Announcement {
  readonly version: string;
  /** Dates, `YYYY-MM-DD`, in UTC. */
  readonly since: string;
  readonly sunset: string;
}

/** Throws for an unknown version, a date that is none, or versions that run beside each other for less than the promised time. */
export function requireAnnouncement(announcement: Announcement): Announcement {
  if (!VERSIONS.includes(announcement.version))
    throw new Error(`There is no version ${announcement.version}.`);
  if (!isLongEnough(announcement))
    throw new Error(`The sunset must be at least ${PARALLEL_MONTHS} months after the deprecation.`);
  return announcement;
}

/** By what the database knows the announcement. */
export function announcementId({ version, since, sunset }: Announcement): string {
  return `${version} ${since} ${sunset}`;
}
