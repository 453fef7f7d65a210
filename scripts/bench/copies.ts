// Copies of what the seed has loaded, made in Postgres, because the seed would take hours for them:
// more assignments of a team, and more teams like one.
import type { World } from './world.ts';

/** The numbers of the copies, without `to`. */
interface Numbers {
  readonly from: number;
  readonly to: number;
}

/** Teams that are copies of a team. */
export interface Copies {
  /** The id of the team that is copied. */
  readonly template: string;
  /** Six letters, which the prefixes of their keys begin with. */
  readonly prefix: string;
}

/** Rows for one statement. */
const STEP = 1_000_000;

/** Makes copies of a team's assignments. It must have 60 that are none. */
export async function copyAssignments(
  { pool }: World,
  teamId: string,
  { from, to }: Numbers,
): Promise<void> {
  const client = await pool.connect();
  try {
    // Copies of good rows: their foreign keys need no checks.
    await client.query('set session_replication_role = replica');
    for (let start = from; start < to; start += STEP)
      await client.query(
        `insert into assignment
         select made.*
         from generate_series($2::int, $3::int) n
         join (
           select a, row_number() over () - 1 as place
           from assignment a
           where team_id = $1 and id not like 'asg_copy_%'
           limit 60
         ) template on place = n % 60
         cross join lateral jsonb_populate_record(a, jsonb_build_object(
           'id', 'asg_copy_' || n,
           'created_at', timestamptz '2020-01-01' + n * interval '10 seconds'
         )) made`,
        [teamId, start, Math.min(to, start + STEP) - 1],
      );
    await client.query('vacuum (analyze) assignment');
  } finally {
    client.release(true);
  }
}

/** Makes copies of a team, each with its people, its newest 50 assignments and its keys. */
export async function copyTeams(
  { pool }: World,
  { template, prefix }: Copies,
  { from, to }: Numbers,
): Promise<void> {
  const client = await pool.connect();
  const id = `'team_${prefix}_' || n`;
  const copy = (table: string, changes: string): Promise<unknown> =>
    client.query(
      `insert into ${table}
       select made.*
       from (select r from ${table} r where ${table === 'team' ? 'id' : 'team_id'} = $1
         ${table === 'assignment' ? `order by id desc limit 50` : ''}) t
       cross join generate_series($2::int, $3::int) n
       cross join lateral jsonb_populate_record(r, jsonb_build_object(${changes})) made`,
      [template, from, to - 1],
    );
  try {
    await client.query('set session_replication_role = replica');
    await copy('team', `'id', ${id}, 'name', 'Copy ' || n`);
    for (const table of ['person', 'member', 'catalog_release', 'assignment'])
      await copy(table, `'team_id', ${id}`);
    for (const table of ['api_key', 'key_directory'])
      await copy(table, `'team_id', ${id}, 'prefix', '${prefix}' || lpad(n::text, 8, '0')`);
    await client.query('vacuum (analyze)');
  } finally {
    client.release(true);
  }
}

/** The id of copy number `n`. */
export const idOfCopy = ({ prefix }: Copies, n: number): string => `team_${prefix}_${n}`;

/** The key of copy number `n`, made from the key of the team that was copied. */
export function keyOfCopy({ prefix }: Copies, key: string, n: number): string {
  const secret = key.slice(key.lastIndexOf('_') + 1);
  return `svck_live_${prefix}${String(n).padStart(8, '0')}_${secret}`;
}
