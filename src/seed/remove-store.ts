import type { ClientBase } from 'pg';
import { inLockOrder } from '../core/sandbox.ts';
import { statement } from '../db/statement.ts';
import { KEYS, TENANT_TABLE_NAMES, type TenantTable } from '../db/tenant-tables.ts';

/**
 * The tables whose rows are locked before anything is deleted, in this order. Every other write of
 * the team needs one of these rows, or the team's row, before it changes anything. It has ended
 * when its row is locked here, or it waits without holding anything that is needed here. Those that
 * others lock one after the other stand in the order of theirs: a connection and a case before
 * people, a member before their person, a webhook endpoint before its resends and deliveries.
 */
export const LOCKED_TABLES = [
  'crm_connection',
  'training_case',
  'member',
  'person',
  'assignment',
  'api_key',
  'webhook_endpoint',
  'webhook_resend',
  'webhook_delivery',
] as const satisfies readonly TenantTable[];

/** A team that a load replaces. */
export interface ExistingTeam {
  readonly id: string;
  /** A job removes its rows, and would go on with those of the new team. */
  readonly isErasing: boolean;
}

const LOCK_TEAM = statement<ExistingTeam>(
  'seed.lockTeam',
  `SELECT id, erasing_since IS NOT NULL AS "isErasing"
   FROM team
   WHERE id = $1
   FOR NO KEY UPDATE`,
);

/**
 * Locks those of the teams that exist until the transaction ends, and returns them in the order in
 * which to remove their rows, which is the same in each load. Nobody else can check a team-wide
 * limit meanwhile, or begin to erase the team.
 */
export async function lockExistingTeams(
  client: ClientBase,
  ids: readonly string[],
): Promise<ExistingTeam[]> {
  const existing: ExistingTeam[] = [];
  for (const id of inLockOrder(ids))
    existing.push(...(await client.query<ExistingTeam>(LOCK_TEAM.text, [id])).rows);
  return existing;
}

// The events that wait for their fan-out come first: it locks an event and then its subscribers.
const LOCKS = [
  statement('seed.lock.event', lockText('event', 'AND fanned_out_at IS NULL')),
  ...LOCKED_TABLES.map((table) => statement(`seed.lock.${table}`, lockText(table))),
];

function lockText(table: string, condition = ''): string {
  return `SELECT count(*)
     FROM (
       SELECT
       FROM "${table}"
       WHERE team_id = $1 ${condition}
       ORDER BY id
       FOR UPDATE
     ) locked`;
}

const REMOVALS = [...TENANT_TABLE_NAMES.filter((table) => table !== 'team_counter'), KEYS].map(
  (table) => statement(`seed.remove.${table}`, `DELETE FROM "${table}" WHERE team_id = $1`),
);

/**
 * Removes all rows of the team but its own, which must be locked, and its rate counters. The team's
 * row stays: a transaction that locks it for a deletion, and one that has written a row of the team
 * and waits for another, would deadlock.
 */
export async function removeRows(client: ClientBase, teamId: string): Promise<void> {
  for (const { text } of [...LOCKS, ...REMOVALS]) await client.query(text, [teamId]);
}

// A request locks the counter of its key or person before that of all keys or the app.
const REMOVE_OWN_COUNTERS = statement(
  'seed.removeOwnCounters',
  `DELETE FROM team_counter WHERE team_id = $1 AND bucket LIKE '%:%'`,
);
const REMOVE_COUNTERS = statement(
  'seed.remove.team_counter',
  'DELETE FROM team_counter WHERE team_id = $1',
);

/**
 * Removes a team's rate counters. Call it last: a request that is to be counted waits until the
 * transaction ends, on a connection that requests of other teams share.
 */
export async function removeCounters(client: ClientBase, teamId: string): Promise<void> {
  await client.query(REMOVE_OWN_COUNTERS.text, [teamId]);
  await client.query(REMOVE_COUNTERS.text, [teamId]);
}
