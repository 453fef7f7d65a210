/**
 * Makes the tables distributed ones where the database is Citus. All rows of a team are in one
 * shard, since every tenant table is distributed by the team and co-located with `team`. What all
 * teams read is on every node. Everything else stays on the coordinator.
 */
import type { ClientBase } from 'pg';
import { isDeadlock } from '../errors.ts';
import { KEYS, TENANT_TABLE_NAMES } from '../tenant-tables.ts';

/** Tables that every node has a copy of, because statements of all teams read them. */
const REFERENCE_TABLES = ['catalog_entry', 'catalog_rule', KEYS] as const;

/** Functions that statements call at the node that has the rows. */
const FUNCTIONS_OF_NODES = ['discard_plans()'] as const;

/** What distributes a table. */
interface Plan {
  readonly table: string;
  readonly sql: string;
}

/** In this order: tables are co-located with one that is distributed already. */
const PLANS: readonly Plan[] = [
  ...REFERENCE_TABLES.map((table) => ({
    table,
    sql: `SELECT create_reference_table('${table}')`,
  })),
  { table: 'team', sql: distributionText('team', 'id', 'none') },
  ...TENANT_TABLE_NAMES.map((table) => ({
    table,
    sql: distributionText(table, 'team_id', 'team'),
  })),
  // Counters of strangers have no team. Each address has a place of its own.
  { table: 'rate_counter', sql: distributionText('rate_counter', 'bucket', 'none') },
];

function distributionText(table: string, column: string, colocation: string): string {
  const options = `colocate_with => '${colocation}'`;
  return `SELECT create_distributed_table('${table}', '${column}', ${options})`;
}

/**
 * Keeps the foreign keys that are added again when all tables are distributed. As long as it
 * exists, the distribution is not complete.
 */
export const UNFINISHED = 'unfinished_distribution';

/** How often a transaction is tried that ends in deadlocks; each takes a second to be found. */
const ATTEMPTS = 30;

/** What a database is. */
type Kind = 'plain' | 'undistributed' | 'unfinished' | 'distributed';

/** Refuses, with what to do, a database that `--distribute` does not fit. */
export async function checkDistribution(client: ClientBase, isWanted: boolean): Promise<void> {
  const kind = await readKind(client);
  if (kind === 'undistributed' && !isWanted)
    throw new Error(
      'The database has the extension citus, but its tables are not distributed. Stop all API ' +
        'processes and workers, then run "npm run migrate -- --distribute" once. It distributes ' +
        'the tables by team, and their rows come along.',
    );
  if (kind === 'plain' && isWanted)
    throw new Error(
      '--distribute needs the extension citus in this database. Run "CREATE EXTENSION citus" on ' +
        'every node first, or leave --distribute out.',
    );
  if (kind !== 'plain') await checkCluster(client);
  if (kind === 'undistributed') await checkWriteAheadLogs(client);
}

/**
 * Distributes the tables that are not distributed yet. Each table is a transaction of its own, so
 * after an interruption the next migration goes on with the rest. Does nothing on plain Postgres.
 */
export async function distribute(
  client: ClientBase,
  onTable: (table: string) => void = () => undefined,
): Promise<void> {
  const kind = await readKind(client);
  if (kind === 'plain') return;
  if (kind !== 'distributed') await distributeAll(client, kind, onTable);
  await logTables(client);
  await distributeFunctions(client);
}

/** Creates functions on every node, those too that are added later, unless that is done. */
async function distributeFunctions(client: ClientBase): Promise<void> {
  await client.query(
    `SELECT create_distributed_function(name)
     FROM unnest($1::regprocedure[]) AS name
     WHERE NOT EXISTS (
       SELECT
       FROM pg_dist_object
       WHERE classid = 'pg_proc'::regclass AND objid = name
     )`,
    [FUNCTIONS_OF_NODES],
  );
}

async function distributeAll(
  client: ClientBase,
  kind: 'undistributed' | 'unfinished',
  onTable: (table: string) => void,
): Promise<void> {
  if (kind === 'undistributed') await setForeignKeysAside(client);
  const { rows } = await client.query<{ name: string }>(
    'SELECT logicalrelid::text AS name FROM pg_dist_partition',
  );
  const done = new Set(rows.map(({ name }) => name));
  for (const plan of PLANS.filter(({ table }) => !done.has(table))) {
    await distributeTable(client, plan);
    onTable(plan.table);
  }
  await restoreForeignKeys(client);
}

