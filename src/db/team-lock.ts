import { statement, type Tx } from './client.ts';

const LOCK_TEAM = statement('db.lockTeam', 'select from team where id = $1 for no key update');

/**
 * Makes every other writer that counts or decides over the team's rows (memberships, keys, endpoints, connections, settings) wait until this transaction
 * ends, so that what is read after it stays true until commit. One lock for all of them, because some of these depend on each other: a right on a role.
 * Costs no round trip of its own.
 */
export function lockTeam(tx: Tx, teamId: string): void {
  tx.send(LOCK_TEAM, [teamId]);
}
