import type { PageSlice, SearchResult } from '../../core/page.ts';
import { statement, type Db } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { listed, selectionOf, type RowOf } from '../../db/rows.ts';
import { IN_TIME, search, type FoundRow } from '../../db/search.ts';
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

// An index by parts of texts would need an extension of Postgres at every node. A range of the
// list's own index is enough for teams of any likely size, and bounds the work for any other.
const SEARCH = statement<FoundRow<FoundMember>>(
  'members.search',
  `with range as materialized (
     select ${listed(FOUND)}
     from member
     where team_id = $1
       and status <> 'ended'
       and ${IN_TIME}
     ${newestFirst(BY_CREATION)}
     limit case
       when $7::text is null and $9::text is null and $10::text is null then $2::int
       else ${READ_MAX}
     end
   )
   select ${listed(FOUND, 'page.')}, last.reached_at, last.reached_id
   from (values (1)) one
   left join (
     select created_at as reached_at, id as reached_id
     from range
     ${newestFirst(BY_CREATION)}
     offset ${READ_MAX - 1}
   ) last on true
   left join (
     select *
     from range
     where ($7::text is null
         or strpos(lower(id), lower($7)) > 0
         or strpos(lower(user_id), lower($7)) > 0
         or $8::boolean and strpos(lower(email), lower($7)) > 0)
       and ($9::text is null or role = $9)
       and ($10::text is null or status = $10)
     ${newestFirst(BY_CREATION, '$2')}
   ) page on true
   ${newestFirst(['page.created_at', 'page.id'])}`,
);

/** Live members, newest first, after `after`. `byAddress`: whether addresses may be searched. */
export function searchMembers(
  db: Db,
  teamId: string,
  slice: PageSlice,
  { text, role, status, byAddress }: MemberFilters & { readonly byAddress: boolean },
): Promise<SearchResult<FoundMember>> {
  const values = [text ?? null, byAddress, role ?? null, status ?? null];
  return search(db, teamId, slice, { list: SEARCH, values });
}

// The index of live addresses is unique, so this reads a row at most.
const FIND_BY_ADDRESS = statement<MemberRow>(
  'members.findByAddress',
  `select ${listed(SHOWN)}
   from member
   where team_id = $1
     and lower(email) = lower($2)
     and status <> 'ended'
     and ${isAfter(BY_CREATION, ['$3', '$4'])}`,
);

/** The live member with this address, in any case; none if they stand before `after`. */
export function findByAddress(
  db: Db,
  teamId: string,
  { after }: PageSlice,
  email: string,
): Promise<MemberRow[]> {
  return db.query(FIND_BY_ADDRESS, [teamId, email, ...positionValues(after)]);
}

/** More seats than any plan has. */
const COUNTED_MAX = 100_000;

const SEATS = statement<{ readonly seats: number; readonly used: number }>(
  'members.seats',
  `select t.seats,
     (
       select count(*)::int
       from (
         select
         from member
         where team_id = $1 and status <> 'ended'
         limit ${COUNTED_MAX}
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

/** How many assignments of the member are open, one more than are counted at most. */
export function countOpenAssignments(db: Db, teamId: string, memberId: string): Promise<number> {
  return db.prisma.assignment.count({
    where: { teamId, memberId, status: 'open' },
    take: OPEN_COUNTED_MAX + 1,
  });
}
