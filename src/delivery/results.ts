/** Writes the results of attempts, in batches. */
import { teamKey } from '../core/team-key.ts';
import { writeByHalves } from '../db/by-halves.ts';
import { isCancelled, isLockTimeout, isUnavailable } from '../db/errors.ts';
import type { Loop } from './loop.ts';
import { recordAttempts, type RecordedAttempt } from './result-store.ts';

const FLUSH_AFTER_MS = 10;
const FLUSH_SIZE = 500;
const RETRY_MS = 250;
/** Tries while the loop stops. A result that is lost leads to one more attempt. */
const LAST_TRIES = 8;

/** Starts writing the results, unless that runs already. */
export function flush(loop: Loop): void {
  const { state } = loop;
  if (state.running.has('results')) return;
  const writing = flushBatch(loop).finally(() => {
    state.running.delete('results');
    if (state.results.length > 0) flush(loop);
  });
  state.running.set('results', writing);
}

/** Tries again to write the results whose rows were locked. Call it at each tick. */
export function writePostponed(loop: Loop): void {
  const { state } = loop;
  if (state.postponed.length === 0) return;
  state.results.push(...state.postponed.splice(0));
  flush(loop);
}

/** Waits until every result is written or has been tried LAST_TRIES times. */
export async function drainResults(loop: Loop): Promise<void> {
  const { options, state } = loop;
  for (let tries = 1; tries <= LAST_TRIES; tries += 1) {
    while (state.running.has('results')) await state.running.get('results');
    if (state.postponed.length === 0) return;
    await options.clock.wait(RETRY_MS);
    writePostponed(loop);
  }
  while (state.running.has('results')) await state.running.get('results');
}

async function flushBatch(loop: Loop): Promise<void> {
  const { options, state } = loop;
  const { results, postponed } = state;
  if (results.length < FLUSH_SIZE) await options.clock.wait(FLUSH_AFTER_MS);
  const batch = results.splice(0, FLUSH_SIZE);
  const left = new Set<RecordedAttempt>();
  // Each part at once: the next attempt of a delivery may begin before the other parts are written.
  await writeByHalves(batch, {
    write: async (part) => {
      for (const result of await write(loop, part)) left.add(result);
      noteWritten(
        loop,
        part.filter((result) => !left.has(result)),
      );
      // An endpoint may have room again, or a retry that is due.
      loop.startRounds();
    },
    // That delivery is attempted again.
    onRefused: (result, err) => {
      options.logger.error(
        { err, delivery: result.id },
        'the database refused the result of a delivery',
      );
      noteWritten(loop, [result]);
    },
    isRefusal: () => true,
  });
  postponed.push(...left);
  // While something is locked, no further batch waits for it.
  state.skipsLocked = postponed.length > 0;
}

function noteWritten({ options, queues, state }: Loop, written: readonly RecordedAttempt[]): void {
  const now = options.clock.now();
  for (const { id, teamId, endpointId, status, nextTryAt } of written) {
    const queue = queues.queueOf(teamId, endpointId);
    state.unwritten.delete(teamKey(teamId, id));
    queues.addUnwritten(queue, -1);
    // A retry that is due when it is written does not become due later, so no search would find it.
    if (status === 'retrying' && nextTryAt !== null && nextTryAt <= now)
      queues.setMore(queue, 'retrying');
  }
}

/**
 * Tries until it succeeds or, while the loop stops, LAST_TRIES times. Returns the results that must
 * be tried again later, because somebody has locked their rows. Rejects if the database refuses the
 * batch, or if it takes too long: smaller ones may do.
 */
async function write(
  loop: Loop,
  batch: readonly RecordedAttempt[],
): Promise<readonly RecordedAttempt[]> {
  const { options, state } = loop;
  const { clock, db, lock, logger } = options;
  for (let tries = 1; state.mode === 'running' || tries <= LAST_TRIES; tries += 1) {
    try {
      return await recordAttempts(db, lock.number, batch, state);
    } catch (error) {
      if (isLockTimeout(error)) {
        // Not a row is locked, but a whole table.
        if (state.skipsLocked) return batch;
        state.skipsLocked = true;
        continue;
      }
      if (!isUnavailable(error) || isCancelled(error)) throw error;
      logger.warn({ err: error }, 'results of deliveries could not be written yet');
      await clock.wait(RETRY_MS);
    }
  }
  return [];
}
