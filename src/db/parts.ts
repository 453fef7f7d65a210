/**
 * Work for many teams at once, whose rows may be in several places (`db/citus`). On one Postgres
 * each function is what its first line says.
 */
import type { Db, Queries, Statement } from './client.ts';

/** What it takes to ask for many teams. */
type Whole = Queries & Pick<Db, 'cluster'>;

/** Whether the rows of teams are in several places. */
export async function isDistributed(db: Pick<Db, 'cluster'>): Promise<boolean> {
  return (await db.cluster?.isDistributed()) === true;
}

/**
 * Runs a statement about rows of many teams, which it is given as `unnest($1::text[], …) as n
 * (team_id, …)`. On a distributed database it runs once for each part that has some of them.
 */
export async function queryTeams<Row>(
  db: Whole,
  what: Statement<Row>,
  values: readonly unknown[],
): Promise<Row[]> {
  if (!(await isDistributed(db))) return db.query(what, values);
  return db.cluster?.query(db, what, values) ?? [];
}

/**
 * The database itself, for statements about all teams. On a distributed database, the parts of it
 * that have some of the teams that `findTeams` returns. Each statement that is asked of a part is
 * limited to its teams.
 */
export async function partsOf(
  db: Db,
  findTeams: () => Promise<readonly string[]>,
): Promise<readonly Db[]> {
  if (!(await isDistributed(db))) return [db];
  return db.cluster?.parts(db, await findTeams()) ?? [];
}
