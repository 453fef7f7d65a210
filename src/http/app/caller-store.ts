import type { Role } from '../../core/actor.ts';
import { statement, type Db, type Queries } from '../../db/client.ts';
import { selectionOf } from '../../db/rows.ts';
import { TEAM_COLUMNS, type TeamRow } from '../api/authentication/team-facts.ts';

/** What the counters of the calls say. */
interface RateRow {
  /** False: a bucket is full, and these calls were not counted. */
  readonly counted: boolean;
  readonly bucket_limit: number;
  readonly bucket_remaining: number;
  readonly reset_s: number;
}

/** An active member with the facts of the team. */
export interface MemberRow extends TeamRow {
  readonly member_id: string;
  readonly role: Role;
  readonly rights: string[];
}

/** For anybody but an active member, `member_id` and the other columns of the member are null. */
export type CallerRow = RateRow & (MemberRow | { readonly member_id: null });

const AUTHENTICATE = statement<CallerRow>(
  'http.authenticateCaller',
  `select member_id, role, rights,
     ${TEAM_COLUMNS},
     counted, bucket_limit, bucket_remaining, reset_s
   from authenticate_caller($1, $2, $3, $4, $5, $6, $7, $8)`,
);

/** Who sends the calls of a request. */
export interface CallerKey {
  /** The person of a verified token; null without one. */
  readonly person: { readonly teamId: string; readonly userId: string } | null;
  /** Nobody is known by this token if it is spent. null: whoever uses it decides. */
  readonly tokenId: string | null;
  readonly ip: string | null;
}

/**
 * Looks up a member and counts the calls of a request, in one round trip. See
 * `authenticate_caller` in prisma/functions.
 */
export async function authenticateCaller(
  db: Queries,
  { person, tokenId, ip }: CallerKey,
  counting: {
    readonly calls: number;
    readonly personPerMinute: number;
    readonly ipPerMinute: number;
    /** null: the clock of the database. */
    readonly now: Date | null;
  },
): Promise<CallerRow> {
  const { calls, personPerMinute, ipPerMinute, now } = counting;
  const values = [person?.teamId ?? null, person?.userId ?? null, calls, ip];
  const [row] = await db.query(AUTHENTICATE, [
    ...values,
    personPerMinute,
    ipPerMinute,
    now,
    tokenId,
  ]);
  if (!row) throw new Error('authenticate_caller returned no row');
  return row;
}

const FACTS = selectionOf('Team', [
  'plan',
  'status',
  'language',
  'rate_limit_per_min',
  'member_detail_enabled',
  'leaderboard_enabled',
]);

/** The facts of a sandbox; null if there is none. */
export async function findSandboxFacts(db: Db, sandboxId: string): Promise<TeamRow | null> {
  const where = { id: sandboxId, erasingSince: null };
  const found = await db.prisma.team.findFirst({ where, select: FACTS.select });
  if (!found) return null;
  const { status, ...facts } = FACTS.toRow(found);
  return { ...facts, team_status: status };
}

/** The name of the team of a session. */
export async function findTeamName(db: Db, teamId: string): Promise<string> {
  const where = { id: teamId };
  return (await db.prisma.team.findFirstOrThrow({ where, select: { name: true } })).name;
}

/** Whom the development login can sign in. */
export interface DevelopmentPerson {
  readonly user_id: string;
  readonly email: string | null;
  readonly role: Role;
}

/** Lists a few active members of the team, the owner and admins first. */
export const listDevelopmentPeople = statement<DevelopmentPerson>(
  'http.listDevelopmentPeople',
  `select user_id, email, role
   from member
   where team_id = $1 and status = 'active' and user_id is not null
   order by case role when 'owner' then 0 when 'admin' then 1 else 2 end, created_at desc, id
   limit 6`,
).lists<[db: Db, teamId: string]>();
