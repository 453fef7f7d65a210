import type { Language } from '../../core/language.ts';
import { SANDBOX_END } from '../../core/sandbox.ts';
import { statement, type Db } from '../../db/client.ts';

/** A member to be mailed, with what the mail says. */
export interface RecipientRow {
  readonly team_id: string;
  readonly member_id: string;
  readonly email: string;
  readonly language: Language;
  readonly team_name: string;
  /** Names of the keys that the mail is about. */
  readonly keys: string[];
}

// Each live key with the member to notify: its creator, or the owner if the creator is no admin.
const ADDRESSEES = `
  select k.team_id, m.id as member_id, k.name
  from api_key k
  join team t on t.id = k.team_id and t.status <> 'ended' and t.id not like '%${SANDBOX_END}'
  join member c on c.team_id = k.team_id and c.id = k.created_by
  join member m on m.team_id = k.team_id and m.status = 'active' and m.email is not null
    and case
      when c.status = 'active' and c.role in ('owner', 'admin') then m.id = c.id
      else m.role = 'owner'
    end
  where (k.revoked_at is null or k.revoked_at > $2)
    and (k.expires_at is null or k.expires_at > $2)`;

const LIST = statement<RecipientRow>(
  'announcements.list',
  `with addressee as (
     ${ADDRESSEES}
     and (k.team_id > $3 or k.team_id = $3 and m.id > $4)
   )
   select a.team_id, a.member_id, m.email, coalesce(m.language, t.language) as language,
     t.name as team_name, array_agg(a.name order by a.name) as keys
   from addressee a
   join member m on m.team_id = a.team_id and m.id = a.member_id
   join team t on t.id = a.team_id
   where not exists (
     select from announcement_mail s
     where s.team_id = a.team_id
       and s.announcement = $1
       and s.member_id = a.member_id
   )
   group by a.team_id, a.member_id, m.email, m.language, t.language, t.name
   order by a.team_id, a.member_id
   limit $5`,
);

/** The members who were not mailed yet, by team and member id, after `after`. */
export function listRecipients(
  db: Db,
  announcement: string,
  { now, after, limit }: { now: Date; after: { teamId: string; memberId: string }; limit: number },
): Promise<RecipientRow[]> {
  return db.query(LIST, [announcement, now, after.teamId, after.memberId, limit]);
}

const COUNT = statement<{ team_id: string; waiting: number; sent: number }>(
  'announcements.count',
  `with addressee as (${ADDRESSEES})
   select a.team_id,
     count(distinct a.member_id) filter (where s.member_id is null)::int as waiting,
     count(distinct s.member_id)::int as sent
   from addressee a
   left join announcement_mail s
     on s.team_id = a.team_id and s.announcement = $1 and s.member_id = a.member_id
   group by a.team_id
   order by a.team_id`,
);

/** For each team, how many members are still to be mailed, and how many were mailed. */
export function countRecipients(
  db: Db,
  announcement: string,
  now: Date,
): Promise<{ team_id: string; waiting: number; sent: number }[]> {
  return db.query(COUNT, [announcement, now]);
}

/** Records that the member was mailed. */
export async function insertSent(
  db: Db,
  announcement: string,
  sent: { teamId: string; memberId: string; at: Date },
): Promise<void> {
  const { teamId, memberId, at: sentAt } = sent;
  await db.prisma.announcementMail.createMany({
    data: [{ teamId, announcement, memberId, sentAt }],
    skipDuplicates: true,
  });
}