async function readKind(client: ClientBase): Promise<Kind> {
  const [known] = (
    await client.query<{ citus: boolean; unfinished: boolean }>(
      `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS citus,
         to_regclass('public.${UNFINISHED}') IS NOT NULL AS unfinished`,
    )
  ).rows;
  if (!known?.citus) return 'plain';
  if (known.unfinished) return 'unfinished';
  const { rowCount } = await client.query(
    `SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('public.team')`,
  );
  return rowCount ? 'distributed' : 'undistributed';
}

/** The reference tables need the coordinator among the nodes, and only it can distribute tables. */
async function checkCluster(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ here: number; has_coordinator: boolean; workers: number }>(
    `SELECT (SELECT groupid FROM pg_dist_local_group) AS here,
       coalesce(bool_or(groupid = 0), false) AS has_coordinator,
       (count(*) FILTER (WHERE shouldhaveshards))::int AS workers
     FROM pg_dist_node
     WHERE noderole = 'primary' AND isactive`,
  );
  const [cluster] = rows;
  if (cluster?.here !== 0)
    throw new Error('DATABASE_URL leads to a worker node of Citus. Migrate on the coordinator.');
  if (!cluster.has_coordinator)
    throw new Error(
      'Citus does not know its coordinator, so tables cannot be on every node. Run ' +
        `"SELECT citus_set_coordinator_host('host', port)" on it first.`,
    );
  if (cluster.workers === 0)
    throw new Error(
      `Citus has no node for the rows. Run "SELECT citus_add_node('host', port)" for each worker.`,
    );
}

/** A shard moves by logical replication. Otherwise its teams could not write meanwhile. */
async function checkWriteAheadLogs(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ node: string }>(
    `SELECT nodename || ':' || nodeport AS node
     FROM run_command_on_all_nodes('SHOW wal_level') AS setting
     JOIN pg_dist_node USING (nodeid)
     WHERE shouldhaveshards AND setting.result IS DISTINCT FROM 'logical'
     ORDER BY node`,
  );
  const nodes = rows.map(({ node }) => node).join(', ');
  if (nodes !== '')
    throw new Error(
      `Set wal_level = logical and restart these nodes: ${nodes}. Citus ` +
        'needs it to move rows to other nodes while their teams go on writing.',
    );
}

/**
 * Logs the counters, which are unlogged on plain Postgres: only what is logged can move while it
 * is written. Does nothing if that is done.
 */
async function logTables(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ table: string }>(
    `SELECT logicalrelid::text AS "table"
     FROM pg_dist_partition
     JOIN pg_class ON pg_class.oid = logicalrelid
     WHERE relpersistence = 'u'`,
  );
  for (const { table } of rows) await client.query(`ALTER TABLE ${table} SET LOGGED`);
}

/**
 * Drops the foreign keys, which Citus does not accept while only some tables are distributed, and
 * keeps their definitions.
 */
async function setForeignKeysAside(client: ClientBase): Promise<void> {
  await inTransaction(client, async () => {
    await client.query(
      `CREATE TABLE ${UNFINISHED} AS
       SELECT conrelid::regclass::text AS "table", conname::text AS name,
         pg_get_constraintdef(oid) AS definition
       FROM pg_constraint
       WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND conparentid = 0`,
    );
    await client.query(
      `DO $$
       DECLARE
         gone record;
       BEGIN
         FOR gone IN SELECT "table", name FROM ${UNFINISHED} LOOP
           EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', gone."table", gone.name);
         END LOOP;
       END
       $$`,
    );
  });
}

async function distributeTable(client: ClientBase, { table, sql }: Plan): Promise<void> {
  await inTransaction(client, async () => {
    await client.query(sql);
    // The rows are in the shards now; their copies here would never be erased.
    await client.query(`SELECT truncate_local_data_after_distributing_table('${table}')`);
  });
}

async function restoreForeignKeys(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ table: string; name: string; definition: string }>(
    `SELECT "table", name, definition
     FROM ${UNFINISHED} u
     WHERE NOT EXISTS (
       SELECT
       FROM pg_constraint c
       WHERE c.conname = u.name AND c.conrelid = u."table"::regclass
     )
     ORDER BY "table", name`,
  );
  for (const { table, name, definition } of rows)
    await inTransaction(client, async () => {
      await client.query(`ALTER TABLE ${table} ADD CONSTRAINT "${name}" ${definition}`);
    });
  await client.query(`DROP TABLE ${UNFINISHED}`);
}

/**
 * Runs the work in a transaction, and again if it was the victim of a deadlock: it locks whole
 * tables, and processes that nobody has stopped write to them in another order.
 */
async function inTransaction(client: ClientBase, work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    await client.query('BEGIN');
    try {
      await work();
      await client.query('COMMIT');
      return;
    } catch (error) {
      await client.query('ROLLBACK');
      if (!isDeadlock(error) || attempt === ATTEMPTS) throw error;
    }
  }
}
