/**
 * Authenticates requests of known keys together: one statement for the keys of many teams costs
 * Postgres a fourth of what one for each costs.
 *
 * A read that comes while nothing else is on its way is asked for alone, in one packet with its own
 * statement. All others wait for each other: until the end of the turn of the event loop, or until
 * the statement before has ended. So the more there is to do, the more goes together. The statement
 * is sent after the last of them has come, so a key that was revoked before is refused.
 *
 * It only knows the usual case, and waits for no lock. Any other request is asked for alone, and so
 * is each of them if the statement fails. If only its answer was lost, it is counted twice.
 */
import type { Clock } from '../../core/clock.ts';
import type { Database } from '../../db/connections/database.ts';
import { authenticateTogether, type AdmittedRow, type CallsOfKey } from './authenticate-store.ts';
import type { RateLimits } from './authenticate.ts';

/** A request of a known key. */
export type KnownRequest = Omit<CallsOfKey, 'calls'>;

export interface GatheredKeys {
  /** Whether a request that comes now should be asked for with others. */
  readonly takes: (request: { readonly isRead: boolean }) => boolean;
  /** Resolves with null if the request must be asked for alone. */
  readonly ask: (request: KnownRequest) => Promise<AdmittedRow | null>;
  /** Passes on what is asked alone. As long as that takes, reads that come go together. */
  readonly alone: <T>(asking: Promise<T>) => Promise<T>;
}

/** The keys of one statement: a few milliseconds of Postgres' time. */
const MAX_KEYS = 100;
/** After this time a statement keeps those behind it waiting no longer. */
const PATIENCE_MS = 50;

/** The requests of one key that wait for the next statement. */
interface Waiting {
  readonly key: KnownRequest;
  readonly answers: PromiseWithResolvers<AdmittedRow | null>[];
}

export function createGatheredKeys(
  db: Pick<Database, 'query' | 'isPlain'>,
  by: { readonly nonce: Buffer; readonly limits: RateLimits; readonly clock: Clock },
): GatheredKeys {
  /**
   * By team: a statement counts only one key of each. Every statement leaves a new map behind, for
   * the reason in `core/line.ts`.
   */
  let waiting = new Map<string, Waiting>();
  let onTheirWay = 0;
  /** The statement that the next one waits for. */
  let before: Promise<void> | null = null;

  const alone = async <T>(asking: Promise<T>): Promise<T> => {
    onTheirWay += 1;
    try {
      return await asking;
    } finally {
      onTheirWay -= 1;
    }
  };
  const send = async (asked: readonly Waiting[]): Promise<void> => {
    const { nonce, limits, clock } = by;
    const terms = { nonce, ...limits, now: clock.override() };
    const keys = asked.map(({ key, answers }) => ({ ...key, calls: answers.length }));
    // If it fails, each request is asked for alone and gets an error of its own: what is wrong with
    // one key, or with one connection, must not refuse a hundred.
    const rows = await alone(authenticateTogether(db, terms, keys)).catch(() => []);
    const rowOf = new Map(rows.map((row) => [row.team_id, row]));
    for (const { key, answers } of asked) tellAll(answers, rowOf.get(key.teamId));
  };
  const askNext = (): void => {
    if (before || waiting.size === 0) return;
    const all = [...waiting];
    const asked = all.slice(0, MAX_KEYS).map(([, each]) => each);
    waiting = new Map(all.slice(MAX_KEYS));
    const own = send(asked);
    before = own;
    const release = (): void => {
      if (before !== own) return;
      before = null;
      askNext();
    };
    const limit = setTimeout(release, PATIENCE_MS);
    void own.then(() => {
      clearTimeout(limit);
      release();
    });
  };
  return {
    takes: ({ isRead }) => (!isRead || onTheirWay > 0) && db.isPlain(),
    ask: (key) => {
      const known = waiting.get(key.teamId);
      if (known && !isSame(known.key, key)) return Promise.resolve(null);
      const answer = Promise.withResolvers<AdmittedRow | null>();
      if (known) known.answers.push(answer);
      else waiting.set(key.teamId, { key, answers: [answer] });
      if (!before && waiting.size === 1) setImmediate(askNext);
      return answer.promise;
    },
    alone,
  };
}

function isSame(a: KnownRequest, b: KnownRequest): boolean {
  return a.keyPrefix === b.keyPrefix && a.ip === b.ip && a.proof.equals(b.proof);
}

/** Answers each request as if they had come one after the other. */
function tellAll(answers: Waiting['answers'], row: AdmittedRow | undefined): void {
  let later = answers.length;
  for (const { resolve } of answers) {
    later -= 1;
    resolve(row ? { ...row, bucket_remaining: row.bucket_remaining + later } : null);
  }
}
