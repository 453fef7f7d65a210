/** Finds the endpoints with deliveries that have just become due, however many others wait. */
import { statement, type Db } from '../db/client.ts';
import { IS_WORKER_LOCK } from './claim-store.ts';
import { WAITING, type EndpointRef } from './waiting-store.ts';

/** A place in the order in which retries become due. */
export interface DuePosition {
  readonly at: Date | string;
  readonly id: string;
}

interface DueRow extends EndpointRef {
  readonly is_active: boolean | null;
  readonly looked_at: number;
  readonly last_at: string;
  readonly last_id: string;
}

const FIND_NEWLY_DUE = statement<DueRow>(
  'webhooks.findNewlyDue',
  `with due as materialized (
     select team_id, endpoint_id, due_at, id
     from webhook_delivery
     where ${WAITING.retrying.isWaiting}
       and (due_at, id) > ($1, $2)
       and due_at <= $3
     order by due_at, id
     limit $4
   ), last as (
     select due_at as at, id
     from due
     order by due_at desc, id desc
     limit 1
   )
   select e.team_id, e.endpoint_id, w.status = 'active' as is_active,
     (select count(*)::int from due) as looked_at, last.at as last_at, last.id as last_id
   from (select distinct team_id, endpoint_id from due) e
   cross join last
   left join lateral (
     select status
     from webhook_endpoint
     where team_id = e.team_id and id = e.endpoint_id
     limit 1
   ) w on true`,
);

/**
 * Looks at the next `limit` retries that became due after `after` and until `now`. Returns their
 * active endpoints, and the position of the last retry if there may be more behind it.
 */
export async function findNewlyDue(
  db: Db,
  { after, now, limit }: { after: DuePosition; now: Date; limit: number },
): Promise<{ due: EndpointRef[]; next: DuePosition | null }> {
  const rows = await db.query(FIND_NEWLY_DUE, [after.at, after.id, now, limit]);
  const [first] = rows;
  return {
    due: rows.filter((row) => row.is_active),
    next: first?.looked_at === limit ? { at: first.last_at, id: first.last_id } : null,
  };
}

/** An active endpoint, and when it was set to active. */
export interface ActivatedEndpoint extends EndpointRef {
  readonly activated_at: string;
}

/** Returns the active endpoints that were set to active after `since`. */
export const findActivated = statement<ActivatedEndpoint>(
  'webhooks.findActivated',
  `select team_id, id as endpoint_id, activated_at
   from webhook_endpoint
   where activated_at > $1 and status = 'active'`,
).lists<[db: Db, since: Date]>();

const LIST_WORKERS = statement<{ readonly number: number }>(
  'webhooks.listWorkers',
  `select objid::int as number
   from pg_locks
   where ${IS_WORKER_LOCK}`,
);

/** Returns the numbers of the workers that are alive. */
export async function listWorkers(db: Db): Promise<number[]> {
  return (await db.query(LIST_WORKERS, [])).map((row) => row.number);
}
