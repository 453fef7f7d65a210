import { statement, type Tx } from '../../db/client.ts';
import { columnsOf, listed, type RowOf } from '../../db/rows.ts';
import type { EntryFacts } from './rules.ts';
import { ENTRY } from './store.ts';

const CHANGES = columnsOf('CatalogEntry', 'id')
  .map((name) => `${name} = excluded.${name}`)
  .join(', ');
const ENTRIES = `select ${listed(ENTRY)}
   from json_populate_recordset(null::catalog_entry, $1::json)`;

const SAVE = statement(
  'catalog.saveEntries',
  `insert into catalog_entry (${listed(ENTRY)})
   ${ENTRIES}
   on conflict (id) do update
   set ${CHANGES}`,
);
const SAVE_OF_TEAM = statement(
  'catalog.saveTeamEntries',
  `insert into team_catalog_entry (team_id, ${listed(ENTRY)})
   select $2, e.*
   from (${ENTRIES}) e
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

const RULE = columnsOf('CatalogRule');

const SAVE_RULES = statement(
  'catalog.saveRules',
  `insert into catalog_rule (${listed(RULE)})
   select ${listed(RULE)}
   from json_populate_recordset(null::catalog_rule, $1::json)
   order by situation_id, personality_id, industry_id
   on conflict do nothing`,
);

/** Adds the rules. Existing ones stay as they are. */
export function saveRules(tx: Tx, rules: readonly RuleRow[]): void {
  tx.send(SAVE_RULES, [JSON.stringify(rules)]);
}
