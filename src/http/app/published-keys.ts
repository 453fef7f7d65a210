/**
 * The host application's published keys (a JWK Set). What has been read once is kept while the key
 * server fails, so its outage shuts nobody out whose key is known.
 */
import { createRemoteJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import { unavailable } from '../../db/errors.ts';

export interface PublishedKeysOptions {
  readonly url: string;
  /** How long to wait before the keys are fetched again, also after a fetch that failed. */
  readonly cooldownMs?: number;
  /** The timeout of a fetch. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 3_000;
/**
 * A new key is accepted at most this long after it is published. Tokens with invented key ids cause
 * at most one request in this time, whether or not the key server answers.
 */
const COOLDOWN_MS = 5_000;
/** The keys are read again after this time, so one that was removed ends. */
const FRESH_MS = 600_000;
/**
 * While the key server fails, keys are used for this long. A removed key must end, and so must one
 * whose thief keeps the key server from being reached.
 */
const MAX_AGE_MS = 86_400_000;

/**
 * Returns the function that finds the published key of a token. It throws `unavailable` if the keys
 * cannot be fetched and those that are known do not have it, and jose's errors if no key fits.
 *
 * Calls wait for a fetch only if the last one was long ago or lacks their key. While the key server
 * fails, the others go on with the keys that are known, and it is asked again beside them.
 */
export function createPublishedKeys(
  { url, cooldownMs = COOLDOWN_MS, timeoutMs = TIMEOUT_MS }: PublishedKeysOptions,
  clock: Clock,
  logger: Pick<Logger, 'warn'>,
): JWTVerifyGetKey {
  // When it is asked is decided here. jose's own rules refuse all tokens while it fails, and count
  // no fetch that failed.
  const remote = createRemoteJWKSet(new URL(url), {
    timeoutDuration: timeoutMs,
    cooldownDuration: Infinity,
    cacheMaxAge: Infinity,
  });
  let readAtMs = -Infinity;
  let triedAtMs = -Infinity;
  /** Of the last fetch. null: it succeeded. */
  let failure: unknown = null;
  let running: Promise<void> | null = null;

  // The clock may be set back.
  const ageMs = (atMs: number): number => Math.abs(clock.now().getTime() - atMs);
  const hasKeys = (): boolean => ageMs(readAtMs) < MAX_AGE_MS;

  const fetchKeys = async (): Promise<void> => {
    try {
      await remote.reload();
      readAtMs = clock.now().getTime();
      failure = null;
    } catch (error) {
      if (failure === null)
        logger.warn({ err: error }, 'the published keys of APP_AUTH_JWKS_URL cannot be read');
      failure = error;
    }
    triedAtMs = clock.now().getTime();
    running = null;
  };
  /** Resolves when the keys have been read, or could not be. All callers share one fetch. */
  const refresh = async (): Promise<void> => {
    if (running === null && ageMs(triedAtMs) < cooldownMs) return;
    await (running ??= fetchKeys());
  };

  return async (header, token) => {
    if (!hasKeys() || ageMs(triedAtMs) >= FRESH_MS) await refresh();
    else if (failure !== null) void refresh();
    if (!hasKeys()) throw unavailable(failure);
    try {
      return await remote(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw asProblem(error);
    }
    await refresh();
    if (failure !== null) throw unavailable(failure);
    return remote(header, token).catch((error: unknown) => {
      throw asProblem(error);
    });
  };
}

/** The token is at fault if not exactly one published key fits it. All else is the publisher's. */
function asProblem(error: unknown): unknown {
  const isTokensFault =
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported;
  return isTokensFault ? error : unavailable(error);
}
