/**
 * The delivery loop of one worker. The delivery row is the truth; what is in memory is a claim on rows, and a job or a tick is only a wake-up.
 *
 *   event committed → fan-out (a row for each subscriber; up to its capacity the worker claims what it makes) → lanes → attempts → results, in batches
 *   tick → urgent rows, due first attempts, due retries, endpoint by endpoint → lanes
 *
 * A worker that dies loses its advisory lock with its session; the others let go what it had claimed at their next tick, so a kill costs half a second.
 * Should the answer to a claim be lost on the way, the worker itself lets go what it does not know of. Either can only lead to a second delivery, never to none.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import { decrypt, type AppSecrets } from '../../core/encryption.ts';
import { newId } from '../../core/ids.ts';
import type { Db } from '../../db/client.ts';
import type { SessionLock } from '../../db/session-lock.ts';
import type { AttemptResult, Sender } from './attempt.ts';
import * as store from './delivery-store.ts';
import { deliveryHeaders, envelopeText } from './envelope.ts';
import { createLanes, type Delivery, type Flight, type Lane, type Limits } from './lanes.ts';
import { webhookSecretContext } from './rules.ts';
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
  /** Lets attempts in flight end, writes their results, and gives the rest back. */
  stop(): Promise<void>;
}

const TICK_MS = 500;
/** Half a tick in front of it; the loop looks this often for attempts that drag on. */
const PARK_CHECK_MS = 50;
const PARK_AFTER_MS = 250;
/** What was claimed longer ago is given back instead of attempted: its endpoint may have been paused or deleted meanwhile. */
const CLAIM_STALE_MS = 1_000;
const FAN_OUT_EVENTS = 500;
const FLUSH_AFTER_MS = 10;
const FLUSH_SIZE = 500;
const RETRY_MS = 250;
const FORGOTTEN_EVERY_TICKS = 10;

