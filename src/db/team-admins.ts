// Jobs for each admin of a team, page by page. A team may have any number of admins: a statement
// for all of them at once would be cut off, with all that it does for other teams.
import { statement, type Tx } from './client.ts';
import { enqueue, type NewJob } from './outbox.ts';
import { listed, type RowOf } from './rows.ts';

const PLACE = ['role', 'created_at', 'id'] as const;

/** The place of an admin among those of the team. */
export type AdminPlace = RowOf<'Member', (typeof PLACE)[number]>;

/** So many admins are looked at in one transaction. */
const PAGE = 100;

/** The job for an admin, and the one that goes on with the admins after a place. */
export interface AdminJobs {
  readonly each: (memberId: string) => NewJob;
  readonly next: (after: AdminPlace) => Omit<NewJob, 'key'>;
  /** The key of the job for each page: it replaces the one before, so no page is done again. */
  readonly key: string;
}

/**
 * Enqueues a job for each active admin of a page, the owner included, and the job for the next
 * page, until there is none. `after` null: the first page. All other jobs go before those of the
 * admins.
 */
export async function enqueueForAdmins(
  tx: Tx,
  teamId: string,
  after: AdminPlace | null,
  { each, next, key }: AdminJobs,
): Promise<void> {
  const page = await listAdmins(tx, teamId, { after, limit: PAGE });
  for (const { id, status } of page)
    if (status === 'active') await enqueue(tx, teamId, { ...each(id), isOneOfMany: true });
  const last = page.at(-1);
  if (!last) return;
  const { role, created_at, id } = last;
  await enqueue(tx, teamId, { ...next({ role, created_at, id }), key });
}

// In the order of the index that holds these members only.
const LIST_ADMINS = statement<AdminPlace & { readonly status: string }>(
  'db.listAdmins',
  `select status, ${listed(PLACE)}
   from member
   where team_id = $1
     and role <> 'member'
     and status <> 'ended'
     and (role, created_at, id) < ($2, $3::timestamptz, $4)
   order by role desc, created_at desc, id desc
   limit $5`,
);

// No role sorts behind `owner`, however the database sorts texts.
const FIRST: AdminPlace = { role: 'owner', created_at: 'infinity', id: '' };

/**
 * The owner and the admins of a team, invited ones included, after `after`; null is the beginning.
 */
export function listAdmins(
  tx: Tx,
  teamId: string,
  { after, limit }: { readonly after: AdminPlace | null; readonly limit: number },
): Promise<(AdminPlace & { readonly status: string })[]> {
  const { role, created_at, id } = after ?? FIRST;
  return tx.query(LIST_ADMINS, [teamId, role, created_at, id, limit]);
}
