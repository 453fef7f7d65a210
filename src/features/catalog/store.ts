import { statement, type Db } from '../../db/client.ts';
import { columnsOf, listed } from '../../db/rows.ts';
import type { EntryFacts } from './rules.ts';

/** The columns of an entry, whether it is global or a team's own. */
export const ENTRY = columnsOf('CatalogEntry');

/** The entries that the team may use, in no order. */
export const listVisibleEntries = statement<EntryFacts>(
  'catalog.list',
  `select ${listed(ENTRY, 'e.')}
   from (
     select ${listed(ENTRY)}
     from team_catalog_entry
     where team_id = $1
     union all
     select ${listed(ENTRY, 'g.')}
     from catalog_entry g
     where (
         (select t.all_released from team t where t.id = $1)
         or exists (
           select from catalog_release r
           where r.team_id = $1 and r.entry_id = g.id
         )
       )
       and not exists (
         select from team_catalog_entry o
         where o.team_id = $1 and o.id = g.id
       )
   ) e
   where not exists (
     select from team_block b
     where b.team_id = $1 and b.entry_id = e.id
   )`,
).lists<[db: Db, teamId: string]>();
