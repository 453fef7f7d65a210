import type { Language } from '../../core/language.ts';
import type { MailRecipient } from '../../core/mail.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import type { RowOf } from '../../db/rows.ts';

/** A sandbox that is due to be looked at, and its place among them. */
export type DueRow = RowOf<'Sandbox', 'team_id' | 'check_at'>;

const LIST_DUE = statement<DueRow>(
  'sandbox.listDue',
  `select team_id, check_at
   from sandbox
   where check_at <= $1
     and (check_at, team_id) > ($2::timestamptz, $3)
   order by check_at, team_id
   limit $4`,
);

/** Lists the sandboxes of all teams that are due, after `after`; null is the beginning. */
export function listDue(
  db: Db,
  now: Date,
  { after, limit }: { readonly after: DueRow | null; readonly limit: number },
): Promise<DueRow[]> {
  return db.query(LIST_DUE, [now, after?.check_at ?? '-infinity', after?.team_id ?? '', limit]);
}

/** When a sandbox was used last, and when its admins were warned. */
export type UseRow = RowOf<'Sandbox', 'used_at' | 'warned_at'>;

// Each part is one row of an index, however much the sandbox was used. The day of a call counts to
// its end, but not beyond now. A process writes what it has counted after some seconds, so the
// minute that all keys are counted in tells of the last calls.
/** Returns null if the sandbox is not due any more. Its team must be locked. */
export const findUse = statement<UseRow>(
  'sandbox.findUse',
  `select
     greatest(
       s.used_at,
       (
         select least($2::timestamptz, (u.day + 1)::timestamp at time zone 'UTC')
         from api_key_usage u
         where u.team_id = $1
         order by u.day desc
         limit 1
       ),
       (
         select least($2::timestamptz, to_timestamp((c.minute + 1) * 60.0))
         from team_counter c
         where c.team_id = $1 and c.bucket = 'keys'
       ),
       ${lastChangeBy('user')},
       ${lastChangeBy('api_key')}
     ) as used_at,
     s.warned_at
   from sandbox s
   where s.team_id = $1 and s.check_at <= $2`,
).finds<[tx: Tx, sandboxId: string, now: Date]>();

function lastChangeBy(kind: string): string {
  return `(
         select a.created_at
         from audit_log a
         where a.team_id = $1 and a.actor_kind = '${kind}'
         order by a.created_at desc, a.id desc
         limit 1
       )`;
}

/** Writes what is known of its use, and when it is looked at again. */
export async function updateUse(
  tx: Tx,
  sandboxId: string,
  {
    usedAt,
    warnedAt,
    checkAt,
  }: { readonly usedAt: string; readonly warnedAt: string | null; readonly checkAt: Date },
): Promise<void> {
  await tx.prisma.sandbox.updateMany({
    where: { teamId: sandboxId },
    data: { usedAt, warnedAt, checkAt },
  });
}

const ADMINS = { status: 'active', role: { in: ['owner', 'admin'] } };

/** Returns null if the member is no longer an admin, or the team is being erased. */
export async function findRecipient(
  db: Db,
  { teamId, memberId }: { readonly teamId: string; readonly memberId: string },
): Promise<MailRecipient | null> {
  const found = await db.prisma.member.findFirst({
    where: { teamId, id: memberId, ...ADMINS, team: { erasingSince: null } },
    select: { email: true, language: true, team: { select: { name: true, language: true } } },
  });
  if (!found || found.email === null) return null;
  const { email, team } = found;
  return {
    email,
    language: (found.language ?? team.language) as Language,
    team_name: team.name,
  };
}
