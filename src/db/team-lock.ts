import { statement, type Tx } from './client.ts';

/**
 * Locks the team row until the transaction ends. Lock it before checking a team-wide limit or rule
 * (memberships, keys, webhook endpoints, connections, settings): then the result of the check stays
 * true until commit. All of them use one lock, because some depend on each other, as a right
 * depends on a role. Costs no round trip of its own. A change by a member or a key calls
 * `lockTeamFor`, which also reads what the actor may do by then.
 */
export function lockTeam(tx: Tx, teamId: string): void {
  tx.send(LOCK_TEAM, [teamId]);
}

/** Like {@link lockTeam}. Resolves when the team is locked, and rejects if that takes too long. */
export async function waitForTeamLock(tx: Tx, teamId: string): Promise<void> {
  await tx.query(LOCK_TEAM, [teamId]);
}

const LOCK_TEAM = statement('db.lockTeam', 'select from team where id = $1 for no key update');

/**
 * Locks a team until the transaction ends, for work that goes through many teams, of which none may
 * wait for another. Returns false if there is none, if it is being erased, or if somebody else has
 * locked it: the next run looks at it again.
 */
export const lockFreeTeam = statement<object>(
  'db.lockFreeTeam',
  `select
   from team
   where id = $1 and erasing_since is null
   for no key update skip locked`,
).matches<[tx: Tx, teamId: string]>();
