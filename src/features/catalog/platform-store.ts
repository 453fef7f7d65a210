import { statement, type Tx } from '../../db/client.ts';
import type { RowOf } from '../../db/rows.ts';
import type { EntryFacts } from './rules.ts';

const CHANGES = `kind = excluded.kind, name_de = excluded.name_de, name_en = excluded.name_en,
     icon = excluded.icon`;
const ENTRIES = `json_to_recordset($1::json) as e (
     id text, kind text, name_de text, name_en text, icon text
   )`;

const SAVE = statement(
  'catalog.saveEntries',
  `insert into catalog_entry (id, kind, name_de, name_en, icon)
   select e.*
   from ${ENTRIES}
   on conflict (id) do update
   set ${CHANGES}`,
);
const SAVE_OF_TEAM = statement(
  'catalog.saveTeamEntries',
  `insert into team_catalog_entry (team_id, id, kind, name_de, name_en, icon)
   select $2, e.*
   from ${ENTRIES}
   on conflict (team_id, id) do update
   set ${CHANGES}`,
);

/** Creates or replaces global entries. They must be sorted (`inOneOrder`). */
export function saveEntries(tx: Tx, entries: readonly EntryFacts[]): void {
  tx.send(SAVE, [JSON.stringify(entries)]);
}

/** Creates or replaces the team's own entries. They must be sorted (`inOneOrder`). */
export function saveTeamEntries(tx: Tx, teamId: string, entries: readonly EntryFacts[]): void {
  tx.send(SAVE_OF_TEAM, [JSON.stringify(entries), teamId]);
}

/** A forbidden combination; null: the rule holds for every entry of that dimension. */
export type RuleRow = RowOf<'CatalogRule'>;

const SAVE_RULES = statement(
  'catalog.saveRules',
  `insert into catalog_rule (id, situation_id, personality_id, industry_id)
   select r.*
   from json_to_recordset($1::json) as r (
     id text, situation_id text, personality_id text, industry_id text
   )
   order by r.situation_id, r.personality_id, r.industry_id
   on conflict do nothing`,
);

/** Adds the rules. Existing ones stay as they are. */
export function saveRules(tx: Tx, rules: readonly RuleRow[]): void {
  tx.send(SAVE_RULES, [JSON.stringify(rules)]);
}
