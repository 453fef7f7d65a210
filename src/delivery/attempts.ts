/** Launches the attempts of one worker as slots allow. Each attempt ends in a result. */
import { ENCRYPTED_COLUMNS } from '../core/encrypted-columns.ts';
import { decrypt } from '../core/encryption.ts';
import { NO_ANSWER, type AttemptResult } from './attempt-result.ts';
import type { ClaimedDelivery } from './claim-store.ts';
import type { EndpointQueue, Flight, Pace } from './endpoint-queue.ts';
import { deliveryHeaders, envelopeText } from './envelope.ts';
import type { Loop } from './loop.ts';
import type { RecordedAttempt } from './result-store.ts';
import { flush } from './results.ts';
import { nextState } from './schedule.ts';

/** Queues claimed deliveries, and launches what it can. */
export function accept(loop: Loop, rows: readonly ClaimedDelivery[]): void {
  const nowMs = performance.now();
  for (const row of rows) loop.queues.accept(row, nowMs);
  launch(loop);
}

/** Launches attempts until every slot is taken or no queue is ready. */
export function launch(loop: Loop): void {
  const { queues, state } = loop;
  if (state.mode !== 'running') return;
  const nowMs = performance.now();
  for (let flight = queues.next(nowMs); flight; flight = queues.next(nowMs))
    void attempt(loop, flight);
}

/** Makes one attempt. Never rejects: a failure becomes the attempt's result. */
async function attempt(loop: Loop, flight: Flight): Promise<void> {
  const { options, queues, state } = loop;
  state.unwritten.add(flight.row.id);
  const result = await send(loop, flight);
  const recorded = recordOf(loop, flight.row, result);
  state.results.push(recorded);
  options.observe(recorded.status, result.responseMs / 1000);
  queues.land(flight, paceOf(result));
  launch(loop);
  loop.startRounds();
  flush(loop);
}

async function send(loop: Loop, { row, queue }: Flight): Promise<AttemptResult> {
  const { sender, clock, logger } = loop.options;
  try {
    const body = envelopeText({
      id: row.event_id,
      type: row.event_type,
      createdAt: row.event_created_at,
      apiVersion: row.api_version,
      teamId: row.team_id,
      data: row.event_data,
    });
    const secret = secretOf(loop, row, queue);
    const headers = deliveryHeaders(body, {
      secrets: [secret],
      eventId: row.event_id,
      at: clock.now(),
    });
    return await sender.send(row.url, headers, body);
  } catch (error) {
    // This is a fault of ours, for instance a secret that no key can decrypt. It must not stop the
    // loop, and the operator must see it.
    logger.error({ err: error, delivery: row.id }, 'a delivery could not be attempted');
    return { ...NO_ANSWER, responseMs: 0, error: 'internal' };
  }
}

/** Caches each endpoint's secret, because decrypting it costs as much as signing with it. */
function secretOf({ options, state }: Loop, row: ClaimedDelivery, queue: EndpointQueue): string {
  const encrypted = row.secret_encrypted;
  const known = state.secrets.get(queue);
  if (known?.encrypted.equals(encrypted)) return known.text;
  const context = ENCRYPTED_COLUMNS.webhookSecret.context(row.team_id, row.endpoint_id);
  const text = decrypt(encrypted, options.secrets, context);
  state.secrets.set(queue, { encrypted, text });
  return text;
}

/** Returns the delivery as it is after the attempt. */
function recordOf({ options }: Loop, row: ClaimedDelivery, result: AttemptResult): RecordedAttempt {
  const at = options.clock.now();
  const before = {
    status: row.status,
    attempt: row.attempt,
    extraAttempts: row.extra_attempts,
    nextTryAt: row.next_try_at === null ? null : new Date(row.next_try_at),
  };
  const { ok, responseCode, responseExcerpt, responseMs, error, retryAfterS } = result;
  const isExtra = row.urgent && row.status !== 'pending';
  return {
    teamId: row.team_id,
    id: row.id,
    endpointId: row.endpoint_id,
    isTest: row.event_type === 'ping',
    ...nextState(before, { ok, at, isExtra, retryAfterS }, options.retryDelaysS),
    wasUrgent: row.urgent,
    at,
    responseCode,
    responseExcerpt,
    responseMs,
    error,
  };
}

function paceOf({ ok, error }: AttemptResult): Pace {
  if (ok) return 'good';
  return error === 'timeout' ? 'timeout' : 'failed';
}
