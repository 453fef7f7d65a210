import type { PageSlice, SearchResult } from '../../core/page.ts';
import { statement, type Db } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { asLiveMember, listed, selectionOf, type RowOf } from '../../db/rows.ts';
import { search, SINCE, type FoundRow } from '../../db/search.ts';
import { lowered } from '../../db/lowered.ts';
import { NOT_JOINED, readRolePosition, type Sort } from './rules.ts';
import { SHOWN, type MemberRow } from './store.ts';

/** A member with the rights that they hold as an admin. */
export interface FoundMember extends MemberRow {
  readonly rights: readonly string[];
}

/** All given filters must match. */
export interface MemberFilters {
  /** A part of the id, of the person's id, or of the address if that may be shown. */
  readonly text?: string | undefined;
  readonly role?: string | undefined;
  readonly status?: string | undefined;
}

const FOUND = [...SHOWN, 'rights'] as const;

/** How many members a search reads before it returns a page. Few teams have more. */
const READ_MAX = 10_000;

const MOST = `case
       when $6::text is null and $8::text is null and $9::text is null then $2::int
       else ${READ_MAX}
     end`;

/** SQL: rows of the team, in an order, from the position on. */
const rowsIn = (after: string, order: string): string =>
  `select ${listed(FOUND)}
     from member
     where team_id = $1
       and status <> 'ended'
       and ${after}
       and ${SINCE}
     order by ${order}
     limit ${MOST}`;

/** An order of members. An index must have it. */
interface Order {
  /** SQL: at most `MOST` rows. */
  readonly rows: string;
  /** SQL: what they are ordered by. `of`: the range and a point. */
  readonly by: (of: string) => string;
  /** SQL: the position of a row, as `rules.positionIn` makes it. */
  readonly at?: string;
  readonly id?: string;
}

// An index by parts of texts would need an extension of Postgres at every node. A range of the
// order's own index is enough for teams of any likely size, and bounds the work for any other.
const searchIn = (order: string, { rows, by, at = 'created_at', id = 'id' }: Order) =>
  statement<FoundRow<FoundMember>>(
    `members.search${order}`,
    `with range as materialized (
     ${rows}
   )
   select ${listed(FOUND, 'page.')}, last.reached_at, last.reached_id
   from (values (1)) one
   left join (
     select ${at} as reached_at, ${id} as reached_id
     from range
     order by ${by('')}
     offset ${READ_MAX - 1}
     limit 1
   ) last on true
   left join (
     select *
     from range
     where ($6::text is null
         or strpos(${lowered('id')}, ${lowered('$6')}) > 0
         or strpos(${lowered('user_id')}, ${lowered('$6')}) > 0
         or $7::boolean and strpos(${lowered('email')}, ${lowered('$6')}) > 0)
       and ($8::text is null or role = $8)
       and ($9::text is null or status = $9)
     order by ${by('')}
     limit $2
   ) page on true
   order by ${by('page.')}`,
    // Without its values, the planner does not know that a page ends so early, and sorts all.
    { inOrder: true },
  );

const joinedAt = (of: string): string => `coalesce(${of}joined_at, timestamptz '${NOT_JOINED}')`;
const latest = (of: string): string => `${joinedAt(of)} desc, ${of}id desc`;
const earliest = (of: string): string => `${joinedAt(of)}, ${of}id`;
const newest = (of: string): string => `${of}created_at desc, ${of}id desc`;

/** By role, of those whom `member_admin_idx` holds. */
const byRole = (of: string): string => `${of}role desc, ${newest(of)}`;

// $10: the role of the position; empty, if it is that of a plain member, who follow all others.
const ADMINS = rowsIn(
  `role <> 'member'
       and (role, created_at, id) < ($10::text, coalesce($3::timestamptz, 'infinity'), $4)`,
  byRole(''),
);
const PLAIN_MEMBERS = rowsIn(
  `role = 'member'
       and (created_at, id)
         < (case when $10::text = '' then $3::timestamptz else 'infinity' end, $4)`,
  newest(''),
);

// Plain members fill what the admins leave of the limit. With a limit of its own for each part, the
// range would not be a whole one: a page could hold rows from behind the place where the next page
// begins, or that place could be behind admins that were not read. The inner limit is for the
// planner, which cannot foresee the outer one.
const BY_ROLE = `with admins as materialized (
       ${ADMINS}
     )
     select *
     from admins
     union all
     (
       select *
       from (
         ${PLAIN_MEMBERS}
       ) plain
       limit ${MOST} - (select count(*) from admins)
     )`;

const SEARCHES = {
  newest: searchIn('', {
    rows: rowsIn(isAfter(BY_CREATION, ['$3', '$4']), newest('')),
    by: newest,
  }),
  // $4 is the address of the position. No two live members have the same one.
  address: searchIn('ByAddress', {
    rows: rowsIn(
      `(${lowered('email')}, created_at)
         > (${lowered('$4')}, coalesce($3::timestamptz, '-infinity'))`,
      lowered('email'),
    ),
    by: (of) => lowered(`${of}email`),
  }),
  joined: searchIn('ByJoining', {
    rows: rowsIn(isAfter([joinedAt(''), 'id'], ['$3', '$4']), latest('')),
    by: latest,
    at: joinedAt(''),
  }),
  joined_first: searchIn('ByJoiningFirst', {
    rows: rowsIn(
      `(${joinedAt('')}, id) > (coalesce($3::timestamptz, '-infinity'), $4)`,
      earliest(''),
    ),
    by: earliest,
    at: joinedAt(''),
  }),
  role: searchIn('ByRole', {
    rows: BY_ROLE,
    by: (of) => `${of}role = 'member', ${byRole(of)}`,
    id: `role || '|' || id`,
  }),
} satisfies Readonly<Record<Sort, unknown>>;

