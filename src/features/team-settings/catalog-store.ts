/** What a team may use of the catalog: its policies and its release. */
import type { CatalogKind } from '../../core/catalog-kinds.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { columnsOf, listed, type RowOf } from '../../db/rows.ts';
import type { IdChange } from './rules.ts';

/** Lists the ids that the team's policy blocks or, with a member id, the member's own policy. */
export async function listBlocked(
  db: Db,
  teamId: string,
  memberId: string | null,
): Promise<string[]> {
  const list = { select: { entryId: true }, orderBy: { entryId: 'asc' } } as const;
  const blocks = memberId
    ? await db.prisma.memberBlock.findMany({ where: { teamId, memberId }, ...list })
    : await db.prisma.teamBlock.findMany({ where: { teamId }, ...list });
  return blocks.map(({ entryId }) => entryId);
}

// A list has up to 5,000 ids. Prisma would send each as a parameter of its own, or two or three for
// a row that it inserts: to write such a statement stops the process for up to 0.2 s.
const UNBLOCK = statement(
  'team.unblock',
  `delete from team_block
   where team_id = $1 and entry_id = any ($2)`,
);
const BLOCK = statement(
  'team.block',
  `insert into team_block (team_id, entry_id)
   select $1, id
   from unnest($2::text[]) id`,
);
const UNBLOCK_FOR_MEMBER = statement(
  'team.unblockForMember',
  `delete from member_block
   where team_id = $1 and entry_id = any ($2) and member_id = $3`,
);
const BLOCK_FOR_MEMBER = statement(
  'team.blockForMember',
  `insert into member_block (team_id, member_id, entry_id)
   select $1, $3, id
   from unnest($2::text[]) id`,
);

/** Changes the team's policy or, with a member id, the member's own. Needs `lockTeam`. */
export async function changeBlocked(
  tx: Tx,
  teamId: string,
  memberId: string | null,
  { added, removed }: IdChange,
): Promise<void> {
  if (memberId === null) {
    if (removed.length > 0) await tx.query(UNBLOCK, [teamId, removed]);
    if (added.length > 0) await tx.query(BLOCK, [teamId, added]);
    return;
  }
  if (removed.length > 0) await tx.query(UNBLOCK_FOR_MEMBER, [teamId, removed, memberId]);
  if (added.length > 0) await tx.query(BLOCK_FOR_MEMBER, [teamId, added, memberId]);
}

const FIND_KNOWN = statement<{ id: string }>(
  'team.findKnownEntries',
  `select id
   from team_catalog_entry
   where team_id = $1 and id = any ($2)
   union
   select id
   from catalog_entry
   where id = any ($2)`,
);

/** Returns those of the ids that are own entries of the team or global ones. */
export async function findKnownEntries(
  db: Db,
  teamId: string,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  return (await db.query(FIND_KNOWN, [teamId, ids])).map(({ id }) => id);
}

// Locked, because an entry that is deleted after this check would break the foreign key of its
// release. With the lock, the deletion waits and then removes the release, too.
const GLOBAL_ENTRIES = statement<{ id: string }>(
  'team.globalEntries',
  `select id
   from catalog_entry
   where id = any ($1)
   order by id
   for key share`,
);

/** Returns those of the ids that are global entries, and locks these until the transaction ends. */
export async function findGlobalEntries(tx: Tx, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  return (await tx.query(GLOBAL_ENTRIES, [ids])).map((row) => row.id);
}

/** What of the global catalog is released: all entries, or those with these ids. */
export interface Release {
  readonly all: boolean;
  readonly ids: readonly string[];
}

const FIND_RELEASE = statement<{ all_released: boolean; ids: string[] }>(
  'team.findRelease',
  `select all_released,
     array(
       select entry_id
       from catalog_release
       where team_id = $1
       order by entry_id
     ) as ids
   from team
   where id = $1`,
);

/** The release of the team. */
export async function findRelease(db: Db, teamId: string): Promise<Release> {
  const row = await db.queryFirst(FIND_RELEASE, [teamId]);
  if (!row) throw new Error('the team of the request does not exist');
  return { all: row.all_released, ids: row.ids };
}

const WITHDRAW = statement(
  'team.withdrawEntries',
  `delete from catalog_release
   where team_id = $1 and entry_id = any ($2)`,
);
const RELEASE = statement(
  'team.releaseEntries',
  `insert into catalog_release (team_id, entry_id)
   select $1, id
   from unnest($2::text[]) id`,
);

/** Changes the release of the team. Needs `lockTeam`. */
export async function changeRelease(
  tx: Tx,
  teamId: string,
  all: boolean,
  { added, removed }: IdChange,
): Promise<void> {
  await tx.prisma.team.updateMany({ where: { id: teamId }, data: { allReleased: all } });
  if (removed.length > 0) await tx.query(WITHDRAW, [teamId, removed]);
  if (added.length > 0) await tx.query(RELEASE, [teamId, added]);
}

/** A catalog entry and whether the team can use it. */
export interface CatalogRow extends RowOf<'CatalogEntry'> {
  readonly kind: CatalogKind;
  readonly own: boolean;
  readonly released: boolean;
  readonly blocked: boolean;
}

const ENTRY = columnsOf('CatalogEntry');

const LIST_CATALOG = statement<CatalogRow>(
  'team.listCatalog',
  `select ${listed(ENTRY, 'e.')}, e.own, e.released,
     exists (
       select
       from team_block b
       where b.team_id = $1 and b.entry_id = e.id
     ) as blocked
   from (
     select ${listed(ENTRY)}, true as own, true as released
     from team_catalog_entry
     where team_id = $1
     union all
     select ${listed(ENTRY, 'g.')}, false,
       exists (
         select
         from team t
         where t.id = $1 and t.all_released
       ) or exists (
         select
         from catalog_release r
         where r.team_id = $1 and r.entry_id = g.id
       )
     from catalog_entry g
     where not exists (
       select
       from team_catalog_entry o
       where o.team_id = $1 and o.id = g.id
     )
   ) e
   where e.id > $3
     and ($4::text is null or e.kind = $4)
   order by e.id
   limit $2`,
);

/**
 * Lists the team's own entries and the global ones that they do not hide, by id, after `afterId`.
 */
export function listCatalog(
  db: Db,
  teamId: string,
  query: { readonly limit: number; readonly afterId: string; readonly kind: string | null },
): Promise<CatalogRow[]> {
  return db.query(LIST_CATALOG, [teamId, query.limit, query.afterId, query.kind]);
}
