/**
 * Authenticates requests of known keys in batches. One statement for the keys of many teams costs
 * Postgres a fourth of what a statement for each costs.
 *
 * A batch is sent at the end of the turn of the event loop, or when the batch before it is
 * answered, so batches grow with the load. A batch only has requests that came before it was sent,
 * so a key that was revoked before a request is refused at that request.
 *
 * A batch only counts the usual case, and waits for no lock (see `authenticateBatch`). Any other
 * request must be asked for alone, and so must all of them if the statement fails. If only the
 * answer was lost, they are counted twice.
 */
import type { Clock } from '../../../core/clock.ts';
import type { Queries } from '../../../db/client.ts';
import { authenticateBatch, type AdmittedRow, type KeyCalls } from './key-store.ts';
import type { RateLimits } from './rate-limits.ts';

/** A request of a known key. */
export type KnownRequest = Omit<KeyCalls, 'calls'>;

export interface BatchedAuthentication {
  /** Resolves with null if the request must be asked for alone. Never rejects. */
  readonly ask: (request: KnownRequest) => Promise<AdmittedRow | null>;
}

/** The most keys of one batch: a few milliseconds of Postgres' time. */
const MAX_KEYS = 100;
/** If a batch is not answered after this time, the next one is sent all the same. */
const NEXT_AFTER_MS = 50;

/** The requests of one key that wait for the next batch. */
interface Waiting {
  readonly key: KnownRequest;
  readonly answers: PromiseWithResolvers<AdmittedRow | null>[];
}

export function createBatchedAuthentication(
  db: Pick<Queries, 'query'>,
  terms: { readonly nonce: Buffer; readonly limits: RateLimits; readonly clock: Clock },
): BatchedAuthentication {
  /**
   * By team, because a batch counts only one key of each. Every batch leaves a new map behind, for
   * the reason in `core/line.ts`.
   */
  let waiting = new Map<string, Waiting>();
  /** The batch that the next one waits for. */
  let current: Promise<void> | null = null;

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    const { nonce, limits, clock } = terms;
    const keys = batch.map(({ key, answers }) => ({ ...key, calls: answers.length }));
    // If the batch fails, each request is asked for alone and gets an error of its own. What is
    // wrong with one key, or with one connection, must not refuse a hundred.
    const rows = await authenticateBatch(
      db,
      { nonce, ...limits, now: clock.override() },
      keys,
    ).catch(() => []);
    const rowOf = new Map(rows.map((row) => [row.team_id, row]));
    for (const { key, answers } of batch) answerAll(answers, rowOf.get(key.teamId));
  };
  const sendNext = (): void => {
    if (current || waiting.size === 0) return;
    const all = [...waiting];
    waiting = new Map(all.slice(MAX_KEYS));
    const own = send(all.slice(0, MAX_KEYS).map(([, each]) => each));
    current = own;
    const release = (): void => {
      if (current !== own) return;
      current = null;
      sendNext();
    };
    const endLimit = terms.clock.after(NEXT_AFTER_MS, release);
    void own.then(() => {
      endLimit();
      release();
    });
  };
  return {
    ask: (key) => {
      const same = waiting.get(key.teamId);
      if (same && !isSame(same.key, key)) return Promise.resolve(null);
      const answer = Promise.withResolvers<AdmittedRow | null>();
      if (same) same.answers.push(answer);
      else waiting.set(key.teamId, { key, answers: [answer] });
      if (!current && waiting.size === 1) setImmediate(sendNext);
      return answer.promise;
    },
  };
}

function isSame(a: KnownRequest, b: KnownRequest): boolean {
  return a.keyPrefix === b.keyPrefix && a.ip === b.ip && a.proof.equals(b.proof);
}

/** Answers each request as if they had come one after the other. */
function answerAll(answers: Waiting['answers'], row: AdmittedRow | undefined): void {
  let later = answers.length;
  for (const { resolve } of answers) {
    later -= 1;
    resolve(row ? { ...row, bucket_remaining: row.bucket_remaining + later } : null);
  }
}
