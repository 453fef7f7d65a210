/** Why something waits, from what the database knows. Pure functions. */
import { JOB_ACTORS } from '../core/actor.ts';
import { ERROR_MEANINGS, isDeliveryError } from '../core/delivery-errors.ts';
import { isSandbox, SANDBOX_ACTOR } from '../core/sandbox.ts';
import { spanOf } from '../core/terminal.ts';
import { KEPT_DAYS_MAX } from '../features/requests/rules.ts';
import type { AuditRow, DeliveryRow, EventRow, RequestRow } from './find-store.ts';
import { keptDays, SOON_MS } from './rules.ts';
import type { Reason } from './reason-codes.ts';
import {
  isCut,
  type EndpointRow,
  type InHandRow,
  type LockRow,
  type PauseRow,
  type TeamRow,
} from './state-store.ts';

/** What the reasons of one team's rows are made of. */
export interface Scene {
  readonly now: Date;
  readonly workers: ReadonlySet<number>;
  readonly team: TeamRow | null;
  readonly endpoints: readonly EndpointRow[];
  readonly inHand: readonly InHandRow[];
  /** By the id of the endpoint. */
  readonly pauses: ReadonlyMap<string, PauseRow>;
  /** By the id of the event, the delivery or the endpoint. */
  readonly locks: ReadonlyMap<string, LockRow>;
  /** How many events wait for their fan-out and are older than this one. */
  readonly olderEvents: ReadonlyMap<string, number>;
}

/** "2026-11-26 10:15:02Z (3 min ago)". */
export function timeOf(at: Date | string, now: Date): string {
  const date = new Date(at);
  const ms = now.getTime() - date.getTime();
  const text = `${date.toISOString().slice(0, 19).replace('T', ' ')}Z`;
  return `${text} (${ms >= 0 ? `${spanOf(ms)} ago` : `in ${spanOf(-ms)}`})`;
}

/** "1000 or more" instead of a count that has stopped. */
export function countOf(count: number): string {
  return isCut(count) ? `${count - 1} or more` : String(count);
}

/** What is to say about a team. */
export function teamReasons(team: TeamRow, now: Date): Reason[] {
  const { id, status, erasing_since: erasing, receivers_fail_until: failUntil } = team;
  const reasons: Reason[] = [];
  if (erasing !== null)
    reasons.push({ code: 'team_erased', text: `The team is being erased since ${erasing}.` });
  else if (status === 'suspended')
    reasons.push({
      code: 'team_suspended',
      text: 'The team is suspended: its keys get 403. Its webhooks are sent all the same.',
    });
  else if (status !== 'active')
    reasons.push({
      code: 'team_ended',
      text: `The team is ${status}: its keys get 403. What waits is sent all the same.`,
    });
  if (isSandbox(id) && failUntil !== null && Date.parse(failUntil) > now.getTime())
    reasons.push({
      code: 'receivers_fail',
      text: `The sandbox plays that its receivers fail, until ${failUntil}.`,
    });
  return reasons;
}

/** Nothing goes on without a worker. */
export const NO_WORKER: Reason = {
  code: 'no_worker',
  text: 'No worker is alive. Start one: nothing is sent until then (alert WorkersGone).',
};

function lockReason(scene: Scene, what: string, id: string): Reason[] {
  const lock = scene.locks.get(id);
  if (!lock) return [];
  const since = lock.xact_start === null ? '' : ` since ${timeOf(lock.xact_start, scene.now)}`;
  const who = lock.application_name === '' ? '' : ` (${lock.application_name})`;
  return [
    {
      code: 'row_locked',
      text: `The session ${lock.pid}${who} has locked ${what}${since}. Workers pass over it.`,
    },
  ];
}

/** Why an event has no deliveries or no place yet. `deliveries` are its own. */
export function eventReasons(
  scene: Scene,
  event: EventRow,
  deliveries: readonly DeliveryRow[],
): Reason[] {
  if (event.fanned_out_at === null) return fanOutReasons(scene, event);
  return [
    ...missingReasons(scene, event, deliveries),
    ...(event.has_place ? [] : placeReasons(scene, event)),
  ];
}

