/**
 * The end of an API version is announced by email to every admin who has an active key. Decisions
 * that the specification leaves open:
 *  * Admins are the owner and active members with the role `admin`. Their keys are those that they
 *    created.
 *  * If the creator of a key is no longer an admin, or has left, the team's owner is notified
 *    instead. Otherwise nobody would be told about that key.
 *  * A key is active until it is revoked or expires, also while its team is suspended. The keys of
 *    an ended team are not active.
 *  * The keys of a sandbox do not count: its mails reach nobody, but would be among those sent.
 *  * An announcement is a version with its two dates. The same version with other dates is another
 *    announcement, and everybody is notified again.
 *  * An admin of two teams gets two mails. Each names its team, and the names of its keys.
 *  * Teams are taken page by page, in the order of their ids, so no step grows with how many there
 *    are. A team that is created meanwhile behind the place is left to the next run.
 *  * If a team is erased while its page is mailed, its mails go on, but none of them is recorded.
 *  * A team for which the database fails keeps no other from its mails. One whose mail cannot be
 *    recorded gets no further one: each would be sent again by the next run.
 *  * A mail counts as sent when the mail server has accepted it. If the process is killed before
 *    that is recorded in the database, this one mail is sent again, and no other.
 */
import { isLongEnough, PARALLEL_MONTHS } from '../../core/deprecation.ts';

/** The versions whose end can be announced. */
const VERSIONS = ['v1'];

/** A version, deprecated from `since` on, that may be switched off from `sunset` on. */
export interface Announcement {
  readonly version: string;
  /** Dates, `YYYY-MM-DD`, in UTC. */
  readonly since: string;
  readonly sunset: string;
}

/**
 * Returns the announcement. Throws an `Error` for an unknown version, an invalid date, or a sunset
 * earlier than `PARALLEL_MONTHS` after the deprecation.
 */
export function requireAnnouncement(announcement: Announcement): Announcement {
  if (!VERSIONS.includes(announcement.version))
    throw new Error(`There is no version ${announcement.version}.`);
  if (!isLongEnough(announcement))
    throw new Error(`The sunset must be at least ${PARALLEL_MONTHS} months after the deprecation.`);
  return announcement;
}

/** The key of the announcement in the database. */
export function announcementId({ version, since, sunset }: Announcement): string {
  return `${version} ${since} ${sunset}`;
}
