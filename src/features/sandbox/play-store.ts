import { statement, type Tx } from '../../db/client.ts';
import type { RowOf } from '../../db/rows.ts';
import { lowered } from '../../db/lowered.ts';

/** An active member. */
export interface Person {
  readonly id: string;
  readonly user_id: string;
}

interface Wanted {
  readonly memberId: string | undefined;
  readonly userId: string | undefined;
}

// An owner or an admin only if there is nobody else. Both are read in the order of the index that
// has no former members: of these there may be very many, and sorted with them Postgres may take
// the whole table.
const findText = (order: string): string =>
  `select id, user_id
   from (
     ${firstText(`role = 'member'`, order)}
     union all
     ${firstText(`role <> 'member'`, order)}
   ) found
   order by role = 'member' desc
   limit 1`;

function firstText(role: string, order: string): string {
  return `(
       select id, user_id, role
       from member
       where team_id = $1
         and ${role}
         and status = 'active'
         and ($2::text is null or id = $2)
         and ($3::text is null or user_id = $3)
       order by ${order}
       limit 1
     )`;
}

const FIND_PERSON = {
  longest: statement<Person>('sandbox.findLongest', findText('created_at, id')),
  newest: statement<Person>('sandbox.findNewest', findText('created_at desc, id desc')),
};

/** The active member who is wanted, or the one who has been there longest, or the newest one. */
export function findPerson(
  tx: Tx,
  teamId: string,
  which: keyof typeof FIND_PERSON,
  { memberId, userId }: Wanted,
): Promise<Person | null> {
  return tx.queryFirst(FIND_PERSON[which], [teamId, memberId ?? null, userId ?? null]);
}

// By the index that has no former members, as above. With the status as a value, a prepared plan
// cannot use it.
const FIND_INVITATION = statement<RowOf<'Member', 'id' | 'email'>>(
  'sandbox.findInvitation',
  `select id, email
   from (
     (
       select id, email
       from member
       where team_id = $1 and $2::text is null and status = 'invited'
       order by created_at, id
       limit 1
     )
     union all
     select id, email
     from member
     where team_id = $1 and id = $2
   ) found`,
);

/** The invitation that is wanted, or the oldest one that is open. */
export function findInvitation(
  tx: Tx,
  teamId: string,
  memberId: string | undefined,
): Promise<RowOf<'Member', 'id' | 'email'> | null> {
  return tx.queryFirst(FIND_INVITATION, [teamId, memberId ?? null]);
}

const FIND_ABSENT = statement<{ readonly user_id: string }>(
  'sandbox.findAbsent',
  `select p.user_id
   from (
     select user_id, created_at
     from member
     where team_id = $1 and ${lowered('email')} = ${lowered('$2')}
     union all
     values ($3, '-infinity'::timestamptz)
   ) p
   where p.user_id is not null
     and not exists (
       select
       from member o
       where o.team_id = $1 and o.user_id = p.user_id and o.status <> 'ended'
     )
   order by p.created_at desc, p.user_id
   limit 1`,
);

/**
 * The person who was a member with this address and is none now, the last one if there were
 * several; else the one who is `named`, unless they are a member; null: nobody.
 */
export async function findAbsent(
  tx: Tx,
  teamId: string,
  { email, named }: { readonly email: string | null; readonly named: string | null },
): Promise<string | null> {
  return (await tx.queryFirst(FIND_ABSENT, [teamId, email, named]))?.user_id ?? null;
}

/** What a training takes over from its assignment. */
export interface AssignmentToTrain {
  readonly memberId: string;
  readonly situationId: string | null;
  readonly personalityId: string | null;
  readonly industryId: string | null;
}

export function findAssignment(
  tx: Tx,
  teamId: string,
  id: string,
): Promise<AssignmentToTrain | null> {
  return tx.prisma.assignment.findFirst({
    where: { teamId, id },
    select: { memberId: true, situationId: true, personalityId: true, industryId: true },
  });
}