function fanOutReasons(scene: Scene, event: EventRow): Reason[] {
  const older = scene.olderEvents.get(event.id) ?? 0;
  const age = scene.now.getTime() - Date.parse(event.created_at);
  const text =
    `The event has no deliveries yet. It waits for ${spanOf(age)}; ` +
    `${countOf(older)} older events of all teams wait, too` +
    (age > SOON_MS ? ' (alert FanOutLate).' : '.');
  return [
    ...(scene.workers.size === 0 ? [NO_WORKER] : []),
    ...lockReason(scene, 'the event', event.id),
    // A paused one, too: it may have been active when the event happened.
    ...subscribersOf(scene, event).flatMap(({ id }) => lockReason(scene, `the endpoint ${id}`, id)),
    { code: 'fan_out_waits', text },
  ];
}

function subscribersOf({ endpoints }: Scene, event: EventRow): EndpointRow[] {
  return endpoints.filter(({ events }) => events.includes(event.type));
}

function placeReasons(scene: Scene, { fanned_out_at: at }: EventRow): Reason[] {
  const isOld = scene.now.getTime() - Date.parse(at ?? '') > SOON_MS;
  const text =
    'The event has no place in GET /events?order=asc yet' +
    (isOld ? '.' : '. A worker gives it within half a second.');
  return [...(scene.workers.size === 0 ? [NO_WORKER] : []), { code: 'place_waits', text }];
}

const DELIVERIES_GONE: Reason = {
  code: 'deliveries_gone',
  text:
    'Its deliveries are gone: the endpoint was deleted, or they are older than ' +
    `${keptDays('deliveries')} days.`,
};

/** Why endpoints got no delivery of an event that was fanned out. */
function missingReasons(
  scene: Scene,
  event: EventRow,
  deliveries: readonly DeliveryRow[],
): Reason[] {
  const age = scene.now.getTime() - Date.parse(event.created_at);
  const isOld = age > keptDays('deliveries') * 86_400_000;
  // A ping has a delivery from the start, and no endpoint subscribes to it.
  if (deliveries.length === 0 && (isOld || event.type === 'ping')) return [DELIVERIES_GONE];
  const reached = new Set(deliveries.map((delivery) => delivery.endpoint_id));
  const missing = subscribersOf(scene, event).filter(({ id }) => !reached.has(id));
  const fannedOutAt = Date.parse(event.fanned_out_at ?? '');
  const reasons = missing.map(({ id, status, created_at: createdAt }): Reason => {
    if (Date.parse(createdAt) > fannedOutAt)
      return {
        code: 'endpoint_not_active_then',
        text: `The endpoint ${id} subscribes to ${event.type}, but was created after the event.`,
      };
    const pause = scene.pauses.get(id);
    const now = status === 'active' ? 'active now' : `${status}${pausedBy(pause, scene.now)}`;
    return {
      code: 'endpoint_not_active_then',
      text:
        `The endpoint ${id} got no delivery. It is ${now}. An endpoint gets only what happens ` +
        `while it is active and subscribes to ${event.type}.`,
    };
  });
  if (deliveries.length > 0 || reasons.length > 0) return reasons;
  const { length } = scene.endpoints;
  return [
    {
      code: 'no_subscriber',
      text: `None of the team's ${length} endpoints subscribes to ${event.type}.`,
    },
  ];
}

function pausedBy(pause: PauseRow | undefined, now: Date): string {
  if (!pause) return ' (by whom is not known any more)';
  const { actor_kind: kind, actor_id: id, created_at: at, request_id: requestId } = pause;
  return `, by ${kind} ${id} at ${timeOf(at, now)}, request ${requestId}`;
}

