import { statement, type Db } from '../client.ts';

// graphile-worker moves these times forward only.
const BRING_BACK = statement<{ readonly identifier: string }>(
  'jobs.bringCronBack',
  `update graphile_worker._private_known_crontabs
   set last_execution = now()
   where last_execution > now() + interval '2 minutes'
   returning identifier`,
);

/**
 * Lets scheduled jobs run again that have run in the future: at a worker whose clock was hours
 * ahead. Until that time has come, graphile-worker would run none of them at any worker. Returns
 * their names.
 */
export async function bringCronBack(db: Db): Promise<readonly string[]> {
  const rows = await db.query(BRING_BACK, []);
  return rows.map(({ identifier }) => identifier);
}
