import { statement, type Db } from '../../db/client.ts';
import type { EntryFacts } from './rules.ts';

const LIST = statement<EntryFacts>(
  'catalog.list',
  `select e.kind, e.id, e.name_de, e.name_en, e.icon
   from (
     select kind, id, name_de, name_en, icon
     from team_catalog_entry
     where team_id = $1
     union all
     select g.kind, g.id, g.name_de, g.name_en, g.icon
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
);

/** The entries that the team may use, in no order. */
export function listVisibleEntries(db: Db, teamId: string): Promise<EntryFacts[]> {
  return db.query(LIST, [teamId]);
}
