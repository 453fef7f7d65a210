import type { Actor } from '../core/actor.ts';
import { isRaisedBy, type NewEvent } from '../core/events.ts';
import { newId } from '../core/ids.ts';
import { redactEventData, type Privacy } from '../core/privacy.ts';
import { statement, type Tx } from './client.ts';

/** Who did it, for whom, when, in answer to what. */
export interface Occasion {
  readonly teamId: string;
  readonly actor: Actor;
  readonly privacy: Privacy;
  readonly requestId: string;
  readonly at: Date;
}

/** What one write leaves behind beside its rows. */
export interface Traces {
  readonly audit: {
    readonly action: string;
    readonly targetId: string;
    readonly details?: Readonly<Record<string, unknown>>;
  };
  readonly events?: readonly NewEvent[];
  readonly jobs?: readonly NewJob[];
}

/** A wake-up for the worker. `key` makes it one of a kind while it waits. */
export interface NewJob {
  readonly task: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly key?: string;
}

/** Wakes a worker's delivery loop. A lost wake-up costs half a second: the loop looks by itself, too. */
export const WAKE_DELIVERIES = 'wake_deliveries';

const JOB_MAX_ATTEMPTS = 25;

/**
 * Writes the audit entry, raises the events and enqueues the jobs of a change, in its transaction: no commit, no trace; commit, always all of them.
 * One statement, and it waits for nobody (see `Tx.send`).
 *
 * An event's data is final here: the privacy switches of this moment are applied, and an event that this actor's action does not raise
 * (`core/events.ts`) is left out. No details of a person go into the audit entry but ids.
 */
export function record(tx: Tx, occasion: Occasion, traces: Traces): void {
  const { teamId, actor, at } = occasion;
  const events = (traces.events ?? [])
    .filter((event) => isRaisedBy(event.type, actor))
    .map((event) => ({
      id: newId('event'),
      type: event.type,
      data: { team_id: teamId, ...redactEventData(occasion.privacy, event.type, event.data) },
    }));
  const wakeUps = events.length > 0 ? [{ task: WAKE_DELIVERIES, payload: {} }] : [];
  const jobs = [...(traces.jobs ?? []), ...wakeUps].map((job: NewJob) => ({
    task: job.task,
    payload: job.payload,
    key: job.key ?? null,
  }));
  tx.send(RECORD, [
    teamId,
    at,
    newId('auditEntry'),
    actor.kind,
    actor.id,
    traces.audit.action,
    traces.audit.targetId,
    occasion.requestId,
    JSON.stringify(traces.audit.details ?? {}),
    JSON.stringify(events),
    JSON.stringify(jobs),
  ]);
}

const RECORD = statement(
  'outbox.record',
  `with audit as (
     insert into audit_log (team_id, created_at, id, actor_kind, actor_id, action, target_id, request_id, details) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   ), events as (
     insert into event (team_id, created_at, id, type, data)
     select $1, $2, e.id, e.type, e.data from json_to_recordset($10::json) as e (id text, type text, data json)
   )
   select (graphile_worker.add_job(identifier => j.task, payload => j.payload, job_key => j.key, max_attempts => ${JOB_MAX_ATTEMPTS})).id
   from json_to_recordset($11::json) as j (task text, payload json, key text)`,
);
