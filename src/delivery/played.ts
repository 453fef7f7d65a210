/**
 * What is played for the webhook endpoints of a sandbox. A live team costs nothing here: its id
 * says that it is none (`core/sandbox.ts`).
 */
import type { AttemptResult } from './attempt-result.ts';
import { NO_ANSWER } from './attempt-result.ts';
import type { Loop } from './loop.ts';
import { readPlayed } from './played-store.ts';

/** A sandbox as an attempt sees it. */
export interface Played {
  /** The waits of the retry schedule are divided by this. */
  readonly speed: number;
  /** Every receiver fails. */
  readonly fails: boolean;
}

/** A live team. */
export const LIVE: Played = { speed: 1, fails: false };

/** The result of an attempt whose receiver is not asked. */
export const SIMULATED: AttemptResult = {
  ...NO_ANSWER,
  responseCode: 503,
  responseMs: 0,
  error: 'simulated',
};

/**
 * What is played in a sandbox now. Attempts that ask at the same time share one query, so however
 * many there are, a sandbox has one at a time.
 */
export async function findPlayed(
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
