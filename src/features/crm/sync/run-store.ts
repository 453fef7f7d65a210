/**
 * The state of a synchronization in `crm_connection`. A run owns the connection while its token is
 * in the row. Whatever a run writes, it first checks that in the same transaction: see `holdRun`.
 */
import { statement, type Db, type Tx } from '../../../db/client.ts';
import { listed, type RowOf } from '../../../db/rows.ts';
import type { ConnectionKey } from './jobs.ts';
import { IS_FREE, IS_WANTED } from './schedule-store.ts';
import type { SyncState } from './schedule.ts';

export interface RunKey extends ConnectionKey {
  /** Of this run alone: the id of its job, a space and something random. */
  readonly token: string;
}

const CLAIMED = ['provider', 'objection_marker', 'base_url', 'sync_state', 'last_error'] as const;

/** `last_error`: how the run before failed; null: it did not. */
export interface ClaimedConnection extends RowOf<'CrmConnection', (typeof CLAIMED)[number]> {
  readonly credentials_encrypted: Buffer;
}

// A job that runs again does so because its worker is gone, and its earlier run with it. Should
// that one still write, it has lost the connection: it has another token.
//
// Whoever begins a round does what was asked for before. A round that goes on has read some of its
// pages earlier.
const CLAIM = statement<ClaimedConnection>(
  'crm.claimSync',
  `update crm_connection c
   set sync_token = $4, sync_lease_until = $5,
     sync_requested_at = case
       when jsonb_typeof(sync_state -> 'round') = 'object' then sync_requested_at
     end
   where ${IS_WANTED}
     and c.team_id = $2
     and c.id = $3
     and (${IS_FREE} or split_part(c.sync_token, ' ', 1) = split_part($4, ' ', 1))
   returning c.credentials_encrypted, ${listed(CLAIMED, 'c.')}`,
);

/** Takes the connection for this run. Null if it is not due or the run of another job has it. */
export function claim(
  db: Db,
  run: RunKey,
  now: Date,
  leaseUntil: Date,
): Promise<ClaimedConnection | null> {
  return db.queryFirst(CLAIM, [now, run.teamId, run.connectionId, run.token, leaseUntil]);
}

/** Takes an active connection for this run, due or not. Another run that has it loses it. */
export async function takeOver(tx: Tx, run: RunKey, leaseUntil: Date): Promise<boolean> {
  const { count } = await tx.prisma.crmConnection.updateMany({
    where: { teamId: run.teamId, id: run.connectionId, status: 'active' },
    data: { syncToken: run.token, syncLeaseUntil: leaseUntil },
  });
  return count > 0;
}

/** SQL: the run still has the connection. The parameters are those of `keyOf`. */
const IS_HELD = `team_id = $1
     and id = $2
     and sync_token = $3
     and status = 'active'`;

function keyOf({ teamId, connectionId, token }: RunKey): [string, string, string] {
  return [teamId, connectionId, token];
}

/**
 * Stores how far the run is and prolongs its lease. False if the run has lost the connection
 * (paused, disconnected, or taken over after the lease ended): then it must not write anything.
 * Locks the row, so nobody takes the connection until the transaction ends.
 */
export async function holdRun(
  tx: Tx,
  run: RunKey,
  state: SyncState,
  leaseUntil: Date,
): Promise<boolean> {
  const { teamId, connectionId: id, token: syncToken } = run;
  const { count } = await tx.prisma.crmConnection.updateMany({
    where: { teamId, id, syncToken, status: 'active' },
    data: { syncState: state, syncLeaseUntil: leaseUntil },
  });
  return count > 0;
}

const END = statement<{ is_due: boolean }>(
  'crm.endSync',
  `update crm_connection
   set sync_state = $4, sync_token = null, sync_lease_until = null,
     next_sync_at = coalesce(sync_requested_at, $5), sync_requested_at = null,
     last_synced_at = $6, last_error = null, failure_streak = 0
   where ${IS_HELD}
   returning next_sync_at < $5 as is_due`,
);

/**
 * The round is complete. `again`: another one was asked for meanwhile, and is due. `lost`: the run
 * has lost the connection.
 */
export async function endRound(
  tx: Tx,
  run: RunKey,
  end: { state: SyncState; next: Date; at: Date },
): Promise<'done' | 'again' | 'lost'> {
  const values = [...keyOf(run), JSON.stringify(end.state), end.next, end.at];
  const ended = await tx.queryFirst(END, values);
  if (!ended) return 'lost';
  return ended.is_due ? 'again' : 'done';
}

const RELEASE = statement(
  'crm.releaseSync',
  `update crm_connection
   set sync_token = null, sync_lease_until = null, next_sync_at = coalesce($4, next_sync_at),
     last_error = case when $5 then null else last_error end
   where team_id = $1
     and id = $2
     and sync_token = $3`,
);

/**
 * Gives the connection back in the middle of a round. The next run continues at `next`; null: now.
 * With `madeProgress` it is no longer one that failed, but the next failure counts on.
 */
export async function release(
  db: Db,
  run: RunKey,
  { next, madeProgress }: { next: Date | null; madeProgress: boolean },
): Promise<void> {
  await db.query(RELEASE, [...keyOf(run), next, madeProgress]);
}

const FAIL = statement<{ provider: string; failure_streak: number }>(
  'crm.failSync',
  `update crm_connection
   set sync_token = null, sync_lease_until = null, last_error = $4,
     failure_streak = failure_streak + 1,
     sync_state = case when $5 then jsonb_set(sync_state, '{round}', 'null') else sync_state end
   where ${IS_HELD}
   returning provider, failure_streak`,
);

/**
 * The run failed. Null if it has lost the connection. With `forgetRound` the next run starts a
 * new round.
 */
export function failRun(
  tx: Tx,
  run: RunKey,
  { reason, forgetRound }: { reason: string; forgetRound: boolean },
): Promise<{ provider: string; failure_streak: number } | null> {
  return tx.queryFirst(FAIL, [...keyOf(run), reason, forgetRound]);
}

const SET_NEXT = statement(
  'crm.setNextSync',
  `update crm_connection
   set next_sync_at = coalesce(sync_requested_at, $3), sync_requested_at = null
   where team_id = $1 and id = $2`,
);

/** Sets when the connection is due next: at once, if that was asked for during the run. */
export function setNext(tx: Tx, run: RunKey, next: Date): void {
  tx.send(SET_NEXT, [run.teamId, run.connectionId, next]);
}
