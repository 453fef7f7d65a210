/**
 * Where the rows of teams are, in a distributed database. A statement for a team waits for its node
 * (for one that is silent until the statement's time is over), so those for different nodes never
 * stand one behind the other, and a node never has all places.
 *
 * A team's node is asked in the background, and again from time to time, since shards move. What is
 * not known yet, or is old, only leads to a line that may be slower.
 */
import type { Db } from '../client.ts';
import { statement } from '../statement.ts';
import { knowsShards } from './shards.ts';

export interface TeamNodes {
  /** The name of the node with the team's rows. null: on plain Postgres, and as long as unknown. */
  of(teamId: string): string | null;
  /** Whether the database is known to have no nodes. */
  isPlain(): boolean;
}

const FRESH_MS = 5_000;
/** Some megabytes. A team that was forgotten is asked for again. */
const MAX_TEAMS = 10_000;
const MAX_ASKED = 1_000;

const FIND = statement<{ readonly team_id: string; readonly node: string }>(
  'teamNodes.find',
  `select team_id, n.nodename || ':' || n.nodeport as node
   from unnest($1::text[]) as given (team_id)
   join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('team', team_id)
   join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'`,
);

export function createTeamNodes(db: Pick<Db, 'query'>, maxTeams = MAX_TEAMS): TeamNodes {
  const known = new Map<string, { readonly node: string; readonly until: number }>();
  const wanted = new Set<string>();
  let isPlain = false;
  let isAsking = false;
  const find = async (): Promise<void> => {
    isPlain = !(await knowsShards(db));
    if (isPlain) return wanted.clear();
    const asked = [...wanted].slice(0, MAX_ASKED);
    const until = performance.now() + FRESH_MS;
    for (const { team_id, node } of await db.query(FIND, [asked])) {
      known.delete(team_id);
      known.set(team_id, { node, until });
    }
    for (const teamId of asked) wanted.delete(teamId);
    for (const teamId of known.keys()) {
      if (known.size <= maxTeams) return;
      known.delete(teamId);
    }
  };
  const want = (teamId: string): void => {
    if (wanted.size < maxTeams) wanted.add(teamId);
    if (isAsking) return;
    isAsking = true;
    find()
      // The database cannot be reached, as the team's own statement will say. The next call asks.
      .catch(() => undefined)
      .finally(() => {
        isAsking = false;
      });
  };
  return {
    isPlain: () => isPlain,
    of: (teamId) => {
      if (isPlain) return null;
      const place = known.get(teamId);
      if (!place || place.until < performance.now()) want(teamId);
      return place?.node ?? null;
    },
  };
}
