/** Launches the attempts of one worker. Each one that is made ends in a result. */
import { ENCRYPTED_COLUMNS, type EncryptedColumn } from '../core/encrypted-columns.ts';
import { decrypt } from '../core/encryption.ts';
import { withholdEventData, withholdEventValues } from '../core/events.ts';
import { isSandbox } from '../core/sandbox.ts';
import { readEarlierSecrets, stillValid } from '../core/signing-secrets.ts';
import { modeOf } from '../core/sandbox.ts';
import { teamKey } from '../core/team-key.ts';
import type { AttemptTrace } from '../core/trace.ts';
import { EXCERPT_MAX_CHARACTERS, NO_ANSWER, type AttemptResult } from './attempt-result.ts';
import { readPlayed, type ClaimedDelivery } from './claim-store.ts';
import type { Flight, Pace } from './endpoint-queue.ts';
import { deliveryHeaders, envelopeText, signingKeyOf, type SigningKey } from './envelope.ts';
import { TICK_MS, type DispatcherOptions, type Loop, type OpenedSecrets } from './loop.ts';
import type { RecordedAttempt } from './result-store.ts';
import { flush } from './results.ts';
import { nextState, type AttemptCause } from './schedule.ts';

/** How long a delivery waits that a fault of ours has kept from being attempted. */
const FAULT_TICKS = 20;
/** It is 10 s for the loop of a shard, too, which ticks more rarely. */
const FAULT_MAX_MS = FAULT_TICKS * TICK_MS;

/** What the trace of an attempt tells that could not be made. */
const FAULT: AttemptResult = { ...NO_ANSWER, responseMs: 0, error: 'internal' };

/** A sandbox as an attempt sees it. */
interface Played {
  /** The waits of the retry schedule are divided by this. */
  readonly speed: number;
  /** Every receiver fails. */
  readonly fails: boolean;
}

/** A live team. */
const LIVE: Played = { speed: 1, fails: false };

/** The result of an attempt whose receiver is not asked. */
const SIMULATED: AttemptResult = {
  ...NO_ANSWER,
  responseCode: 503,
  responseMs: 0,
  error: 'simulated',
};

/** Queues claimed deliveries, and launches what it can. */
export function accept(loop: Loop, rows: readonly ClaimedDelivery[]): void {
  const nowMs = loop.options.clock.monotonicMs();
  for (const row of rows) loop.queues.accept(row, nowMs);
  launch(loop);
}

/** Launches the attempts that no limit holds back. */
export function launch(loop: Loop): void {
  const { options, queues, state } = loop;
  while (state.mode === 'running') {
    const flight = queues.next(options.clock.monotonicMs());
    if (!flight) return;
    void attempt(loop, flight);
  }
}

/** Makes one attempt. What happens on the network is its result; a fault of ours has none. */
async function attempt(loop: Loop, flight: Flight): Promise<void> {
  const { options, queues, state } = loop;
  const { row } = flight;
  state.unwritten.add(teamKey(row.team_id, row.id));
  const trace = traceOf(loop, row);
  const traceparent = trace?.traceparent ?? row.event_traceparent;
  const made = await make(loop, flight, traceparent).catch((err: unknown) => {
    // For instance a secret that no key opens. The operator must see it.
    options.logger.error({ err, delivery: row.id }, 'a delivery could not be attempted');
    options.onFault?.(modeOf(row.team_id));
    return null;
  });
  const result = made?.result ?? FAULT;
  trace?.end(result);
  if (made) note(loop, flight, made);
  else keepClaim(loop, flight);
  queues.land(flight, paceOf(result), options.clock.monotonicMs());
  loop.startRounds();
  flush(loop);
}

interface Made {
  readonly result: AttemptResult;
  /** How fast the time of the schedule runs. */
  readonly speed: number;
}

function note({ options, queues, state }: Loop, { row, queue }: Flight, made: Made): void {
  const recorded = recordOf(options, row, made.result, made.speed);
  state.results.push(recorded);
  queues.addUnwritten(queue, 1);
  options.observe(recorded.status, made.result.responseMs / 1000, modeOf(row.team_id));
}

/**
 * Keeps the claim of a delivery that could not be attempted, so that nobody tries again at once.
 * Then it is a forgotten claim, and released as one: the schedule goes on as if nothing had been.
 */
function keepClaim({ options, queues, state }: Loop, { row, queue }: Flight): void {
  queues.addUnwritten(queue, 1);
  const forget = (): void => {
    state.unwritten.delete(teamKey(row.team_id, row.id));
    queues.addUnwritten(queue, -1);
    state.wanted.add('recovery');
  };
  const faultMs = FAULT_TICKS * (options.tickMs ?? TICK_MS);
  options.clock.after(Math.min(faultMs, FAULT_MAX_MS), forget);
}

/** In a sandbox receivers may be played, and time may run faster. Throws for a fault of ours. */
async function make(loop: Loop, flight: Flight, traceparent: string | null): Promise<Made> {
  const { team_id: teamId } = flight.row;
  const { speed, fails } = isSandbox(teamId) ? await findPlayed(loop, teamId) : LIVE;
  return { result: fails ? SIMULATED : await send(loop, flight, traceparent), speed };
}

/** Goes on with the trace of the call that raised the event. */
function traceOf({ options }: Loop, row: ClaimedDelivery): AttemptTrace | null {
  if (!options.tracing || row.event_traceparent === null) return null;
  return options.tracing.attempt(row.event_traceparent, {
    teamId: row.team_id,
    deliveryId: row.id,
    endpointId: row.endpoint_id,
    eventId: row.event_id,
    eventType: row.event_type,
    attempt: row.attempt,
  });
}