export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { db, lock, clock, logger } = options;
  const lanes = createLanes(options.limits);
  const results: store.RecordedAttempt[] = [];
  /** Rows whose result is not written yet. */
  const unwritten = new Map<string, Flight>();
  const after = { pending: { teamId: '', endpointId: '' }, retrying: { teamId: '', endpointId: '' } };
  let stopping = false;
  let wanted = { events: true, discovery: true, more: false };
  let working: Promise<void> | null = null;
  let flushing: Promise<void> | null = null;
  let ticks = 0;

  const ticker = setInterval(tick, options.tickMs ?? TICK_MS);
  const parker = setInterval(() => {
    lanes.park(performance.now() - PARK_AFTER_MS);
    launch();
  }, PARK_CHECK_MS);
  work();

  function tick(): void {
    ticks += 1;
    wanted = { events: true, discovery: true, more: wanted.more };
    work();
  }

  /** Runs the database's part of the loop, one round at a time, until nothing is wanted. */
  function work(): void {
    working ??= rounds().finally(() => {
      working = null;
    });
  }

  async function rounds(): Promise<void> {
    while (!stopping && (wanted.events || wanted.discovery || wanted.more)) {
      const now = wanted;
      wanted = { events: false, discovery: false, more: false };
      try {
        if (!(await lock.isHeld())) return;
        await round(now);
      } catch (error) {
        // The database is away, or refused: what was claimed meanwhile is found again by its absence from memory.
        logger.warn({ err: error }, 'the delivery loop could not use the database');
        ticks = 0;
        await delay(RETRY_MS);
      }
    }
  }

  async function round({ events, discovery, more }: typeof wanted): Promise<void> {
    if (discovery && ticks % FORGOTTEN_EVERY_TICKS === 0) await store.releaseForgotten(db, lock.number, inHand());
    if (discovery) await store.releaseDead(db);
    const stale = lanes.withdraw((delivery) => performance.now() - delivery.claimedAtMs > CLAIM_STALE_MS);
    if (stale.length > 0) await store.releaseClaims(db, lock.number, stale);
    if (events) while ((await fanOut()) === FAN_OUT_EVENTS && !stopping);
    if (events || discovery) accept(await store.claimUrgent(db, lock.number, options.limits.concurrency));
    if (more || discovery) await continueLanes();
    if (discovery) {
      await discover('pending');
      await discover('retrying');
    }
  }

  async function fanOut(): Promise<number> {
    const at = clock.now();
    const { taken, claimed } = await db.transaction(async (tx) => {
      const rows = await store.takeEvents(tx, FAN_OUT_EVENTS);
      const deliveries = planDeliveries(rows);
      const events = [...new Map(rows.map((row) => [row.event_id, { teamId: row.team_id, id: row.event_id }])).values()];
      if (rows.length > 0) store.insertDeliveries(tx, { at, worker: lock.number, events, deliveries: deliveries.map((delivery) => delivery.row) });
      return { taken: events.length, claimed: deliveries.flatMap((delivery) => (delivery.row.claimed ? [delivery.claim] : [])) };
    });
    accept(claimed.map((claim) => ({ ...claim, next_try_at: at.toISOString() })));
    return taken;
  }

  /** A row for each subscriber; this worker claims at once as many as it has room for. */
  function planDeliveries(rows: readonly store.FanOutRow[]): { row: store.NewDelivery; claim: store.ClaimedRow }[] {
    let capacity = lanes.capacity();
    const taken = new Map<Lane, number>();
    return rows.flatMap((row) => {
      const { team_id, event_id, event_type, endpoint_id } = row;
      if (endpoint_id === null) return [];
      const lane = lanes.laneOf(team_id, endpoint_id);
      const already = taken.get(lane) ?? 0;
      const claimed = capacity > 0 && already < lanes.roomOf(lane) && !lane.hasMore;
      if (claimed) {
        capacity -= 1;
        taken.set(lane, already + 1);
      } else {
        lane.hasMore = true;
        wanted.more = true;
      }
      const id = newId('webhookDelivery');
      const state = { status: 'pending', attempt: 0, extra_attempts: 0, next_try_at: null, urgent: false } as const;
      return [
        {
          row: { teamId: team_id, id, endpointId: endpoint_id, eventId: event_id, eventType: event_type, claimed },
          claim: { ...row, ...state, id, endpoint_id },
        },
      ];
    });
  }

  /** Endpoints that have something due, in turns from where the last look ended. */
  async function discover(kind: 'pending' | 'retrying'): Promise<void> {
    const limit = lanes.capacity();
    if (limit === 0) return;
    const known = [...lanes.lanes()].filter((lane) => lanes.roomOf(lane) !== lanes.defaultRoom);
    const claimOptions = { worker: lock.number, limit, defaultRoom: lanes.defaultRoom, rooms: roomsOf(known), after: after[kind], now: clock.now() };
    const rows = await store.claimDue(db, kind, claimOptions);
    const last = rows.map((row) => ({ teamId: row.team_id, endpointId: row.endpoint_id })).toSorted(byEndpoint).at(-1);
    const wasFromStart = after[kind].teamId === '' && after[kind].endpointId === '';
    after[kind] = rows.length === limit && last ? last : { teamId: '', endpointId: '' };
    for (const row of rows) lanes.laneOf(row.team_id, row.endpoint_id).hasMore = true;
    accept(rows);
    if (rows.length > 0 || !wasFromStart) wanted.more = true;
    // The look began in the middle and came to the end: the beginning is still to be seen.
    if (!wasFromStart && rows.length < limit) wanted.discovery = true;
  }

  /** More of the endpoints that go well. */
  async function continueLanes(): Promise<void> {
    const hungry = [...lanes.lanes()].filter((lane) => lane.hasMore && lane.queue.length < lane.cap && lanes.roomOf(lane) > 0);
    const chosen = hungry.slice(0, lanes.capacity());
    if (chosen.length === 0) return;
    const query = { worker: lock.number, rooms: roomsOf(chosen), now: clock.now() };
    const firsts = await store.claimMore(db, 'pending', query);
    accept(firsts);
    const idle = chosen.filter((lane) => lanes.roomOf(lane) > 0);
    const retries = idle.length > 0 ? await store.claimMore(db, 'retrying', { ...query, rooms: roomsOf(idle) }) : [];
    accept(retries);
    for (const lane of idle) lane.hasMore = lanes.roomOf(lane) === 0;
  }

  function roomsOf(chosen: readonly Lane[]): store.Rooms {
    return {
      teamIds: chosen.map((lane) => lane.teamId),
      endpointIds: chosen.map((lane) => lane.endpointId),
      rooms: chosen.map((lane) => lanes.roomOf(lane)),
    };
  }

  function accept(rows: readonly store.ClaimedRow[]): void {
    const claimedAtMs = performance.now();
    for (const row of rows) lanes.accept({ ...row, claimedAtMs });
    launch();
  }

  function launch(): void {
    for (let flight = stopping ? null : lanes.next(performance.now()); flight; flight = lanes.next(performance.now())) void attempt(flight);
  }

  /** Never rejects: what fails in here is the delivery's result. */
  async function attempt(flight: Flight): Promise<void> {
    const { delivery, lane } = flight;
    unwritten.set(delivery.id, flight);
    const result = await send(delivery);
    const at = clock.now();
    const isExtra = delivery.urgent && delivery.status !== 'pending';
    const before = {
      status: delivery.status,
      attempt: delivery.attempt,
      extraAttempts: delivery.extra_attempts,
      nextTryAt: delivery.next_try_at === null ? null : new Date(delivery.next_try_at),
    };
    const state = nextState(before, { ok: result.ok, at, isExtra, retryAfterS: result.retryAfterS }, options.retryDelaysS);
    const { team_id: teamId, endpoint_id: endpointId, id } = delivery;
    results.push({
      teamId,
      id,
      endpointId: delivery.event_type === 'ping' ? '' : endpointId,
      ...state,
      wasUrgent: delivery.urgent,
      at,
      responseCode: result.responseCode,
      responseExcerpt: result.responseExcerpt,
      responseMs: result.responseMs,
      error: result.error,
    });
    options.observe(state.status, result.responseMs / 1000);
    lanes.land(flight, result.ok ? 'good' : flight.parked || result.error === 'timeout' ? 'dragged' : 'failed');
    if (lane.hasMore && lane.queue.length < lane.cap) {
      wanted.more = true;
      work();
    }
    launch();
    flush();
  }

  async function send(delivery: Delivery): Promise<AttemptResult> {
    const { team_id, endpoint_id, event_id, event_type } = delivery;
    try {
      const body = envelopeText({
        id: event_id,
        type: event_type,
        createdAt: delivery.event_created_at,
        apiVersion: delivery.api_version,
        teamId: team_id,
        data: delivery.event_data,
      });
      const secret = decrypt(delivery.secret_encrypted, options.secrets, webhookSecretContext(team_id, endpoint_id));
      return await options.sender.send(delivery.url, deliveryHeaders(body, { secret, eventId: event_id, at: clock.now() }), body);
    } catch (error) {
      // Our own fault (a secret that no key opens): it must not stop the loop, and the operator must hear of it.
      logger.error({ err: error, delivery: delivery.id }, 'a delivery could not be made');
      return { ok: false, responseCode: null, responseExcerpt: null, responseMs: 0, error: 'internal', retryAfterS: null };
    }
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
    while (batch.length > 0) {
      try {
        await store.recordAttempts(db, lock.number, batch, endpointOutcomes(batch));
        break;
      } catch (error) {
        logger.warn({ err: error }, 'results of deliveries could not be written yet');
        await delay(RETRY_MS);
      }
    }
    for (const { id } of batch) unwritten.delete(id);
  }

  function inHand(): string[] {
    return [...unwritten.keys(), ...[...lanes.lanes()].flatMap((lane) => lane.queue.map((delivery) => delivery.id))];
  }

  async function stop(): Promise<void> {
    stopping = true;
    clearInterval(ticker);
    await working;
    const unsent = lanes.withdraw(() => true);
    while (lanes.flights.size > 0) await delay(FLUSH_AFTER_MS);
    clearInterval(parker);
    while (flushing) await flushing;
    if (unsent.length > 0) await store.releaseClaims(db, lock.number, unsent);
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
  const outcomes = new Map<string, { teamId: string; endpointId: string; lastSuccessAt: Date | null; failingSince: Date | null }>();
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

function byEndpoint(a: { teamId: string; endpointId: string }, b: { teamId: string; endpointId: string }): number {
  if (a.teamId !== b.teamId) return a.teamId < b.teamId ? -1 : 1;
  return a.endpointId < b.endpointId ? -1 : 1;
}
