/** A job that workers add at its times, in UTC. `runtime/cron-items.ts` says how it is run. */
export interface ScheduledJob {
  readonly task: string;
  /** Minute, hour, day, month and day of the week, as in a crontab. */
  readonly match: string;
  /** Jobs of a queue run one after the other. Default: a queue of its own. */
  readonly queue?: string;
}
