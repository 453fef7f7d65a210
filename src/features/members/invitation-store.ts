/** Invitations: what limits them, their rows, and what their mail needs. */
import type { Language } from '../../core/language.ts';
import type { MailRecipient } from '../../core/mail.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { asLiveMember, selectionOf, type LiveMember } from '../../db/rows.ts';
import { lowered } from '../../db/lowered.ts';
import { INVITATIONS_PER_HOUR, type AssignableRole, type InvitationFacts } from './rules.ts';
import { COLUMNS, type MemberRow } from './store.ts';

// The time of the invitation that counts as number INVITATIONS_PER_HOUR, from the newest one back
// to the beginning of the window ($3). Those in `invitation_resend` count, too.
const LIMITING_INVITED_AT = `(
       select at
       from (
         (
           select m.invited_at as at
           from member m
           where m.team_id = $1 and m.invited_at > $3
           order by m.invited_at desc
           limit ${INVITATIONS_PER_HOUR}
         )
         union all
         (
           select r.sent_at
           from invitation_resend r
           where r.team_id = $1 and r.sent_at > $3
           order by r.sent_at desc
           limit ${INVITATIONS_PER_HOUR}
         )
       ) sent
       order by at desc
       offset ${INVITATIONS_PER_HOUR - 1}
       limit 1
     )`;

const INVITATION_FACTS = statement<{
  seats: number;
  seats_used: number;
  taken_by: string | null;
  limiting_invited_at: string | null;
}>(
  'members.invitationFacts',
  `select t.seats,
     (
       select count(*)::int
       from member m
       where m.team_id = $1 and m.status <> 'ended'
     ) as seats_used,
     (
       select m.id
       from member m
       where m.team_id = $1 and ${lowered('m.email')} = ${lowered('$2')} and m.status <> 'ended'
     ) as taken_by,
     ${LIMITING_INVITED_AT} as limiting_invited_at
   from team t
   where t.id = $1`,
);

/** Reads what decides whether an invitation is possible. Needs `lockTeam`. */
export async function readInvitationFacts(
  tx: Tx,
  teamId: string,
  email: string,
  windowStart: Date,
): Promise<InvitationFacts> {
  const [row] = await tx.query(INVITATION_FACTS, [teamId, email, windowStart]);
  if (!row) throw new Error('the team of the request is gone');
  return {
    seats: row.seats,
    seatsUsed: row.seats_used,
    takenBy: row.taken_by,
    limitingInvitedAt: row.limiting_invited_at,
  };
}

/** A member to invite. A null `language` means the team's. */
export interface NewInvitation {
  readonly id: string;
  readonly email: string;
  readonly role: AssignableRole;
  readonly language: Language | null;
  readonly at: Date;
}

const INSERT_INVITED = statement(
  'members.insertInvited',
  `insert into member
     (team_id, id, email, role, status, language, created_at, invited_at, invitation_sent_at)
   values ($1, $2, $3, $4, 'invited', $5, $6, $6, $6)`,
);

/** Inserts an invited member. */
export function insertInvited(
  tx: Tx,
  teamId: string,
  { id, email, role, language, at }: NewInvitation,
): void {
  tx.send(INSERT_INVITED, [teamId, id, email, role, language, at]);
}

const FIND_FOR_RESEND = statement<MemberRow & { readonly limiting_invited_at: string | null }>(
  'members.findForResend',
  `select ${COLUMNS},
     ${LIMITING_INVITED_AT} as limiting_invited_at
   from member m
   where m.team_id = $1 and m.id = $2 and m.status <> 'ended'`,
);

/**
 * A live member and what decides whether their invitation may be mailed again, or null. Needs
 * `lockTeam`.
 */
export async function findForResend(
  tx: Tx,
  teamId: string,
  memberId: string,
  windowStart: Date,
): Promise<{ member: MemberRow; limitingInvitedAt: string | null } | null> {
  const [row] = await tx.query(FIND_FOR_RESEND, [teamId, memberId, windowStart]);
  if (!row) return null;
  const { limiting_invited_at: limitingInvitedAt, ...member } = row;
  return { member, limitingInvitedAt };
}

/** An invitation that counts toward the hourly limit, although it makes no member. */
interface Counted {
  readonly id: string;
  readonly memberId: string;
  readonly at: Date;
}

/** Counts it. */
export async function insertCounted(
  tx: Tx,
  teamId: string,
  { id, memberId, at }: Counted,
): Promise<void> {
  await tx.prisma.invitationResend.createMany({ data: [{ teamId, id, memberId, sentAt: at }] });
}

/** Counts an invitation that is mailed again, and begins its validity anew. */
export async function insertResend(tx: Tx, teamId: string, resend: Counted): Promise<void> {
  await insertCounted(tx, teamId, resend);
  await tx.prisma.member.updateMany({
    where: { teamId, id: resend.memberId },
    data: { invitationSentAt: resend.at },
  });
}

const FIND_INVITATION = statement<MailRecipient>(
  'members.findInvitation',
  `select m.email, coalesce(m.language, t.language) as language, t.name as team_name
   from member m
   join team t on t.id = m.team_id and t.status <> 'ended'
   where m.team_id = $1 and m.id = $2 and m.status = 'invited'`,
);

/** Returns null once the invitation was accepted or withdrawn, or its team has ended. */
export function findInvitation(
  db: Db,
  teamId: string,
  memberId: string,
): Promise<MailRecipient | null> {
  return db.queryFirst(FIND_INVITATION, [teamId, memberId]);
}

/** An expired invitation, and its place among them. */
export interface ExpiredRow {
  readonly team_id: string;
  readonly id: string;
  readonly invitation_sent_at: string;
}

const LIST_EXPIRED = statement<ExpiredRow>(
  'members.listExpired',
  `select m.team_id, m.id, m.invitation_sent_at
   from member m
   join team t on t.id = m.team_id and t.erasing_since is null
   where m.status = 'invited'
     and m.invitation_sent_at < $1
     and (m.invitation_sent_at, m.team_id, m.id) > ($2::timestamptz, $3, $4)
   order by m.invitation_sent_at, m.team_id, m.id
   limit $5`,
);

/**
 * Open invitations that were last mailed before this time, oldest first, after `after`; null is the
 * beginning. Covers all teams, because this is the operator's job and not a team's request.
 */
export function listExpired(
  db: Db,
  sentBefore: Date,
  { after, limit }: { readonly after: ExpiredRow | null; readonly limit: number },
): Promise<ExpiredRow[]> {
  const { invitation_sent_at: at, team_id, id } = after ?? FIRST;
  return db.query(LIST_EXPIRED, [sentBefore, at, team_id, id, limit]);
}

const FIRST = { invitation_sent_at: '-infinity', team_id: '', id: '' };

/** The invitation, or null if it was accepted, ended or mailed again. Needs `lockTeam`. */
export async function findExpired(
  tx: Tx,
  teamId: string,
  memberId: string,
  sentBefore: Date,
): Promise<EndingRow | null> {
  const found = await tx.prisma.member.findFirst({
    where: { teamId, id: memberId, status: 'invited', invitationSentAt: { lt: sentBefore } },
    select: ENDING.select,
  });
  return found && asLiveMember(ENDING.toRow(found));
}

const ENDING = selectionOf('Member', ['id', 'email', 'role', 'user_id', 'status']);
type EndingRow = LiveMember<'id' | 'email' | 'role' | 'user_id' | 'status'>;
