/** What a team may use of the catalog: its policies and its release. */
import type { CatalogKind } from '../../core/catalog-kinds.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import type { IdChange } from './rules.ts';
import { onlyRow } from './store.ts';

const LIST_BLOCKED = statement<{ entry_id: string }>(
  'team.listBlocked',
  `select entry_id
   from team_block
   where team_id = $1
   order by entry_id`,
);
const LIST_MEMBER_BLOCKED = statement<{ entry_id: string }>(
  'team.listMemberBlocked',
  `select entry_id
   from member_block
   where team_id = $1 and member_id = $2
   order by entry_id`,
);

/** Lists the ids that the team's policy blocks or, with a member id, the member's own policy. */
export async function listBlocked(
  db: Db,
  teamId: string,
  memberId: string | null,
): Promise<string[]> {
  const rows = memberId
    ? await db.query(LIST_MEMBER_BLOCKED, [teamId, memberId])
    : await db.query(LIST_BLOCKED, [teamId]);
  return rows.map((row) => row.entry_id);
}

/** What lists entries of the catalog for a team. */
type EntryTable = 'team_block' | 'catalog_release';

/** SQL: takes these entries out of the team's list. */
const takeOut = (table: EntryTable): string =>
  `delete from ${table}
   where team_id = $1 and entry_id = any ($2)`;
/** SQL: puts these entries into the team's list. */
const putIn = (table: EntryTable): string =>
  `insert into ${table} (team_id, entry_id)
   select $1, unnest($2::text[])`;

const UNBLOCK = statement('team.unblock', takeOut('team_block'));
const BLOCK = statement('team.block', putIn('team_block'));
const UNBLOCK_MEMBER = statement(
  'team.unblockMember',
  `delete from member_block
   where team_id = $1 and member_id = $2 and entry_id = any ($3)`,
);
const BLOCK_MEMBER = statement(
  'team.blockMember',
  `insert into member_block (team_id, member_id, entry_id)
   select $1, $2, unnest($3::text[])`,
);

/** Changes the team's policy or, with a member id, the member's own. Needs `lockTeam`. */
export function changeBlocked(
  tx: Tx,
  teamId: string,
  memberId: string | null,
  { added, removed }: IdChange,
): void {
  if (memberId === null) {
    tx.send(UNBLOCK, [teamId, removed]);
    tx.send(BLOCK, [teamId, added]);
    return;
  }
  tx.send(UNBLOCK_MEMBER, [teamId, memberId, removed]);
  tx.send(BLOCK_MEMBER, [teamId, memberId, added]);
}

const KNOWN_ENTRIES = statement<{ id: string }>(
  'team.knownEntries',
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
  return (await db.query(KNOWN_ENTRIES, [teamId, ids])).map((row) => row.id);
}

// Locked, because an entry that is deleted after this check would break the foreign key of its
// release. With the lock, the deletion waits and then removes the release, too.
const GLOBAL_ENTRIES = statement<{ id: string }>(
  'team.globalEntries',
  `select id
   from catalog_entry
   where id = any ($1)
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
  const row = onlyRow(await db.query(FIND_RELEASE, [teamId]));
  return { all: row.all_released, ids: row.ids };
}

const SET_ALL_RELEASED = statement(
  'team.setAllReleased',
  'update team set all_released = $2 where id = $1',
);
const WITHDRAW = statement('team.withdraw', takeOut('catalog_release'));
const RELEASE = statement('team.release', putIn('catalog_release'));

/** Changes the release of the team. Needs `lockTeam`. */
export function changeRelease(
  tx: Tx,
  teamId: string,
  all: boolean,
  { added, removed }: IdChange,
): void {
  tx.send(SET_ALL_RELEASED, [teamId, all]);
  tx.send(WITHDRAW, [teamId, removed]);
  tx.send(RELEASE, [teamId, added]);
}

/** A catalog entry and whether the team can use it. */
export interface CatalogRow {
  readonly id: string;
  readonly kind: CatalogKind;
  readonly name_de: string | null;
  readonly name_en: string | null;
  readonly icon: string | null;
  readonly own: boolean;
  readonly released: boolean;
  readonly blocked: boolean;
}

const LIST_CATALOG = statement<CatalogRow>(
  'team.listCatalog',
  `select e.id, e.kind, e.name_de, e.name_en, e.icon, e.own, e.released,
     exists (
       select
       from team_block b
       where b.team_id = $1 and b.entry_id = e.id
     ) as blocked
   from (
     select id, kind, name_de, name_en, icon, true as own, true as released
     from team_catalog_entry
     where team_id = $1
     union all
     select g.id, g.kind, g.name_de, g.name_en, g.icon, false,
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
