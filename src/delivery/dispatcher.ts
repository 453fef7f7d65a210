/**
 * The delivery loop of one worker. The delivery row is the truth; what is in memory is a claim on rows, and a job or a tick is only a wake-up.
 *
 *   event committed → fan-out (a row for each subscriber; up to its capacity the worker claims what it makes) → lanes → attempts → results, in batches
 *   tick → urgent rows; endpoints with something due → lanes, which ask for more as long as there is any
 *
 * A worker that dies loses its advisory lock with its session; the others let go what it had claimed at their next tick, so a kill costs half a second.
 * Should the answer to a claim be lost on the way, the worker itself lets go what it does not know of. Either can only lead to a second delivery, never to none.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { ENCRYPTED_COLUMNS } from '../core/encrypted-columns.ts';
import { decrypt, type AppSecrets } from '../core/encryption.ts';
import { newId } from '../core/ids.ts';
import { ProblemError } from '../core/problem.ts';
import type { Db } from '../db/client.ts';
import type { SessionLock } from '../db/session-lock.ts';
import type { AttemptResult, Sender } from './sender.ts';
import * as store from './store.ts';
import { deliveryHeaders, envelopeText } from './envelope.ts';
import { createLanes, type Flight, type Lane, type Limits } from './endpoint-queues.ts';
import { nextState } from './schedule.ts';

export interface DispatcherOptions {
  readonly db: Db;
  readonly lock: SessionLock;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly secrets: AppSecrets;
  readonly logger: Logger;
  readonly limits: Limits;
  readonly retryDelaysS: readonly number[];
  /** Called for each attempt that ended. */
  readonly observe: (status: string, seconds: number) => void;
  /** How often it looks by itself; for tests on a clock of their own. */
  readonly tickMs?: number;
}

export interface Dispatcher {
  /** Looks at once for what is to be done. */
  wake(): void;
  stats(): { inFlight: number; parked: number; queued: number };
  /** Gives back what is not attempted yet, lets attempts in flight end, and writes their results. */
  stop(): Promise<void>;
}

const TICK_MS = 500;
/** Of a tick; a healthy receiver answers within it. */
const PARK_AFTER_MS = 250;
const PARK_CHECK_MS = 50;
/** What was claimed longer ago is given back instead of attempted: its endpoint may have been paused or deleted meanwhile. */
const CLAIM_STALE_MS = 1_000;
/** Few, since each may have 50 subscribers, and claims wait for it. */
const FAN_OUT_EVENTS = 50;
/** What is claimed as it is made costs a third less, so while there is enough to do, events wait that long. */
const FAN_OUT_AFTER_MS = 100;
/** A look costs 10 µs an endpoint. */
const ENDPOINTS_PER_LOOK = 500;
const FLUSH_AFTER_MS = 10;
const FLUSH_SIZE = 500;
const RETRY_MS = 250;
/** For results, while the process stops: an attempt whose result is lost is made again. */
const LAST_TRIES = 8;
const FORGOTTEN_EVERY_TICKS = 10;