/** Why a delivery waits, or how it ended. The first reason is the main one. */
export function deliveryReasons(scene: Scene, delivery: DeliveryRow): Reason[] {
  const { status, urgent, claimed_by: worker } = delivery;
  const endpoint = scene.endpoints.find(({ id }) => id === delivery.endpoint_id);
  if (worker !== null) return claimReasons(scene, delivery, worker);
  if (status === 'ok' && !urgent) return [deliveredReason(delivery)];
  if (!endpoint)
    return [
      {
        code: 'endpoint_deleted',
        text: 'The endpoint is deleted. Its deliveries are not sent any more.',
      },
    ];
  if (urgent)
    return [
      {
        code: 'attempt_requested',
        text: 'Somebody has asked for an attempt now, whatever the state of the endpoint.',
      },
      ...dueReasons(scene, delivery),
    ];
  if (status === 'gave_up')
    return [
      {
        code: 'gave_up',
        text:
          `Given up after ${delivery.attempt} attempts; the last: ${lastOf(delivery)}. ` +
          'The customer can send it again.',
      },
    ];
  if (endpoint.status !== 'active') return [pausedReason(scene, endpoint)];
  const dueAt = Date.parse(delivery.next_try_at ?? '');
  if (dueAt > scene.now.getTime()) {
    const after = delivery.attempt === 0 ? '' : ` The last: ${lastOf(delivery)}.`;
    return [
      ...(scene.workers.size === 0 ? [NO_WORKER] : []),
      {
        code: 'next_attempt',
        text:
          `Attempt ${delivery.attempt + 1} is due at ` +
          `${timeOf(new Date(dueAt), scene.now)}.${after}`,
      },
      ...lockReason(scene, 'the delivery', delivery.id),
    ];
  }
  return dueReasons(scene, delivery);
}

function claimReasons(scene: Scene, delivery: DeliveryRow, worker: number): Reason[] {
  const locks = [
    ...lockReason(scene, 'the delivery', delivery.id),
    ...lockReason(scene, 'the endpoint', delivery.endpoint_id),
  ];
  if (scene.workers.has(worker))
    return [
      {
        code: 'claimed',
        text:
          `The worker ${worker}, which is alive, has it in hand: attempt ` +
          `${delivery.attempt + 1} is being made, waits for its turn at this endpoint, ` +
          'or its result is being written.',
      },
      ...locks,
    ];
  return [
    ...(scene.workers.size === 0 ? [NO_WORKER] : []),
    {
      code: 'claimed_by_dead_worker',
      text:
        `The worker ${worker} had it in hand and is dead. ` +
        'Another worker takes it within a second.',
    },
    ...locks,
  ];
}

function deliveredReason(delivery: DeliveryRow): Reason {
  const { attempt, created_at: createdAt, last_attempt_at: at } = delivery;
  const ms = Date.parse(at ?? '') - Date.parse(createdAt);
  return {
    code: 'delivered',
    text:
      `Delivered with attempt ${attempt}: ${outcomeOf(delivery)}, ` +
      `${spanOf(ms)} after the event was fanned out.`,
  };
}

/** "500 in 12 ms", or the name of what went wrong. */
export function outcomeOf({
  response_code: code,
  response_ms: ms,
  error,
}: Pick<DeliveryRow, 'response_code' | 'response_ms' | 'error'>): string {
  const what = error ?? (code === null ? 'no answer' : String(code));
  return ms === null ? what : `${what} in ${spanOf(ms)}`;
}

/** The last outcome, and what it means. */
function lastOf(delivery: DeliveryRow): string {
  const { error } = delivery;
  const outcome = outcomeOf(delivery);
  return error !== null && isDeliveryError(error)
    ? `${outcome} (${ERROR_MEANINGS[error].en})`
    : outcome;
}

/** Why an endpoint gets nothing. */
export function pausedReason(scene: Scene, endpoint: EndpointRow): Reason {
  const by = pausedBy(scene.pauses.get(endpoint.id), scene.now);
  if (endpoint.status === 'disabled')
    return { code: 'endpoint_disabled', text: `The endpoint is disabled${by}.` };
  const since =
    endpoint.failing_since === null
      ? ''
      : ` It has failed since ${timeOf(endpoint.failing_since, scene.now)}.`;
  return {
    code: 'endpoint_disabled_failures',
    text: `The endpoint is paused after failures${by}.${since} The team's admins resume it.`,
  };
}

