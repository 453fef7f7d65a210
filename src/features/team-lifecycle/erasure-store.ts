import { statement, type Db, type Tx } from '../../db/client.ts';
import { TENANT_TABLE_NAMES } from '../../db/tenant-tables.ts';
import type { TeamStatus } from '../../core/vocabularies.ts';

/** A team to erase. */
export interface ErasableRow {
  readonly status: TeamStatus;
  readonly is_erasing: boolean;
}

/** The team, or null. Takes the lock that writers of memberships and settings take. */
export const findForErasure = statement<ErasableRow>(
  'erasure.find',
  `select status, erasing_since is not null as is_erasing
   from team
   where id = $1
   for no key update`,
).finds<[tx: Tx, teamId: string]>();

// Deliveries of no endpoint are not sent, those of a disabled one are if somebody has requested an
// attempt. In the order of their keys, as the delivery loop locks them.
const STOP_WEBHOOKS = statement(
  'erasure.stopWebhooks',
  `with found as materialized (
     select id
     from webhook_endpoint
     where team_id = $1
     order by id
     for update
   )
   delete from webhook_endpoint w
   using found
   where w.team_id = $1 and w.id = found.id`,
);
/**
 * Marks the team: it is unknown from now on, and nothing is sent or synchronized for it. A sandbox
 * ends with that.
 */
export async function markErasing(tx: Tx, teamId: string, at: Date): Promise<void> {
  await tx.prisma.team.updateMany({
    where: { id: teamId },
    // Without the hash, a creation of a team with this id is a conflict until the team is gone.
    data: { erasingSince: at, creationHash: null, status: 'ended' satisfies TeamStatus },
  });
  tx.send(STOP_WEBHOOKS, [teamId]);
  await tx.prisma.crmConnection.updateMany({
    where: { teamId },
    data: {
      status: 'disconnected',
      credentialsEncrypted: null,
      // A synchronization that runs finds another token, and applies no page any more.
      syncToken: null,
      syncLeaseUntil: null,
      nextSyncAt: null,
    },
  });
}

const LIST_ERASING = statement<{ id: string }>(
  'erasure.list',
  `select id
   from team
   where erasing_since is not null
   order by random()
   limit $1`,
);

/**
 * Some of the teams that are being erased, others at each call: teams that are large, or cannot be
 * erased, never keep the rest from their turn.
 */
export async function listErasing(db: Db, limit: number): Promise<string[]> {
  return (await db.query(LIST_ERASING, [limit])).map(({ id }) => id);
}

/** Whether the team is still to be erased. */
export async function isErasing(db: Db, teamId: string): Promise<boolean> {
  const where = { id: teamId, erasingSince: { not: null } };
  return (await db.prisma.team.count({ where })) > 0;
}

const JOBS_OF_TEAM = `from graphile_worker._private_jobs
     where payload ->> 'teamId' = $1`;

const REMOVE_JOBS = statement(
  'erasure.removeJobs',
  `select
   from graphile_worker.complete_jobs(array(
     select id
     ${JOBS_OF_TEAM} and locked_at is null
     limit $2
   ))`,
);

// Rows that other transactions add wait for this lock, by their foreign keys. If such a transaction
// came first, there will be rows, so there is no need to wait for it.
const LOCK = statement<object>(
  'erasure.lock',
  `select
   from team
   where id = $1 and erasing_since is not null
   for update skip locked`,
);
const HAS_ROWS = statement<{ has_rows: boolean }>(
  'erasure.hasRows',
  `select ${TENANT_TABLE_NAMES.map(
    (table) => `exists (select 1 from ${table} where team_id = $1)`,
  ).join('\n     or ')}
     or exists (
       select 1
       ${JOBS_OF_TEAM}
     ) as has_rows`,
);
/**
 * Removes jobs of the team that no worker runs, `jobsMax` at most, and the team itself, unless
 * something of it is left. Returns whether it is gone. Needs a transaction.
 */
export async function removeTeam(tx: Tx, teamId: string, jobsMax: number): Promise<boolean> {
  // Until this lock is held, there may be a new team with the same id, and the jobs be its own.
  if ((await tx.query(LOCK, [teamId])).length === 0) return false;
  await tx.query(REMOVE_JOBS, [teamId, jobsMax]);
  const [left] = await tx.query(HAS_ROWS, [teamId]);
  if (left?.has_rows !== false) return false;
  await tx.prisma.keyDirectory.deleteMany({ where: { teamId } });
  await tx.prisma.team.deleteMany({ where: { id: teamId } });
  return true;
}