export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { db, lock, clock, logger } = options;
  const lanes = createLanes(options.limits);
  const results: store.RecordedAttempt[] = [];
  /** Rows whose result is not written yet. */
  const unwritten = new Set<string>();
  /** To decrypt one costs as much as to sign with it, and an endpoint's next delivery comes with the same one. */
  const secrets = new WeakMap<Lane, { readonly encrypted: Buffer; readonly text: string }>();
  const lookAfter = { pending: store.FIRST_ENDPOINT, retrying: store.FIRST_ENDPOINT };
  const wanted = { events: true, tick: true, giveBack: false };
  /** A statement failed whose claims may have been made nevertheless. */
  let isInDoubt = false;
  let stopping = false;
  let working: Promise<void> | null = null;
  let flushing: Promise<void> | null = null;
  let ticks = 0;
  let fannedOutAtMs = -Infinity;
  /** While very many wait, old and new ones take turns, so that what happened just now does not wait for all that happened before. */
  let fanOutNext: 'oldest' | 'newest' = 'oldest';

  const ticker = setInterval(() => {
    ticks += 1;
    wanted.events = true;
    wanted.tick = true;
    work();
  }, options.tickMs ?? TICK_MS);
  const parker = setInterval(() => {
    if (lanes.park(performance.now() - PARK_AFTER_MS)) wanted.giveBack = true;
    launch();
  }, PARK_CHECK_MS);
  work();

  /** Runs the database's part of the loop, one round at a time, while anything is wanted. */
  function work(): void {
    if (working || !hasWork()) return;
    working = rounds().finally(() => {
      working = null;
      // What was wanted after the last round had looked.
      work();
    });
  }

  function hasWork(): boolean {
    return !stopping && (wanted.tick || wanted.giveBack || lanes.isHungry() || mayFanOut());
  }

  function mayFanOut(): boolean {
    return wanted.events && (lanes.capacity() > 0 || performance.now() - fannedOutAtMs > FAN_OUT_AFTER_MS);
  }

  async function rounds(): Promise<void> {
    while (hasWork()) {
      if (!(await lock.isHeld())) {
        await delay(RETRY_MS);
        continue;
      }
      const { tick, giveBack } = wanted;
      wanted.tick = false;
      wanted.giveBack = false;
      try {
        await round(tick, giveBack);
      } catch (error) {
        logger.warn({ err: error }, 'the delivery loop could not use the database');
        isInDoubt = true;
        Object.assign(wanted, { events: true, tick: true });
        await delay(RETRY_MS);
      }
    }
  }

  async function round(tick: boolean, giveBack: boolean): Promise<void> {
    if (tick) await recover();
    if (tick || giveBack) {
      const unsent = lanes.withdraw(performance.now() - CLAIM_STALE_MS);
      if (unsent.length > 0) await store.releaseClaims(db, lock.number, unsent);
    }
    if (mayFanOut()) {
      wanted.events = false;
      accept(await store.claimUrgent(db, lock.number, options.limits.concurrency));
      await fanOut();
    }
    for (const kind of store.KINDS) {
      if (tick) await look(kind);
      await claim(kind);
    }
  }

  /** Lets go what nobody has in hand, whatever the database says. */
  async function recover(): Promise<void> {
    lanes.forgetIdle();
    if (isInDoubt || ticks % FORGOTTEN_EVERY_TICKS === 0)
      await store.releaseForgotten(db, lock.number, [...unwritten, ...lanes.queuedIds()]);
    isInDoubt = false;
    for (const { team_id, endpoint_id, status } of await store.releaseDead(db))
      lanes.setMore(lanes.laneOf(team_id, endpoint_id), status);
  }

  async function fanOut(): Promise<void> {
    const at = clock.now();
    fannedOutAtMs = performance.now();
    const { taken, claimed } = await db.transaction(async (tx) => {
      const rows = await store.takeEvents(tx, fanOutNext, FAN_OUT_EVENTS);
      const { deliveries, claims } = planDeliveries(rows, at);
      const events = [
        ...new Map(rows.map((row) => [row.event_id, { teamId: row.team_id, id: row.event_id }])).values(),
      ];
      if (rows.length > 0) store.insertDeliveries(tx, { at, worker: lock.number, events, deliveries });
      return { taken: events.length, claimed: claims };
    });
    accept(claimed);
    const isAll = taken < FAN_OUT_EVENTS;
    fanOutNext = isAll || fanOutNext === 'newest' ? 'oldest' : 'newest';
    if (!isAll) wanted.events = true;
  }

  /** A row for each subscriber; this worker claims at once as many as it has room for, but none before older ones of the same endpoint. */
  function planDeliveries(
    rows: readonly store.FanOutRow[],
    at: Date,
  ): { deliveries: store.NewDelivery[]; claims: store.ClaimedRow[] } {
    let capacity = lanes.capacity();
    const taken = new Map<Lane, number>();
    const deliveries: store.NewDelivery[] = [];
    const claims: store.ClaimedRow[] = [];
    for (const row of rows) {
      const { team_id: teamId, event_id: eventId, event_type: eventType, endpoint_id: endpointId } = row;
      if (endpointId === null) continue;
      const lane = lanes.laneOf(teamId, endpointId);
      const already = taken.get(lane) ?? 0;
      const claimed = capacity > 0 && !lane.more.pending && already < lanes.roomOf(lane);
      const id = newId('webhookDelivery');
      deliveries.push({ teamId, id, endpointId, eventId, eventType, claimed });
      if (claimed) {
        capacity -= 1;
        taken.set(lane, already + 1);
        const state = {
          status: 'pending',
          attempt: 0,
          extra_attempts: 0,
          next_try_at: at.toISOString(),
          urgent: false,
        } as const;
        claims.push({ ...row, ...state, id, endpoint_id: endpointId });
      } else lanes.setMore(lane, 'pending');
    }
    return { deliveries, claims };
  }

  /** The next endpoints with something due, from where the last look ended: those that came without a wake-up, whose retry's time has come, or whose pause ended. */
  async function look(kind: store.Kind): Promise<void> {
    const { due, next } = await store.findWaiting(db, kind, {
      after: lookAfter[kind],
      limit: ENDPOINTS_PER_LOOK,
      now: clock.now(),
    });
    lookAfter[kind] = next;
    for (const { team_id, endpoint_id } of due) lanes.setMore(lanes.laneOf(team_id, endpoint_id), kind);
  }

  async function claim(kind: store.Kind): Promise<void> {
    const shares = lanes.ask(kind);
    if (shares.length === 0) return;
    const rows = await store.claimDue(db, kind, { worker: lock.number, shares, now: clock.now() });
    const came = new Map<Lane, number>();
    for (const row of rows) {
      const lane = lanes.laneOf(row.team_id, row.endpoint_id);
      came.set(lane, (came.get(lane) ?? 0) + 1);
    }
    accept(rows);
    for (const { lane, room } of shares) if (came.get(lane) === room) lanes.setMore(lane, kind);
  }

  function accept(rows: readonly store.ClaimedRow[]): void {
    const nowMs = performance.now();
    for (const row of rows) lanes.accept(row, nowMs);
    launch();
  }

  function launch(): void {
    if (stopping) return;
    const nowMs = performance.now();
    for (let flight = lanes.next(nowMs); flight; flight = lanes.next(nowMs)) void attempt(flight);
    work();
  }

  /** Never rejects: what fails in here is the delivery's result. */
  async function attempt(flight: Flight): Promise<void> {
    const { row } = flight;
    unwritten.add(row.id);
    const result = await send(flight);
    const at = clock.now();
    const before = {
      status: row.status,
      attempt: row.attempt,
      extraAttempts: row.extra_attempts,
      nextTryAt: row.next_try_at === null ? null : new Date(row.next_try_at),
    };
    const isExtra = row.urgent && row.status !== 'pending';
    const state = nextState(
      before,
      { ok: result.ok, at, isExtra, retryAfterS: result.retryAfterS },
      options.retryDelaysS,
    );
    results.push({
      teamId: row.team_id,
      id: row.id,
      endpointId: row.event_type === 'ping' ? '' : row.endpoint_id,
      ...state,
      wasUrgent: row.urgent,
      at,
      responseCode: result.responseCode,
      responseExcerpt: result.responseExcerpt,
      responseMs: result.responseMs,
      error: result.error,
    });
    options.observe(state.status, result.responseMs / 1000);
    lanes.land(flight, result.ok ? 'good' : result.error === 'timeout' ? 'timeout' : 'failed');
    launch();
    flush();
  }

  async function send({ row, lane }: Flight): Promise<AttemptResult> {
    const { team_id: teamId, event_id, event_type } = row;
    try {
      const body = envelopeText({
        id: event_id,
        type: event_type,
        createdAt: row.event_created_at,
        apiVersion: row.api_version,
        teamId,
        data: row.event_data,
      });
      const headers = deliveryHeaders(body, { secret: secretOf(row, lane), eventId: event_id, at: clock.now() });
      return await options.sender.send(row.url, headers, body);
    } catch (error) {
      // Our own fault (a secret that no key opens): it must not stop the loop, and the operator must hear of it.
      logger.error({ err: error, delivery: row.id }, 'a delivery could not be made');
      return {
        ok: false,
        responseCode: null,
        responseExcerpt: null,
        responseMs: 0,
        error: 'internal',
        retryAfterS: null,
      };
    }
  }

  function secretOf({ team_id, endpoint_id, secret_encrypted: encrypted }: store.ClaimedRow, lane: Lane): string {
    const known = secrets.get(lane);
    if (known?.encrypted.equals(encrypted)) return known.text;
    const text = decrypt(encrypted, options.secrets, ENCRYPTED_COLUMNS.webhookSecret.context(team_id, endpoint_id));
    secrets.set(lane, { encrypted, text });
    return text;
  }

  function flush(): void {
    flushing ??= writeResults().finally(() => {
      flushing = null;
      if (results.length > 0) flush();
    });
  }

  async function writeResults(): Promise<void> {
    if (results.length < FLUSH_SIZE) await delay(FLUSH_AFTER_MS);
    const batch = results.splice(0, FLUSH_SIZE);
    await write(batch);
    for (const { id } of batch) unwritten.delete(id);
  }

  /** Until it succeeds. Never rejects. */
  async function write(batch: readonly store.RecordedAttempt[]): Promise<void> {
    for (let tries = 1; !stopping || tries <= LAST_TRIES; tries += 1) {
      try {
        return await store.recordAttempts(db, lock.number, batch, endpointOutcomes(batch));
      } catch (error) {
        const isRefused = !(error instanceof ProblemError && error.code === 'unavailable');
        if (isRefused && batch.length === 1) {
          // Better made again and again, loudly, than in the way of all others.
          logger.error({ err: error, delivery: batch[0]?.id }, 'the result of a delivery is refused by the database');
          return;
        }
        if (isRefused) {
          const half = batch.length >> 1;
          await write(batch.slice(0, half));
          await write(batch.slice(half));
          return;
        }
        logger.warn({ err: error }, 'results of deliveries could not be written yet');
        await delay(RETRY_MS);
      }
    }
  }

  async function stop(): Promise<void> {
    stopping = true;
    clearInterval(ticker);
    clearInterval(parker);
    await working;
    const unsent = lanes.withdraw(Infinity);
    // Should this fail, the end of the lock gives it back.
    if (unsent.length > 0)
      await store
        .releaseClaims(db, lock.number, unsent)
        .catch((error: unknown) => logger.warn({ err: error }, 'claims could not be given back'));
    while (lanes.flights.size > 0) await delay(FLUSH_AFTER_MS);
    while (flushing) await flushing;
  }

  return {
    wake: () => {
      wanted.events = true;
      work();
    },
    stats: lanes.stats,
    stop,
  };
}

/** What a batch of results says of each endpoint: its last success, and the first failure that no success followed. Tests of an endpoint say nothing. */
function endpointOutcomes(batch: readonly store.RecordedAttempt[]): store.EndpointOutcome[] {
  const outcomes = new Map<
    string,
    { teamId: string; endpointId: string; lastSuccessAt: Date | null; failingSince: Date | null }
  >();
  for (const { teamId, endpointId, status, at } of batch) {
    if (endpointId === '') continue;
    const key = `${teamId}\n${endpointId}`;
    const outcome = outcomes.get(key) ?? { teamId, endpointId, lastSuccessAt: null, failingSince: null };
    outcomes.set(key, outcome);
    if (status === 'ok') {
      outcome.lastSuccessAt = at;
      outcome.failingSince = null;
    } else outcome.failingSince ??= at;
  }
  return [...outcomes.values()];
}