/** The training that is wanted, or the newest one of the status. */
export function findTraining(
  tx: Tx,
  teamId: string,
  wanted: { readonly id: string | undefined; readonly status: string },
): Promise<RowOf<'Training', 'id' | 'status'> | null> {
  const { id, status } = wanted;
  return tx.prisma.training.findFirst({
    where: { teamId, ...(id === undefined ? { status } : { id }) },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    select: { id: true, status: true },
  });
}

/** When a training's evaluation was made, and its score; null: it has none. */
export async function findEvaluation(
  tx: Tx,
  teamId: string,
  trainingId: string,
): Promise<{ readonly savedAt: string; readonly total: number | null } | null> {
  const found = await tx.prisma.evaluation.findFirst({
    where: { teamId, trainingId },
    select: { savedAt: true, total: true },
  });
  return found && { savedAt: found.savedAt.toISOString(), total: found.total };
}

const LOCK_CONNECTION = statement<{ id: string }>(
  'sandbox.lockConnection',
  `select id
   from crm_connection
   where team_id = $1
     and status = 'active'
     and ($2::text is null or id = $2)
   order by created_at, id
   limit 1
   for no key update`,
);

/** Locks the active connection that is wanted, or the oldest one; null: there is none. */
export async function lockConnection(
  tx: Tx,
  teamId: string,
  id: string | undefined,
): Promise<string | null> {
  return (await tx.queryFirst(LOCK_CONNECTION, [teamId, id ?? null]))?.id ?? null;
}

/** What the host application has set for a team; null: it is gone. */
export function findTeam(
  tx: Tx,
  teamId: string,
): Promise<{ readonly status: string; readonly rateLimitPerMin: number } | null> {
  return tx.prisma.team.findFirst({
    where: { id: teamId, erasingSince: null },
    select: { status: true, rateLimitPerMin: true },
  });
}

/** Keeps until when something is played; null: no longer. */
export async function markPlayed(
  tx: Tx,
  teamId: string,
  played: {
    readonly suspendedUntil?: Date | null;
    readonly receiversFailUntil?: Date | null;
    readonly speed?: number;
  },
): Promise<void> {
  await tx.prisma.sandbox.updateMany({ where: { teamId }, data: played });
}

// The minute that `authenticate_api_key` counts in: it is of the database's clock, or of a test's,
// and never goes back.
const FIND_MINUTE = statement<{ minute: number }>(
  'sandbox.findMinute',
  `select greatest(
       floor(extract(epoch from coalesce($2, statement_timestamp())) / 60)::int,
       (
         select c.minute
         from team_counter c
         where c.team_id = $1 and c.bucket = 'keys'
       )
     ) as minute`,
);

// The bucket that all keys of a team share. A count that is higher stays, and so does a later
// minute.
const FILL = statement(
  'sandbox.fillRateLimit',
  `insert into team_counter as c (team_id, bucket, minute, count)
   values ($1, 'keys', $2, $3)
   on conflict (team_id, bucket) do update
   set count = case
       when c.minute = excluded.minute then greatest(c.count, excluded.count)
       else excluded.count
     end,
     minute = excluded.minute
   where c.minute <= excluded.minute`,
);

/**
 * Counts so many requests of the current minute, unless there were more, as soon as the transaction
 * is committed. Until then it locks no counter, which every request of the team would wait for.
 * Returns when the minute ends.
 */
export async function fillRateLimit(
  tx: Tx,
  teamId: string,
  { count, now }: { readonly count: number; readonly now: Date | null },
): Promise<Date> {
  const row = await tx.queryFirst(FIND_MINUTE, [teamId, now]);
  if (!row) throw new Error('a select without a table returned no row');
  tx.afterCommit(async (db) => void (await db.query(FILL, [teamId, row.minute, count])));
  return new Date((row.minute + 1) * 60_000);
}