/**
 * What is played in a sandbox now. Attempts that ask at the same time share one query, so however
 * many there are, a sandbox has one at a time.
 */
async function findPlayed(
  { options, state }: Pick<Loop, 'options' | 'state'>,
  sandboxId: string,
): Promise<Played> {
  const { db, clock } = options;
  const asked = state.played.get(sandboxId) ?? readPlayed(db, sandboxId);
  state.played.set(sandboxId, asked);
  try {
    const row = await asked;
    const failsUntil = row?.receivers_fail_until ?? null;
    return {
      speed: row?.speed ?? 1,
      fails: failsUntil !== null && clock.now().getTime() < Date.parse(failsUntil),
    };
  } finally {
    state.played.delete(sandboxId);
  }
}

async function send(
  loop: Loop,
  flight: Flight,
  traceparent: string | null,
): Promise<AttemptResult> {
  const { sender, clock } = loop.options;
  const { row } = flight;
  const body = envelopeText({
    id: row.event_id,
    type: row.event_type,
    createdAt: row.event_created_at,
    apiVersion: row.api_version,
    teamId: row.team_id,
    data: row.shows_person ? row.event_data : withoutPerson(row),
  });
  const at = clock.now();
  const keys = keysAt(loop, flight, at);
  const headers = deliveryHeaders(body, { keys, eventId: row.event_id, at });
  if (traceparent !== null) headers['traceparent'] = traceparent;
  return sender.send(row.url, headers, body);
}

/** Returns the keys of the secrets that are valid at `at`, the current one first. */
function keysAt(loop: Loop, flight: Flight, at: Date): readonly SigningKey[] {
  const { current, earlier } = openSecrets(loop, flight);
  return [current, ...stillValid(earlier, at).map(({ key }) => key)];
}

/** Caches each endpoint's secrets, because decrypting one costs as much as signing with it. */
function openSecrets({ options, state }: Loop, { row, queue }: Flight): OpenedSecrets {
  const encrypted = row.secret_encrypted;
  const earlierEncrypted = row.earlier_secrets_encrypted;
  const known = state.secrets.get(queue);
  if (
    known?.encrypted.equals(encrypted) &&
    earlierEncrypted?.toString('latin1') === known.earlierEncrypted?.toString('latin1')
  )
    return known;
  const open = (column: EncryptedColumn, sealed: Buffer): string =>
    decrypt(sealed, options.secrets, column.context(row.team_id, row.endpoint_id));
  const opened = {
    encrypted,
    earlierEncrypted,
    current: signingKeyOf(open(ENCRYPTED_COLUMNS.webhookSecret, encrypted)),
    earlier:
      earlierEncrypted === null
        ? []
        : readEarlierSecrets(open(ENCRYPTED_COLUMNS.earlierWebhookSecrets, earlierEncrypted)).map(
            ({ secret, until }) => ({ key: signingKeyOf(secret), until }),
          ),
  };
  state.secrets.set(queue, opened);
  return opened;
}

/**
 * Returns the delivery as it is after the attempt, which ends now. The waits of the schedule are
 * divided by `speed`.
 */
export function recordOf(
  { clock, retryDelaysS }: Pick<DispatcherOptions, 'clock' | 'retryDelaysS'>,
  row: ClaimedDelivery,
  result: AttemptResult,
  speed: number,
): RecordedAttempt {
  const at = clock.now();
  const delaysS = speed === 1 ? retryDelaysS : retryDelaysS.map((delayS) => delayS / speed);
  const before = {
    status: row.status,
    attempt: row.attempt,
    scheduledAttempts: row.scheduled_attempts,
    nextTryAt: row.next_try_at === null ? null : new Date(row.next_try_at),
  };
  const { ok, responseCode, responseExcerpt, responseMs, error, retryAfterS } = result;
  return {
    teamId: row.team_id,
    id: row.id,
    endpointId: row.endpoint_id,
    isTest: row.event_type === 'ping',
    ...nextState(before, { ok, at, cause: causeOf(row), retryAfterS }, delaysS),
    wasUrgent: row.urgent,
    wasResent: row.resent,
    at,
    responseCode,
    responseExcerpt: responseExcerpt && quoteOf(row, responseExcerpt),
    responseMs,
    error,
  };
}

function withoutPerson({ event_type, event_data }: ClaimedDelivery): string {
  return JSON.stringify(withholdEventData(event_type, JSON.parse(event_data) as object));
}

/** What is kept of an answer: it may quote the event, and be shown when that no longer may be. */
function quoteOf({ event_type, event_data }: ClaimedDelivery, text: string): string {
  const isCut = text.length >= EXCERPT_MAX_CHARACTERS;
  return withholdEventValues(event_type, JSON.parse(event_data) as object, { text, isCut });
}

/** The first attempt of a test (`ping`) is its scheduled one. */
function causeOf({ urgent, resent, status }: ClaimedDelivery): AttemptCause {
  if (resent) return 'resent';
  return urgent && status !== 'pending' ? 'requested' : 'scheduled';
}

/** How the endpoint of an attempt goes on. */
export function paceOf({ ok, error }: Pick<AttemptResult, 'ok' | 'error'>): Pace {
  if (ok) return 'good';
  return error === 'timeout' ? 'timeout' : 'failed';
}
