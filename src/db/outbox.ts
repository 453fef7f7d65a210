import type { Actor, Current, SystemActor } from '../core/actor.ts';
import type { NewAuditEntry } from '../core/audit-actions.ts';
import { isRaisedBy, type NewEvent } from '../core/events.ts';
import { newId } from '../core/ids.ts';
import {
  redactAuditDetails,
  redactEventData,
  type CallPrivacy,
  type Privacy,
} from '../core/privacy.ts';
import { statement, type Db, type Tx } from './client.ts';
import { runAtText, waitValues, type JobWait } from './job-wait.ts';

/**
 * Who makes a change, in which team, when, and for which request. It is as authentication found it:
 * `readChangeContext` makes what can be recorded of it.
 */
export interface ChangeContext {
  readonly teamId: string;
  readonly actor: Actor;
  readonly privacy: CallPrivacy;
  readonly requestId: string;
  readonly at: Date;
}

/** The context of a change as it is under its locks (`change-context.ts`). */
export interface RecordContext extends Omit<ChangeContext, 'actor' | 'privacy'> {
  readonly actor: (Actor | SystemActor) & Current;
  readonly privacy: Privacy;
}

/** What is recorded beside the rows of a change. */
export interface ChangeRecord {
  readonly audit: NewAuditEntry;
  readonly events?: readonly NewEvent[];
  readonly jobs?: readonly NewJob[];
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
  /** Left out: it runs as soon as a worker has it. */
  readonly wait?: JobWait;
  /** One of so many that all others, of whichever team, are run before it. */
  readonly isOneOfMany?: true;
}

/**
 * Writes the audit entry, the events and the jobs of a change. It needs the transaction of the
 * change, so they commit with it or not at all. It does not wait (see `Tx.send`). Workers are told
 * after the commit (`wake-ups.ts`).
 *
 * The data of an event is final here: the current privacy switches are applied. So are the details
 * of the audit entry (`core/audit-actions.ts`). An event that this kind of actor does not raise
 * (`core/events.ts`) is dropped.
 */
export function record(tx: Tx, context: RecordContext, change: ChangeRecord): void {
  const { teamId, actor, privacy, requestId, at } = context;
  const [first, ...others] = (change.events ?? [])
    .filter((event) => isRaisedBy(event.type, actor))
    .map(({ type, data }) => {
      const id = newId('event');
      const text = JSON.stringify({ team_id: teamId, ...redactEventData(privacy, type, data) });
      return [id, type, text, tx.trace?.event(type, id) ?? null];
    });
  const { action, targetId, details = {} } = change.audit;
  const who = [actor.kind, actor.id, action, targetId, requestId];
  const shown = JSON.stringify(redactAuditDetails(privacy, action, details));
  const audit = [teamId, at, newId('auditEntry'), ...who, shown];
  if (first) tx.send(RECORD_WITH_EVENT, [...audit, ...first]);
  else tx.send(RECORD, audit);
  for (const event of others) tx.send(INSERT_EVENT, [teamId, at, ...event, requestId]);
  for (const job of change.jobs ?? []) sendJob(tx, teamId, job);
}

const AUDIT = `insert into audit_log
     (team_id, created_at, id, actor_kind, actor_id, action, target_id, request_id, details)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

// No INSERT takes its rows from a SELECT. Citus would lock all shards for it, so that a shard whose
// move ends kept all teams waiting. Most changes have one event at most, and no job.
const RECORD = statement('outbox.record', AUDIT);
const RECORD_WITH_EVENT = statement(
  'outbox.recordWithEvent',
  `with event as (
     insert into event (team_id, created_at, id, type, data, traceparent, request_id)
     values ($1, $2, $10, $11, $12, $13, $8)
   )
   ${AUDIT}`,
  { wakes: 'events' },
);
const INSERT_EVENT = statement(
  'outbox.insertEvent',
  `insert into event (team_id, created_at, id, type, data, traceparent, request_id)
   values ($1, $2, $3, $4, $5, $6, $7)`,
  { wakes: 'events' },
);

/** Adds a job without a change, for instance the next step of a job. Opens a transaction. */
export async function enqueue(db: Db, teamId: string, job: NewJob): Promise<void> {
  await db.transaction(async (tx) => {
    sendJob(tx, teamId, job);
  });
}

const INSERT_JOB = statement(
  'outbox.insertJob',
  `insert into pending_job (team_id, id, task, payload, key, queue, run_at, priority)
   values ($1, $2, $3, $4, $5, $6, ${runAtText('$8', '$9')}, $7)`,
  { wakes: 'jobs' },
);

/** Of a job that is one of many. graphile-worker runs those with a lower number first. */
const LATER = 10;

function sendJob(tx: Tx, teamId: string, job: NewJob): void {
  const { task, payload, key, queue, wait, isOneOfMany = false } = job;
  tx.send(INSERT_JOB, [
    teamId,
    newId('job'),
    task,
    JSON.stringify(payload),
    key ?? null,
    queue ?? null,
    isOneOfMany ? LATER : null,
    ...waitValues(wait),
  ]);
}
