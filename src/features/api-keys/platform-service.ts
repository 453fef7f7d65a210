import { unknownId } from '../../core/problem.ts';
import type { Db } from '../../db/client.ts';
import { databaseTime } from '../../db/database-clock.ts';
import { lockTeam } from '../../db/team-lock.ts';
import { readChangeContext, type PlatformChangeContext } from '../../db/change-context.ts';
import { findTeamForKey } from './platform-store.ts';
import * as rules from './rules.ts';
import { addKey, revokeKeyIn, type IssuedKey, type NewKey } from './service.ts';
import { countLiveAndNames, type DatabaseTime, type KeyRow } from './store.ts';

export { scopesOfTemplate } from './rules.ts';

/**
 * Makes a key of the owner for a team without a live one. Opens a transaction. Throws `not_found`,
 * `api_disabled`, `conflict`, `validation_error` (field `expires_at`, `name` or `scopes`).
 */
export async function createFirstKey(
  db: Db,
  { context, now }: { readonly context: PlatformChangeContext; readonly now: DatabaseTime },
  wanted: NewKey,
): Promise<IssuedKey> {
  const { teamId } = context;
  return db.transaction(async (tx) => {
    lockTeam(tx, teamId);
    const [current, team, counted, at] = await Promise.all([
      readChangeContext(tx, context),
      findTeamForKey(tx, teamId),
      countLiveAndNames(tx, teamId, [wanted.name], now),
      databaseTime(tx, now),
    ]);
    if (!team) throw unknownId('team_id');
    const creatorId = rules.requireFirst({ ...team, liveKeys: counted.liveKeys });
    rules.requireNewKey(wanted, { teamId, plan: current.plan, at });
    return addKey(tx, { context: current, now, creatorId, counted }, wanted);
  });
}

/**
 * Ends a key of the team at once, whatever the team's status is. A revoked key stays as it is.
 * Opens a transaction. Throws `not_found` (field `team_id` or `key_id`).
 */
export function revokeKeyOf(
  db: Db,
  { context, now }: { readonly context: PlatformChangeContext; readonly now: DatabaseTime },
  keyId: string,
): Promise<KeyRow> {
  return db.transaction(async (tx) => {
    lockTeam(tx, context.teamId);
    const current = await readChangeContext(tx, context);
    return revokeKeyIn(tx, { context: current, now }, keyId);
  });
}
