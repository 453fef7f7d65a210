import type { Actor } from '../core/actor.ts';
import { isRaisedBy, type NewEvent } from '../core/events.ts';
import { newId } from '../core/ids.ts';
import { redactEventData, type Privacy } from '../core/privacy.ts';
import { statement, type Db, type Tx } from './client.ts';

/** Who makes a change, in which team, when, and for which request. */
export interface ChangeContext {
  readonly teamId: string;
  readonly actor: Actor;
  readonly privacy: Privacy;
  readonly requestId: string;
  readonly at: Date;
}

/** What is recorded beside the rows of a change. */
export interface ChangeRecord {
  readonly audit: {
    readonly action: string;
    readonly targetId: string;
    readonly details?: Readonly<Record<string, unknown>>;
  };
  readonly events?: readonly NewEvent[];
  readonly jobs?: readonly NewJob[];
  /** Whether the change itself made a delivery due. Events need not say so. */
  readonly makesDeliveryDue?: boolean;
}

/**
 * The payload of a job: nothing, or ids of one team. The erasure of a team finds its jobs by
 * `teamId`.
 */
export type JobPayload =
  | Readonly<Record<string, never>>
  | { readonly teamId: string; readonly [name: string]: unknown };

/**
 * A job for the worker. While it waits, a second job with the same `key` replaces it. Jobs of one
 * `queue` run one after the other.
 */
export interface NewJob {
  readonly task: string;
  readonly payload: JobPayload;
  readonly key?: string;
  readonly queue?: string;
}

/**
 * Writes the audit entry, the events and the jobs of a change. It needs the transaction of the
 * change, so they commit with it or not at all. It is one statement and does not wait (see
 * `Tx.send`). Workers are told after the commit (`wake-ups.ts`).
 *
 * The data of an event is final here: the current privacy switches are applied. An event that this
 * kind of actor does not raise (`core/events.ts`) is dropped. The details of an audit entry may
 * name a person only by id.
 */
export function record(tx: Tx, context: ChangeContext, change: ChangeRecord): void {
  const { teamId, actor, privacy, requestId, at } = context;
  const events = (change.events ?? [])
    .filter((event) => isRaisedBy(event.type, actor))
    .map(({ type, data }) => {
      const id = newId('event');
      return {
        id,
        type,
        data: { team_id: teamId, ...redactEventData(privacy, type, data) },
        traceparent: tx.trace?.event(type, id),
      };
    });
  const jobs = change.jobs ?? [];
  const { action, targetId, details = {} } = change.audit;
  tx.send(RECORD, [
    teamId,
    at,
    newId('auditEntry'),
    actor.kind,
    actor.id,
    action,
    targetId,
    requestId,
    JSON.stringify(details),
    JSON.stringify(events),
    jobsText(jobs),
  ]);
  if (events.length > 0 || change.makesDeliveryDue) tx.wakeAfterCommit('deliveries');
  if (jobs.length > 0) tx.wakeAfterCommit('jobs');
}

const RECORD = statement(
  'outbox.record',
  `with audit as (
     insert into audit_log
       (team_id, created_at, id, actor_kind, actor_id, action, target_id, request_id, details)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   ), events as (
     insert into event (team_id, created_at, id, type, data, traceparent)
     select $1, $2, e.id, e.type, e.data, e.traceparent
     from json_to_recordset($10::json) as e (id text, type text, data json, traceparent text)
   )
   ${insertJobs('$11')}`,
);

/** Adds a job without a change, for instance the next step of a job. Opens a transaction. */
export async function enqueue(db: Db, teamId: string, job: NewJob): Promise<void> {
  await db.transaction(async (tx) => {
    tx.send(ENQUEUE, [teamId, jobsText([job])]);
    tx.wakeAfterCommit('jobs');
  });
}

const ENQUEUE = statement('outbox.enqueue', insertJobs('$2'));

/** SQL that inserts the jobs of the team $1 from the text that `jobsText` made. */
function insertJobs(jobs: string): string {
  return `insert into pending_job (team_id, id, task, payload, key, queue)
   select $1, j.id, j.task, j.payload, j.key, j.queue
   from json_to_recordset(${jobs}::json)
     as j (id text, task text, payload json, key text, queue text)`;
}

function jobsText(jobs: readonly NewJob[]): string {
  return JSON.stringify(jobs.map((job) => ({ id: newId('job'), ...job })));
}
