/** Enqueues a job for each connection that is due, of all teams or of one. */
export const SCHEDULE_SYNCS = 'schedule_crm_syncs';
/** Every minute, because the first retry after a failure is due after a minute. */
export const SCHEDULED = { cron: '* * * * *', everyMs: 60_000 } as const;
/** Synchronizes one connection. */
export const SYNC_CONNECTION = 'sync_crm_connection';
/** Removes the rows of a disconnected connection. */
export const REMOVE_CONNECTION = 'remove_crm_connection';

/** What a job is about; its payload. */
export interface ConnectionKey {
  readonly teamId: string;
  readonly connectionId: string;
}

/** The key of a connection's job of this task: there is one at most. */
export function keyOfJob(task: string, { teamId, connectionId }: ConnectionKey): string {
  return `${task}:${teamId}:${connectionId}`;
}

/** The same in SQL, of SQL. */
export function keyOfJobText(task: string, { teamId, connectionId }: ConnectionKey): string {
  return `'${task}:' || ${teamId} || ':' || ${connectionId}`;
}

/** The job that schedules a team's due connections now instead of at the next minute. */
export function scheduleJob(teamId: string) {
  return { task: SCHEDULE_SYNCS, payload: { teamId }, key: `${SCHEDULE_SYNCS}:${teamId}` };
}

/** What is left to remove of a disconnected connection. */
export interface Removal extends ConnectionKey {
  /** The last deal that an earlier run has removed. Without: none is removed yet. */
  readonly after?: string | undefined;
}

/** The job that removes the rows of a disconnected connection. */
export function removalJob({ teamId, connectionId, after }: Removal) {
  return {
    task: REMOVE_CONNECTION,
    payload: { teamId, connectionId, after },
    key: keyOfJob(REMOVE_CONNECTION, { teamId, connectionId }),
    queue: 'removals',
  };
}
