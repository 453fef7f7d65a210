import type { Clock } from '../../core/clock.ts';
import { isOfRecipient, type TeamMailer } from '../../core/mail.ts';
import type { Db } from '../../db/client.ts';
import { pagesOfTeams } from '../../db/team-pages.ts';
import { announcementId, type Announcement } from './rules.ts';
import * as store from './store.ts';
import { toAnnouncementMail } from './view.ts';

/** So many teams are read at once. What a mail says is as old as their mails take. */
const TEAMS_PER_STATEMENT = 20;
/** So many failures in a row are a problem of the mail server, not of the recipients. */
const FAILURES_MAX = 5;
/**
 * A team may have any number of recipients whom the server refuses, for good or for now: that keeps
 * no mail from the teams behind it. So many such teams in a row are a problem of the server, too.
 */
const REFUSED_TEAMS_MAX = 20;
/** So many teams in a row that fail are a problem of the database, not of the teams. */
const FAILED_TEAMS_MAX = 5;

/** Called for a team that cannot be read, or whose mail cannot be recorded. Others go on. */
type OnTeamFailure = (teamId: string, error: unknown) => void;

/** What an announcement would send, and has sent. */
export interface AnnouncementPlan {
  /** Mails still to be sent, by team; without teams that have none. */
  readonly teams: readonly { readonly teamId: string; readonly mails: number }[];
  /** The sum over all teams. */
  readonly mails: number;
  readonly sentBefore: number;
}

/** Counts the mails that the announcement would send now. Writes nothing. */
export async function planAnnouncement(
  db: Db,
  clock: Clock,
  announcement: Announcement,
  onTeamFailure: OnTeamFailure,
): Promise<AnnouncementPlan> {
  const id = announcementId(announcement);
  const now = clock.now();
  const teams: { teamId: string; mails: number }[] = [];
  let [mails, sentBefore] = [0, 0];
  const count = (teamIds: readonly string[]) => store.countRecipients(db, id, { teamIds, now });
  for await (const rows of readPages(db, count, onTeamFailure)) {
    for (const row of rows) {
      mails += row.waiting;
      sentBefore += row.sent;
      if (row.waiting > 0) teams.push({ teamId: row.team_id, mails: row.waiting });
    }
  }
  return { teams, mails, sentBefore };
}

/**
 * Reads all teams, page by page. The teams of a page that cannot be read are read one by one, so
 * that one keeps no other from it.
 */
async function* readPages<Row>(
  db: Db,
  read: (teamIds: readonly string[]) => Promise<Row[]>,
  onTeamFailure: OnTeamFailure,
): AsyncGenerator<Row[]> {
  const failures = countFailures(onTeamFailure);
  for await (const teamIds of pagesOfTeams(db, TEAMS_PER_STATEMENT)) {
    const page = await read(teamIds).catch(() => null);
    if (page) yield page;
    for (const teamId of page ? [] : teamIds) {
      const rows = await read([teamId]).catch((error: unknown) => {
        failures.add(teamId, error);
        return null;
      });
      if (!rows) continue;
      failures.reset();
      yield rows;
    }
  }
}

/** `add` throws the error of the last of `FAILED_TEAMS_MAX` teams in a row. */
function countFailures(onTeamFailure: OnTeamFailure) {
  let inARow = 0;
  return {
    add: (teamId: string, error: unknown): void => {
      inARow += 1;
      if (inARow === FAILED_TEAMS_MAX) throw error;
      onTeamFailure(teamId, error);
    },
    reset: (): void => {
      inARow = 0;
    },
  };
}

export interface AnnouncementDependencies {
  readonly db: Db;
  readonly clock: Clock;
  readonly mailer: TeamMailer;
  readonly publicUrl: string;
  /** Called for a mail that the server refused. It does not name the recipient. */
  readonly onFailure: (teamId: string, error: unknown) => void;
  readonly onTeamFailure: OnTeamFailure;
}

/**
 * Mails everybody who has not been mailed yet, one after the other, and records each mail once it
 * is sent. Only one may run at a time. If a mail is refused, calls `onFailure` and continues; the
 * next run tries that recipient again. A team whose mail cannot be recorded gets no further one.
 * Throws if the mail server seems to take nothing, or the database fails for several teams in a
 * row. Opens a transaction after each mail.
 */
export async function announce(
  { db, clock, mailer, publicUrl, onFailure, onTeamFailure }: AnnouncementDependencies,
  announcement: Announcement,
): Promise<{ sent: number; failed: number }> {
  const id = announcementId(announcement);
  let [sent, failed, failedInARow] = [0, 0, 0];
  const refusedTeams = new Set<string>();
  const failedTeams = new Set<string>();
  const failures = countFailures((teamId, error) => {
    failedTeams.add(teamId);
    onTeamFailure(teamId, error);
  });
  const list = (teamIds: readonly string[]) =>
    store.listRecipients(db, id, { teamIds, now: clock.now() });
  for await (const page of readPages(db, list, onTeamFailure)) {
    for (const recipient of page) {
      if (failedTeams.has(recipient.team_id)) continue;
      try {
        await mailer(recipient.team_id, toAnnouncementMail(recipient, announcement, publicUrl));
      } catch (error) {
        failed += 1;
        if (isOfRecipient(error)) refusedTeams.add(recipient.team_id);
        else failedInARow += 1;
        onFailure(recipient.team_id, error);
        if (failedInARow === FAILURES_MAX || refusedTeams.size === REFUSED_TEAMS_MAX)
          throw new Error('The mail server takes nothing. Run it again later.', { cause: error });
        continue;
      }
      failedInARow = 0;
      refusedTeams.clear();
      const { team_id: teamId, member_id: memberId } = recipient;
      const at = clock.now();
      sent += 1;
      try {
        await db.transaction((tx) => store.insertSent(tx, id, { teamId, memberId, at }));
        failures.reset();
      } catch (error) {
        failures.add(teamId, error);
      }
    }
  }
  return { sent, failed };
}
