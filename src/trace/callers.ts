/** Reads keys and CRM connections, with what is to be said of them. */
import type { Db } from '../db/client.ts';
import { keyOfJob, REMOVE_CONNECTION, SYNC_CONNECTION } from '../features/crm/sync/jobs.ts';
import { connectionReasons, keyReasons } from './caller-reasons.ts';
import { listChanges } from './change-store.ts';
import { listConnections, listJobs, type ConnectionRow } from './connection-store.ts';
import type { IdRow, RequestRow } from './find-store.ts';
import { findKey, sumUsage } from './key-store.ts';
import { firstUsageDay } from './rules.ts';
import type { TraceResult } from './view.ts';
import { toConnection, toKey } from './view.ts';

/** The key as it is shown. `requests`: its calls that are shown, too. */
export async function readKey(
  db: Db,
  { team_id: teamId, id }: IdRow,
  { requests, now }: { readonly requests: readonly RequestRow[]; readonly now: Date },
): Promise<TraceResult['keys']> {
  const [key, usage, changes] = await Promise.all([
    findKey(db, teamId, id),
    sumUsage(db, teamId, id, firstUsageDay(now)),
    listChanges(db, teamId, id),
  ]);
  if (!key) return [];
  const refused = requests.filter((call) => call.team_id === teamId && call.key_id === id).length;
  return [toKey(key, { changes, usage, why: keyReasons(key, { changes, usage, refused, now }) })];
}

/** A connection as it is shown; `id` null: all of the team. */
export async function readConnections(
  db: Db,
  { team_id: teamId, id }: Pick<IdRow, 'team_id'> & { readonly id: string | null },
  { workers, now }: { readonly workers: readonly number[]; readonly now: Date },
): Promise<TraceResult['connections']> {
  const rows: ConnectionRow[] = await listConnections(db, teamId, id);
  return Promise.all(
    rows.map(async (row) => {
      const [changes, jobs] = await Promise.all([
        listChanges(db, teamId, row.id),
        listJobs(
          db,
          [SYNC_CONNECTION, REMOVE_CONNECTION].map((task) =>
            keyOfJob(task, { teamId, connectionId: row.id }),
          ),
        ),
      ]);
      const why = connectionReasons(row, { changes, jobs, workers, now });
      return toConnection(row, { changes, jobs, why });
    }),
  );
}
