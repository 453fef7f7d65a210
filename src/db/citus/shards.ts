/**
 * A distributed database (Citus) has the rows of the same teams together: the n-th shard of each
 * table is at one node. Most of the service need not know that. The delivery loop works for many
 * teams at once, so there is a loop for each shard:
 *
 *  * What it looks for, it reads in the shard's own tables, at their node (`readsShard`). That is
 *    only a hint: nothing is written there.
 *  * What it does, it does through Citus, which enters by the same node. The teams that the hint
 *    has found lead every table of the statement to the one shard (`ofTeams`).
 *
 * Plain Postgres is one shard, the whole database, and its statements find their teams themselves.
 */
import type { Db } from '../client.ts';
import type { Shard } from '../shard.ts';
import { statement, type Statement } from '../statement.ts';

/** What a hint finds. */
export interface TeamRow {
  readonly team_id: string;
}

interface ShardRow {
  readonly id: string;
  readonly host: string;
  readonly port: number;
  readonly tables: Readonly<Record<string, string>>;
}

// The table that tells more exists only with the extension.
const IS_CITUS = statement<{ readonly is_citus: boolean }>(
  'shards.isCitus',
  `select exists (
     select
     from pg_extension
     where extname = 'citus'
   ) as is_citus`,
);

const IS_COORDINATOR = statement<{ readonly is_coordinator: boolean }>(
  'shards.isCoordinator',
  'select groupid = 0 as is_coordinator from pg_dist_local_group',
);

const IS_DISTRIBUTED = statement<{ readonly is_distributed: boolean }>(
  'shards.isDistributed',
  `select exists (
     select
     from pg_dist_partition
     where logicalrelid = 'team'::regclass
   ) as is_distributed`,
);

// The shards of the tables that are together have the same range of hashes.
const LIST = statement<ShardRow>(
  'shards.list',
  `select max(s.shardid) filter (where s.logicalrelid = 'webhook_delivery'::regclass)::text as id,
     n.nodename as host, n.nodeport as port,
     json_object_agg(s.logicalrelid::text, shard_name(s.logicalrelid, s.shardid)) as tables
   from pg_dist_shard s
   join pg_dist_placement p on p.shardid = s.shardid
   join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
   where s.logicalrelid in (
     'event'::regclass, 'event_in_hand'::regclass, 'webhook_endpoint'::regclass,
     'webhook_delivery'::regclass
   )
   group by n.nodename, n.nodeport, s.shardminvalue
   having count(*) = 4
   order by n.nodename, n.nodeport, s.shardminvalue`,
);

async function isCitus(db: Pick<Db, 'query'>): Promise<boolean> {
  return (await db.query(IS_CITUS, []))[0]?.is_citus === true;
}

/** Whether the database leads to a node that is not the coordinator, where locks are not known. */
export async function isOtherNode(db: Pick<Db, 'query'>): Promise<boolean> {
  if (!(await isCitus(db))) return false;
  return (await db.query(IS_COORDINATOR, []))[0]?.is_coordinator === false;
}

/** Whether the teams are at several nodes. */
export async function isDistributed(db: Pick<Db, 'query'>): Promise<boolean> {
  if (!(await isCitus(db))) return false;
  return (await db.query(IS_DISTRIBUTED, []))[0]?.is_distributed === true;
}

/** Returns the shards of a distributed database, as any of its nodes knows them. */
export async function listShards(db: Pick<Db, 'query'>): Promise<Shard[]> {
  const rows = await db.query(LIST, []);
  return rows.map(({ id, host, port, tables }) => ({ id, node: { host, port }, tables }));
}

/** Returns the teams of the rows, each once. */
export function teamsOf(rows: readonly TeamRow[]): string[] {
  return [...new Set(rows.map((row) => row.team_id))];
}

export interface Question<Row> {
  readonly what: Statement<Row>;
  readonly values: readonly unknown[];
}

/**
 * Runs a statement that finds the teams that it is about. On a shard, `hint` finds them before, and
 * they are the statement's last value.
 */
export async function askTeams<Row>(
  db: Db,
  { what, values }: Question<Row>,
  hint: Question<TeamRow>,
): Promise<Row[]> {
  if (!db.shard) return db.query(what, values);
  const teams = teamsOf(await db.query(hint.what, hint.values));
  return teams.length === 0 ? [] : db.query(what, [...values, teams]);
}

const distributed = new WeakMap<Pick<Db, 'query'>, boolean>();

/** `isDistributed`, asked once of each database: a process ends when it changes. */
export async function knowsShards(db: Pick<Db, 'query'>): Promise<boolean> {
  const known = distributed.get(db) ?? (await isDistributed(db));
  distributed.set(db, known);
  return known;
}

const SHARDS_OF = statement<{ readonly team_id: string; readonly shard: string }>(
  'shards.ofTeams',
  `select team_id, get_shard_id_for_distribution_column('team', team_id) as shard
   from unnest($1::text[]) as given (team_id)`,
);

/** Returns the teams of a distributed database, those of one shard together. */
export async function groupByShard(
  db: Pick<Db, 'query'>,
  teams: readonly string[],
): Promise<string[][]> {
  const rows = await db.query(SHARDS_OF, [[...new Set(teams)]]);
  const groups = Map.groupBy(rows, ({ shard }) => shard);
  return [...groups.values()].map((group) => group.map(({ team_id }) => team_id));
}

const forTeams = new Map<Statement<unknown>, Statement<unknown>>();

/**
 * The statement as it is for some teams of one shard, which are its last value (`ofTeams`). One
 * without such a place is the same everywhere.
 */
export function ofShard<Row>(what: Statement<Row>): Statement<Row> {
  const { name, shardText } = what;
  if (shardText === null) return what;
  const made = forTeams.get(what) ?? { ...what, name: `${name}.shard`, text: shardText };
  forTeams.set(what, made);
  return made as Statement<Row>;
}

/** Runs a statement for some teams of one shard. null: for all teams of plain Postgres. */
export function askOfTeams<Row>(
  db: Pick<Db, 'query'>,
  { what, values }: Question<Row>,
  teams: readonly string[] | null,
): Promise<Row[]> {
  return teams ? db.query(ofShard(what), [...values, teams]) : db.query(what, values);
}

/** Without statistics the planner takes a table to have 200 teams. */
const MANY_NAMES = 300;

/**
 * Returns the teams many times, for a statement that finds rows by their age. Without statistics
 * the planner takes a short list for a few rows, and would read and sort all rows of the teams.
 */
export function manyTimes(teams: readonly string[]): string[] {
  const times = Math.ceil(MANY_NAMES / Math.max(teams.length, 1));
  return Array.from({ length: times }, () => teams).flat();
}

/**
 * Runs a statement about rows of many teams. On a distributed database it runs once for each shard
 * that has some of them.
 */
export async function askForRows<Given, Row>(
  db: Pick<Db, 'query'>,
  what: Statement<Row>,
  given: {
    readonly rows: readonly Given[];
    readonly teamOf: (row: Given) => string;
    readonly valuesOf: (rows: readonly Given[]) => readonly unknown[];
  },
): Promise<Row[]> {
  const { rows, teamOf, valuesOf } = given;
  if (!(await knowsShards(db))) return db.query(what, valuesOf(rows));
  const groups = await groupByShard(db, rows.map(teamOf));
  const found = await Promise.all(
    groups.map((teams) => {
      const own = rows.filter((row) => teams.includes(teamOf(row)));
      return askOfTeams(db, { what, values: valuesOf(own) }, teams);
    }),
  );
  return found.flat();
}
