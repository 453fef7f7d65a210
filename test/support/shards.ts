// What a test needs of the database itself, wherever that has the rows: one server, or on Citus the
// nodes with the shards.
import { Client, type Pool } from 'pg';
import { manyTimes } from '../../src/db/citus/parts.ts';
import { knowsShards } from '../../src/db/citus/shards.ts';
import type { Statement } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { urlOfNode, type Host } from '../../src/db/database-url.ts';
import { shardTextOf } from './shard-texts.ts';

interface Place extends Host {
  /** Table → its name there. */
  readonly tables: Readonly<Record<string, string>>;
}

const PLACE = `
  select n.nodename as host, n.nodeport as port,
    json_object_agg(c.relname, shard_name(s.logicalrelid, s.shardid)) as tables
  from pg_dist_shard s
  join pg_class c on c.oid = s.logicalrelid and c.relnamespace = 'public'::regnamespace
  join pg_dist_placement p on p.shardid = s.shardid
  join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
  where s.shardminvalue is null
    or s.shardminvalue = (
      select shardminvalue
      from pg_dist_shard
      where shardid = get_shard_id_for_distribution_column('team', $1::text)
    )
  group by n.nodename, n.nodeport
  having bool_or(c.relname = 'team')`;

async function open(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Where the rows of the team are. undefined: here, since this is plain Postgres. */
async function findPlace(client: Client, teamId: string): Promise<Place | undefined> {
  const { rows } = await client.query(`select to_regclass('pg_dist_shard') as shards`);
  return rows[0].shards === null ? undefined : (await client.query<Place>(PLACE, [teamId])).rows[0];
}

/**
 * Opens the database where the rows of the team are. The tables have their usual names there, but
 * hold the rows of one shard. End the client.
 */
export async function openWhereTeamIs(url: string, teamId: string): Promise<Client> {
  const client = await open(url);
  const place = await findPlace(client, teamId);
  if (!place) return client;
  await client.end();
  const own = await open(urlOfNode(url, place));
  await own.query('set citus.enable_ddl_propagation = off');
  for (const [table, name] of Object.entries(place.tables))
    await own.query(`create temp view ${table} as select * from public.${name}`);
  return own;
}

interface Asked {
  readonly text: string;
  readonly values: readonly string[];
}

/** A transaction where the rows of one team are. */
export interface TeamTransaction {
  readonly client: Client;
  /**
   * Returns the text of the statement there, and its values, as SQL. null: shards have another one
   * instead.
   */
  readonly textOf: (what: Statement<unknown>, values: readonly string[]) => Asked | null;
  /** How statements are planned there: Citus gives the nodes the values of each call. */
  readonly mode: 'force_generic_plan' | 'force_custom_plan';
}

/**
 * Runs `work` where the rows of the team are, and undoes it. Unlike `openWhereTeamIs` the tables
 * are the shard's own ones, so that statements may name places of rows.
 */
export async function inRolledBack<T>(
  url: string,
  teamId: string,
  work: (transaction: TeamTransaction) => Promise<T>,
): Promise<T> {
  const first = await open(url);
  const place = await findPlace(first, teamId);
  const client = place ? await open(urlOfNode(url, place)) : first;
  try {
    await client.query('begin');
    if (place) await takeUsualNames(client, place.tables);
    return await work({
      client,
      textOf: (what, values) => (place ? ofTeam(teamId, what, values) : { ...what, values }),
      mode: place ? 'force_custom_plan' : 'force_generic_plan',
    });
  } finally {
    await client.end();
    if (client !== first) await first.end();
  }
}

function ofTeam(teamId: string, what: Statement<unknown>, values: readonly string[]): Asked | null {
  const own = shardTextOf(what);
  if (!own) return null;
  if (own.columns) return { text: own.text, values };
  const teams = manyTimes([teamId]).map((team) => `'${team}'`);
  return { text: own.text, values: [...values, `array[${teams.join(', ')}]`] };
}

async function takeUsualNames(client: Client, tables: Place['tables']): Promise<void> {
  await client.query('set local citus.enable_ddl_propagation = off');
  await client.query('create schema shard_of_team');
  await client.query('set local search_path = shard_of_team, public');
  for (const [table, name] of Object.entries(tables)) {
    await client.query(`alter table public.${name} set schema shard_of_team`);
    await client.query(`alter table shard_of_team.${name} rename to ${table}`);
  }
}

/**
 * Returns the tables that every node of a cluster has a copy of. Citus lets one transaction write
 * such a table at a time, and takes a locked row for a write.
 */
export async function listCopiedTables(db: Pick<Database, 'query' | 'pool'>): Promise<string[]> {
  if (!(await knowsShards(db))) return [];
  const { rows } = await db.pool.query<{ name: string }>(
    `select logicalrelid::text as name from pg_dist_partition where partmethod = 'n'`,
  );
  return rows.map(({ name }) => name);
}

/** Makes or drops triggers of the test's own. Citus has them in shards only, if it is told so. */
export async function changeTriggers(
  { databaseUrl }: { readonly databaseUrl: string },
  ...statements: readonly string[]
): Promise<void> {
  const client = await open(databaseUrl);
  try {
    // Plain Postgres takes the setting as one that an extension may have.
    await client.query('set citus.enable_unsafe_triggers = on');
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/**
 * Runs statements in one transaction, without foreign keys and triggers, so that their order does
 * not matter.
 */
export async function writeInAnyOrder(pool: Pool, statements: readonly string[]): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    // Else Citus would not tell the nodes. Plain Postgres takes it as a setting of an extension.
    await client.query(`set local citus.propagate_set_commands = 'local'`);
    await client.query('set local session_replication_role = replica');
    await client.query(statements.join(';\n'));
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}