/** Why a delivery that is due, and that no worker has claimed, is not attempted. */
function dueReasons(scene: Scene, delivery: DeliveryRow): Reason[] {
  const { endpoint_id: endpointId, next_try_at: due } = delivery;
  const endpoint = scene.endpoints.find(({ id }) => id === endpointId);
  const lateMs = scene.now.getTime() - Date.parse(due ?? delivery.created_at);
  const waiting = endpoint ? endpoint.requested + endpoint.pending + endpoint.retrying : 0;
  const held = scene.inHand.filter((row) => row.endpoint_id === endpointId);
  const locks = lockReason(scene, 'the delivery', delivery.id);
  if (scene.workers.size === 0) return [NO_WORKER, ...locks];
  if (locks.length > 0) return locks;
  const isNew = lateMs <= SOON_MS;
  // Nobody knows since when an attempt is requested.
  if (held.length > 0 && (!isNew || delivery.urgent))
    return [
      {
        code: 'endpoint_at_limit',
        text:
          `Due for ${spanOf(lateMs)}. The endpoint is at its own limit: ` +
          held.map(({ worker, count }) => `worker ${worker} has ${count} in hand`).join(', ') +
          `, and ${countOf(waiting)} wait. It is slow or fails.`,
      },
    ];
  if (isNew)
    return [{ code: 'due_now', text: 'It is due. A worker claims it within half a second.' }];
  return [
    waiting > 1
      ? {
          code: 'behind_others',
          text: `Due for ${spanOf(lateMs)}, and ${countOf(waiting)} wait for this endpoint.`,
        }
      : {
          code: 'not_claimed',
          text: `Due for ${spanOf(lateMs)}, and no worker claims it (alert DeliveriesLate).`,
        },
  ];
}

/** What the request of an audit entry was, if no line of the request log tells. */
export function sourceReason(entries: readonly AuditRow[]): Reason | null {
  const [first] = entries;
  if (!first) return null;
  const { actor_kind: kind, actor_id: id } = first;
  if (kind === SANDBOX_ACTOR.kind && id === SANDBOX_ACTOR.id)
    return { code: 'by_a_simulation', text: 'A sandbox: something was simulated in it.' };
  if (Object.values(JOB_ACTORS).some((job) => job.kind === kind && job.id === id))
    return { code: 'by_a_job', text: `A job of the service: ${id}.` };
  switch (kind) {
    case 'user':
      return { code: 'by_the_app', text: `A call of the app, by the user ${id} (tRPC).` };
    case 'platform':
      return {
        code: 'by_the_platform',
        text: `A call of the host application, by its service ${id} (tRPC).`,
      };
    case 'system':
      return { code: 'by_the_service', text: `The service itself: ${id}.` };
    default:
      return {
        code: 'request_not_logged',
        text:
          `By the key ${id}. The request log does not have the call: it keeps ${KEPT_DAYS_MAX} ` +
          'days at most (REQUEST_LOG_DAYS), may leave out calls without an error ' +
          '(REQUEST_LOG_SAMPLE), is written two seconds late, and loses two seconds when a ' +
          'process is killed.',
      };
  }
}

/** What to say about a request of a key without an audit entry. */
export function emptyRequestReason({ method, status, error_code: code }: RequestRow): Reason {
  if (status >= 400)
    return {
      code: 'request_refused',
      text: `The request was refused with ${status} ${code ?? ''}. It wrote nothing.`,
    };
  if (method === 'GET' || method === 'HEAD')
    return { code: 'request_read', text: 'The request only read. It raises no event.' };
  return {
    code: 'request_wrote_nothing',
    text:
      'The request changed nothing: it asked for what there was, or an earlier request with the ' +
      'same Idempotency-Key had done it. That one has its own id.',
  };
}
