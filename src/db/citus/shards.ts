/**
 * A distributed database (Citus) has the rows of the same teams together: the n-th shard of each
 * table is at one node. Plain Postgres is one shard, the whole database.
 */
import type { Db } from '../client.ts';
import { statement } from '../statement.ts';

/** The n-th shard of each table of the delivery loop. */
export interface Shard {
  /** Of the shard of `webhook_delivery`. A move keeps it, a split makes others. */
  readonly id: string;
  /** Where its rows are. */
  readonly node: { readonly host: string; readonly port: number };
  /** Table → its name in this shard. */
  readonly tables: Readonly<Record<string, string>>;
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
