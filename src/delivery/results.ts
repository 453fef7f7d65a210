/** Writes the results of attempts, in batches. */
import { setTimeout as delay } from 'node:timers/promises';
import { ProblemError } from '../core/problem.ts';
import { teamKey, type TeamKey } from '../core/team-key.ts';
import type { Loop } from './loop.ts';
import { recordAttempts, type EndpointOutcome, type RecordedAttempt } from './result-store.ts';

const FLUSH_AFTER_MS = 10;
const FLUSH_SIZE = 500;
const RETRY_MS = 250;
/** Tries while the loop stops. A result that is lost leads to one more attempt. */
const LAST_TRIES = 8;

/** Starts writing the results, unless that runs already. */
export function flush(loop: Loop): void {
  const { state } = loop;
  state.flushing ??= flushBatch(loop).finally(() => {
    state.flushing = null;
    if (state.results.length > 0) flush(loop);
  });
}

/** Tries again to write the results whose endpoints were locked. Call it at each tick. */
export function writePostponed(loop: Loop): void {
  const { state } = loop;
  if (state.postponed.length === 0) return;
  state.results.push(...state.postponed.splice(0));
  flush(loop);
}

/** Waits until every result is written or has been tried LAST_TRIES times. */
export async function drainResults(loop: Loop): Promise<void> {
  const { state } = loop;
  for (let tries = 1; tries <= LAST_TRIES; tries += 1) {
    while (state.flushing) await state.flushing;
    if (state.postponed.length === 0) return;
    await delay(RETRY_MS);
    writePostponed(loop);
  }
  while (state.flushing) await state.flushing;
}

async function flushBatch(loop: Loop): Promise<void> {
  const { results, unwritten, postponed } = loop.state;
  if (results.length < FLUSH_SIZE) await delay(FLUSH_AFTER_MS);
  const batch = results.splice(0, FLUSH_SIZE);
  const left = new Set(await write(loop, batch));
  postponed.push(...left);
  const written = batch.filter((result) => !left.has(result));
  for (const { teamId, id } of written) unwritten.delete(teamKey(teamId, id));
  noteDue(loop, written);
}

/** A retry that is due when it is written does not become due later, so no search would find it. */
function noteDue({ options, queues }: Loop, batch: readonly RecordedAttempt[]): void {
  const now = options.clock.now();
  for (const { teamId, endpointId, status, nextTryAt } of batch)
    if (status === 'retrying' && nextTryAt !== null && nextTryAt <= now)
      queues.setMore(queues.queueOf(teamId, endpointId), 'retrying');
}

/**
 * Tries until it succeeds or, while the loop stops, LAST_TRIES times. Returns the results that must
 * be tried again later. Never rejects.
 */
async function write(
  loop: Loop,
  batch: readonly RecordedAttempt[],
): Promise<readonly RecordedAttempt[]> {
  const { options, state } = loop;
  const { db, lock, logger } = options;
  for (let tries = 1; state.mode === 'running' || tries <= LAST_TRIES; tries += 1) {
    try {
      return await recordAttempts(db, lock.number, batch, endpointOutcomes(batch));
    } catch (error) {
      if (!isUnavailable(error)) return writeApart(loop, batch, error);
      logger.warn({ err: error }, 'results of deliveries could not be written yet');
      await delay(RETRY_MS);
    }
  }
  return [];
}

/**
 * Writes the halves of a batch that the database refused. If a single result is refused, drops it
 * and logs an error: one bad row must not block the others. That delivery is attempted again.
 */
async function writeApart(
  loop: Loop,
  batch: readonly RecordedAttempt[],
  error: unknown,
): Promise<readonly RecordedAttempt[]> {
  if (batch.length === 1) {
    const details = { err: error, delivery: batch[0]?.id };
    loop.options.logger.error(details, 'the database refused the result of a delivery');
    return [];
  }
  const half = batch.length >> 1;
  return [...(await write(loop, batch.slice(0, half))), ...(await write(loop, batch.slice(half)))];
}

/** Whether the database is unavailable, so that the same statement may succeed later. */
function isUnavailable(error: unknown): boolean {
  return error instanceof ProblemError && error.code === 'unavailable';
}

/** Sums up a batch for each endpoint. Tests (pings) do not count. */
function endpointOutcomes(batch: readonly RecordedAttempt[]): EndpointOutcome[] {
  const outcomes = new Map<TeamKey, EndpointOutcome>();
  for (const { teamId, endpointId, isTest, status, at } of batch) {
    if (isTest) continue;
    const key = teamKey(teamId, endpointId);
    const before = outcomes.get(key);
    const lastSuccessAt = before?.lastSuccessAt ?? null;
    outcomes.set(
      key,
      status === 'ok'
        ? { teamId, endpointId, lastSuccessAt: at, failingSince: null }
        : { teamId, endpointId, lastSuccessAt, failingSince: before?.failingSince ?? at },
    );
  }
  return [...outcomes.values()];
}
