import { sizeOf } from '../../core/terminal.ts';
import { slotOf } from '../../features/requests/rules.ts';
import { checkOfDatabase, ok, OUR_SCHEMAS, unknown, type Finding } from '../check.ts';
import type { Ask } from '../session.ts';
import { bytesInTheEnd, growingTables, type Growing } from '../sizing.ts';

interface Table {
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
}

const LARGEST = 5;
const DAY_S = 86_400;
/** A younger table says nothing about a day. */
const AGE_MIN_S = 3600;

// A partitioned table counts with its partitions.
const ROOT = `case when c.relispartition then pg_partition_root(c.oid)::regclass
    else c.oid::regclass end::text as name`;

const OF_THIS_NODE = `select ${ROOT},
    sum(s.n_live_tup)::float8 as rows, sum(pg_total_relation_size(c.oid))::float8 as bytes
  from pg_class c
  join pg_stat_user_tables s on s.relid = c.oid
  where c.relkind = 'r'
    and c.relnamespace::regnamespace::text in (${OUR_SCHEMAS})
  group by 1
  order by 3 desc`;

// A node that is away counts as empty.
const OF_ALL_NODES = `select ${ROOT}, 0::float8 as rows,
    sum(citus_total_relation_size(c.oid, fail_on_error => false))::float8 as bytes
  from pg_dist_partition p
  join pg_class c on c.oid = p.logicalrelid
  where c.relkind = 'r'
  group by 1
  order by 3 desc`;

/** Tables by size, and what becomes of those that grow with use. */
export const tables = checkOfDatabase('tables', 'Sizing', async (ask, { config }) => {
  const isCitus = await ask.isCitus();
  const all = await ask<Table>(isCitus ? OF_ALL_NODES : OF_THIS_NODE);
  const largest = all.slice(0, LARGEST).map(({ name, bytes }) => `${name} ${sizeOf(bytes)}`);
  if (largest.length === 0) return [unknown('there are no tables yet')];
  const sizes = ok(`the largest: ${largest.join(', ')}`);
  if (isCitus) return [sizes, unknown('the growth, which on Citus each node knows of its rows')];
  return [sizes, ...(await forecast(ask, all, growingTables(config?.requestLogDays)))];
});

async function forecast(
  ask: Ask,
  all: readonly Table[],
  growingOnes: readonly Growing[],
): Promise<Finding[]> {
  const named = new Map(all.map((table) => [table.name, table]));
  const ends: { readonly finding: Finding; readonly now: number; readonly end: number }[] = [];
  for (const growing of growingOnes) {
    const table = named.get(growing.table);
    const rowsPerDay = table && (await readRowsPerDay(ask, growing, table));
    if (!table || !rowsPerDay) continue;
    const end = bytesInTheEnd(growing, { ...table, rowsPerDay });
    const pace = `${Math.round(rowsPerDay)} rows a day, kept ${growing.keptDays} days`;
    const sizes = `${sizeOf(table.bytes)} now, ${sizeOf(end)} in the end`;
    ends.push({ finding: ok(`${growing.table}: ${pace}: ${sizes}`), now: table.bytes, end });
  }
  if (ends.length === 0) return [unknown('the growth: nothing is older than an hour')];
  const others = all.reduce((sum, { bytes }) => sum + bytes, 0);
  const total = ends.reduce((sum, { now, end }) => sum + Math.max(0, end - now), others);
  const disk = `a disk of ${sizeOf(2 * total)} has room for WAL, bloat and a rewrite`;
  return [...ends.map(({ finding }) => finding), ok(`all: ${sizeOf(total)} in the end; ${disk}`)];
}

/** null: nothing is old enough to tell. */
async function readRowsPerDay(
  ask: Ask,
  { table, written }: Growing,
  { rows }: Table,
): Promise<number | null> {
  if (written === null) return readRequestsPerDay(ask);
  const [oldest] = await ask<{ age_s: number | null }>(
    `select extract(epoch from now() - min(${written.at}))::float8 as age_s
     from ${table}
     where ${written.condition}`,
  );
  const age = oldest?.age_s ?? 0;
  return age < AGE_MIN_S ? null : (rows * DAY_S) / Math.max(age, DAY_S);
}

/** Each day has a partition: that of yesterday is a whole day. */
async function readRequestsPerDay(ask: Ask): Promise<number | null> {
  const yesterday = `day_${slotOf(new Date(Date.now() - DAY_S * 1000))}`;
  const [row] = await ask<{ rows: number }>(
    `select n_live_tup::float8 as rows
     from pg_stat_user_tables
     where schemaname = 'request_days' and relname = '${yesterday}'`,
  );
  return row?.rows ?? null;
}
