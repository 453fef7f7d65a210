/**
 * The text of a statement for some teams of one shard: each table of teams in it is limited to
 * them, since Citus knows the shard by such a condition only.
 *
 * It is made for the SQL of this project, not for all of SQL, and throws where it would not know
 * (an `or` or an outer join at a table of teams). test/contract/tenancy.test.ts compares each text
 * with what Postgres' own parser finds.
 */
import { TENANT_TABLE_NAMES } from '../tenant-tables.ts';

/** How a statement is asked about some teams of one shard. */
export interface ShardText {
  readonly text: string;
  /**
   * The parameters of the rows that the statement is given, as `unnest($1::text[], …) as n
   * (team_id, …)`. The first one has the teams. null: the teams are one more value, the last.
   */
  readonly columns: readonly [number, ...number[]] | null;
}

const TABLES: ReadonlySet<string> = new Set(TENANT_TABLE_NAMES);
const TOKEN = /--[^\n]*|'(?:[^']|'')*'|\$\d+|[a-z_][\w.]*|[(),=]/gi;
const GIVEN_ROWS = /unnest\(([^()]*)\)\s+as\s+\w+\s*\(\s*team_id\b/;
/** What may follow a table, and so is not its alias. */
const NO_ALIAS = new Set(['set', 'on', 'using', 'join', 'left', 'right', 'full', 'inner', 'cross']);
/** What ends FROM and WHERE. `on` does so before `conflict`. */
const SET_OPERATIONS = new Set(['union', 'except', 'intersect']);
const CLAUSES = ['group', 'having', 'window', 'order', 'limit', 'offset', 'for', 'returning'];
const ENDS = new Set([...CLAUSES, ...SET_OPERATIONS]);
const VERBS = new Set(['select', 'insert', 'update', 'delete']);

/** One level of parentheses, or of CASE. */
interface Level {
  verb: string | null;
  part: 'before' | 'from' | 'where' | 'after';
  /** Aliases of tables whose team is not known. */
  aliases: string[];
  /** The place right behind WHERE; null without one. */
  where: number | null;
  hasOr: boolean;
}

interface Insertion {
  readonly at: number;
  readonly isWhere: boolean;
  readonly aliases: readonly string[];
}

/** Returns null for a statement without a table of teams that it may read or write of all teams. */
export function toShardText(text: string): ShardText | null {
  const insertions = findPlaces(text);
  if (insertions.length === 0) return null;
  const columns = columnsOfRows(text);
  const last = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  const parameter = `$${columns ? columns[0] : last + 1}`;
  return { text: insert(text, insertions, parameter), columns };
}

function columnsOfRows(text: string): ShardText['columns'] {
  const list = GIVEN_ROWS.exec(text)?.[1] ?? '';
  const [first, ...others] = [...list.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number));
  return first === undefined ? null : [first, ...others];
}

/**
 * The other collation keeps Postgres from using the condition with an index: without statistics it
 * would read all rows of the teams where the plain statement looks up a few by their key.
 */
function insert(text: string, insertions: readonly Insertion[], parameter: string): string {
  let result = text;
  for (const { at, isWhere, aliases } of insertions.toSorted((a, b) => b.at - a.at)) {
    const conditions = aliases.map(
      (alias) => `${alias}.team_id collate "C" = any (${parameter}::text[])`,
    );
    const condition = conditions.join(' and ');
    const added = isWhere ? ` ${condition} and` : ` where ${condition} `;
    result = result.slice(0, at) + added + result.slice(at);
  }
  return result;
}

/** Finds where conditions belong: behind each WHERE, or where one would be. */
function findPlaces(text: string): Insertion[] {
  const tokens = [...text.matchAll(TOKEN)]
    .map(({ 0: word, index }) => ({ word: word.toLowerCase(), at: index }))
    .filter(({ word }) => !word.startsWith('--'));
  const found: Insertion[] = [];
  const levels: Level[] = [newLevel()];
  const end = (level: Level, at: number): void => {
    if (level.aliases.length > 0) {
      if (level.hasOr) throw new Error(`put the alternatives in parentheses: ${text}`);
      const { where, aliases } = level;
      found.push({ at: where ?? at, isWhere: where !== null, aliases });
    }
    Object.assign(level, newLevel(), { verb: level.verb, part: 'after' });
  };
  tokens.forEach(({ word, at }, place) => {
    const level = levels.at(-1) as Level;
    const next = tokens.slice(place + 1, place + 4).map((token) => token.word);
    const before = tokens[place - 1]?.word ?? '';
    if (word === '(' || word === 'case') levels.push(newLevel());
    else if (word === ')' || word === 'end') {
      end(level, at);
      levels.pop();
    } else if (isEnd(word, next, level)) {
      end(level, at);
      if (SET_OPERATIONS.has(word)) Object.assign(level, newLevel());
    } else if (level.part === 'before' && VERBS.has(word)) {
      // `insert into … select`
      level.verb = word;
      if (word === 'update') enter(level, next, before);
    } else if (opensTable(word, before, level)) enter(level, next, before);
    else if (word === 'where' && level.part !== 'after') {
      level.part = 'where';
      level.where = at + word.length;
    } else if (word === 'or' && level.part === 'where') level.hasOr = true;
    else if (level.part === 'where' && next[0] === '=' && next[1]?.startsWith('$'))
      level.aliases = level.aliases.filter((alias) => !isTeamOf(word, alias, level));
  });
  end(levels[0] as Level, text.length);
  return found;
}

function newLevel(): Level {
  return { verb: null, part: 'before', aliases: [], where: null, hasOr: false };
}

function isEnd(word: string, next: readonly string[], { part }: Level): boolean {
  if (part !== 'from' && part !== 'where') return false;
  return ENDS.has(word) || (word === 'on' && next[0] === 'conflict');
}

/** Whether a table may follow. `is distinct from` and `extract(… from …)` name none. */
function opensTable(word: string, before: string, { verb, part }: Level): boolean {
  if (word === 'from') return verb !== null && verb !== 'insert' && before !== 'distinct';
  if (part !== 'from') return false;
  return word === 'join' || word === 'using' || word === ',';
}

/** Notes the table that follows. */
function enter(level: Level, [table = '', ...next]: readonly string[], before: string): void {
  level.part = 'from';
  if (!TABLES.has(table)) return;
  if (['left', 'right', 'full', 'outer'].includes(before))
    throw new Error(`join ${table} in a lateral sub-select, where it can be limited to teams`);
  const [first = '', second = ''] = next;
  const alias = first === 'as' ? second : first;
  const isAlias = /^[a-z]\w*$/.test(alias) && !isReserved(alias);
  level.aliases.push(isAlias ? alias : table);
}

function isReserved(word: string): boolean {
  return NO_ALIAS.has(word) || ENDS.has(word) || word === 'where';
}

function isTeamOf(column: string, alias: string, { aliases }: Level): boolean {
  return column === `${alias}.team_id` || (column === 'team_id' && aliases.length === 1);
}
