/** The connections that a worker opens to Postgres besides its pool: most are those of its jobs. */
import { SYNC_QUEUES } from '../features/crm/rules.ts';

/**
 * Few jobs run at once, and the job runner has connections of its own. Two of these are for single
 * statements, one for those of jobs and one for those of mails, and ten for transactions, of which
 * either may have five.
 */
export const JOBS_POOL_MAX = 14;
/**
 * Jobs are wake-ups and removals, few and mostly short, and synchronizations. Each queue of the
 * latter has a slot, so CRMs that hang keep neither each other's slots nor those of other jobs.
 */
export const JOB_SLOTS = 5 + SYNC_QUEUES;
/**
 * Mails have slots of their own. A mail server that is silent keeps each of them for 20 s, and a
 * slow one for 3 minutes at most. The other jobs must not wait for that.
 */
export const MAIL_SLOTS = 5;
/**
 * The connections of a runner, however many slots it has. It needs them only to take a job and to
 * write down its end: one listens, and the others are shared by the slots.
 */
export const RUNNER_POOL_MAX = 4;

/** The listener, the lock of the worker, and those of the runners of jobs and of mails. */
const SESSIONS = 4;

/** The most connections besides the pool. There are two runners. */
export const WORKER_CONNECTIONS_MAX = JOBS_POOL_MAX + 2 * RUNNER_POOL_MAX + SESSIONS;
