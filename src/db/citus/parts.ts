/** Work for many teams of a distributed database, shard by shard. */
import { withFirst, type Cluster, type Db, type Tx } from '../client.ts';
import { bindTeams, columnsOfRows, withStatements } from './bound-statements.ts';
import { groupByShard, knowsShards } from './shards.ts';

/** `db` asks for the nodes. */
export function createCluster(db: Pick<Db, 'query'>): Cluster {
  return {
    isDistributed: () => knowsShards(db),
    parts: async (whole, teams) =>
      (await groupByShard(db, teams)).map((group) => partOf(whole, group)),
    query: async (whole, what, values) => {
      const columns = columnsOfRows(what);
      if (!columns) throw new Error(`${what.name} is not given rows of teams`);
      const teamOf = values[columns[0] - 1] as readonly string[];
      const groups = await groupByShard(db, teamOf);
      const found = await Promise.all(
        groups.map((group) => {
          const teams = new Set(group);
          const own = values.map((value, place) =>
            columns.includes(place + 1)
              ? (value as unknown[]).filter((_item, row) => teams.has(teamOf[row] ?? ''))
              : value,
          );
          const bound = bindTeams({ what, values: own }, group);
          return whole.query(bound.what, bound.values);
        }),
      );
      return found.flat();
    },
  };
}

/** The database for teams of one shard. */
function partOf(whole: Db, teams: readonly string[]): Db {
  const names = manyTimes(teams);
  const bindTo =
    (query: Db['query']): Db['query'] =>
    (what, values) => {
      const bound = bindTeams({ what, values }, names);
      return query(bound.what, bound.values);
    };
  const bindTx = (tx: Tx): Tx =>
    withStatements(tx, {
      query: bindTo((what, values) => tx.query(what, values)),
      send: (what, values) => {
        const bound = bindTeams({ what, values }, names);
        tx.send(bound.what, bound.values);
      },
    });
  return {
    prisma: whole.prisma,
    ...withFirst(bindTo((what, values) => whole.query(what, values))),
    transaction: (work) => whole.transaction((tx) => work(bindTx(tx))),
  };
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