/** What a search is asked for. `byAddress`: whether addresses may be searched. */
export interface MemberSearch extends MemberFilters {
  readonly sort: Sort;
  readonly byAddress: boolean;
}

/**
 * Live members in an order, after `after`. In that by address, the id of `after` is the address
 * itself ({@link findAddress}).
 */
export function searchMembers(
  db: Db,
  teamId: string,
  { limit, after }: PageSlice,
  { sort, text, role, status, byAddress }: MemberSearch,
): Promise<SearchResult<FoundMember>> {
  const values = [text ?? null, byAddress, role ?? null, status ?? null];
  if (sort !== 'role')
    return search(db, teamId, { limit, after }, { list: SEARCHES[sort], values });
  const position = after && readRolePosition(after);
  const reached = position?.role ?? 'owner';
  return search(
    db,
    teamId,
    { limit, after: position },
    { list: SEARCHES.role, values: [...values, reached === 'member' ? '' : reached] },
  );
}

/** The address of a member, whether they have left or not; null if it is erased. */
export async function findAddress(
  db: Db,
  teamId: string,
  memberId: string,
): Promise<string | null> {
  const found = await db.prisma.member.findFirst({
    where: { teamId, id: memberId },
    select: { email: true },
  });
  return found?.email ?? null;
}

// The index of live addresses is unique, so this reads a row at most.
const FIND_BY_ADDRESS = statement<FoundMember>(
  'members.findByAddress',
  `select ${listed(FOUND)}
   from member
   where team_id = $1
     and ${lowered('email')} = ${lowered('$2')}
     and status <> 'ended'
     and ${isAfter(BY_CREATION, ['$3', '$4'])}`,
);

/** The live member with this address, in any case; none if they stand before `after`. */
export function findByAddress(
  db: Db,
  teamId: string,
  { after }: PageSlice,
  email: string,
): Promise<FoundMember[]> {
  return db.query(FIND_BY_ADDRESS, [teamId, email, ...positionValues(after)]);
}

const WHOLE = selectionOf('Member', FOUND);

/** The live member whose person, or who, has this id: rarely two. */
export async function findById(
  db: Db,
  teamId: string,
  { limit }: PageSlice,
  id: string,
): Promise<FoundMember[]> {
  const found = await db.prisma.member.findMany({
    where: { teamId, status: { not: 'ended' }, OR: [{ userId: id }, { id }] },
    select: WHOLE.select,
    take: limit,
  });
  return found.map((one) => asLiveMember(WHOLE.toRow(one)));
}

/** As many are counted as the team has seats, and so many of a team that has fewer. */
const COUNTED_MIN = 100_000;

const SEATS = statement<{ readonly seats: number; readonly used: number }>(
  'members.seats',
  `select t.seats,
     (
       select count(*)::int
       from (
         select
         from member
         where team_id = $1 and status <> 'ended'
         limit greatest(t.seats, ${COUNTED_MIN})::bigint + 1
       ) counted
     ) as used
   from team t
   where t.id = $1`,
);

/** The seats of the team, and how many of them members and invitations take. */
export async function readSeats(
  db: Db,
  teamId: string,
): Promise<{ readonly seats: number; readonly used: number }> {
  const row = await db.queryFirst(SEATS, [teamId]);
  if (!row) throw new Error('the team of the request does not exist');
  return row;
}

const NAME = selectionOf('Member', ['id', 'user_id', 'email']);

/** How members are called. Who has left is not among them. */
export async function findNames(
  db: Db,
  teamId: string,
  memberIds: readonly string[],
): Promise<RowOf<'Member', 'id' | 'user_id' | 'email'>[]> {
  const found = await db.prisma.member.findMany({
    where: { teamId, id: { in: [...memberIds] }, status: { not: 'ended' } },
    select: NAME.select,
  });
  return found.map(NAME.toRow);
}

/** More open assignments than anybody does. */
export const OPEN_COUNTED_MAX = 1_000;

const COUNT_OPEN = statement<{ readonly open: number }>(
  'members.countOpenAssignments',
  `select count(*)::int as open
   from (
     select
     from assignment
     where team_id = $1 and member_id = $2 and status = 'open'
     ${newestFirst(BY_CREATION, OPEN_COUNTED_MAX + 1)}
   ) counted`,
);

/** How many assignments of the member are open, one more than are counted at most. */
export async function countOpenAssignments(
  db: Db,
  teamId: string,
  memberId: string,
): Promise<number> {
  return (await db.queryFirst(COUNT_OPEN, [teamId, memberId]))?.open ?? 0;
}
