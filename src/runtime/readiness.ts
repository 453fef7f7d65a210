/** Whether a process can do its work, and if not, why. The log tells each change. */
import type { Logger } from 'pino';
import type { AppSecrets } from '../core/encryption.ts';
import { findAppSecretFault } from '../db/app-secret.ts';
import type { Database } from '../db/client.ts';
import type { Migration } from '../db/migrate.ts';
import { findObstacle, obstacleOf, tryDiskSpace, type Obstacle } from '../db/obstacles.ts';

/** Why a process is not ready. `/readyz` and the log tell it. */
export type NotReady = Obstacle | 'wrong_app_secret' | 'draining';

export interface Readiness {
  /**
   * Looks at the database now. null: the process is ready. Never rejects, and resolves within two
   * seconds whatever the database does.
   */
  check(): Promise<NotReady | null>;
  /** Makes the next look find out whether the disk is full. For each request that gets 503. */
  suspect(): void;
  /** Makes the process not ready for good: it is about to stop. */
  drain(): void;
  /** Ends the regular looks. */
  stop(): void;
}

export interface ReadinessOptions {
  readonly db: Database;
  readonly migrations: readonly Migration[];
  readonly secrets: AppSecrets;
  readonly logger: Logger;
  /** Called if APP_SECRET turns out to be wrong only after the start. */
  readonly onFault: (error: Error) => void;
}

/** What one look has seen. `error` is for the log. */
interface Seen {
  readonly reason: NotReady | null;
  readonly error?: unknown;
}

/** A database that takes longer to answer counts as unreachable. Probes give up after seconds. */
const PATIENCE_MS = 1_500;
/** How often the process looks by itself, so that the log tells what no probe has asked for. */
const INTERVAL_MS = 1_000;

/**
 * Looks now, and then once a second until `stop`. Rejects if APP_SECRET is not the one of the
 * database. If the database cannot be reached, APP_SECRET is checked as soon as it can.
 */
export async function startReadiness(options: ReadinessOptions): Promise<Readiness> {
  const { logger, onFault } = options;
  const suspicion = { disk: false };
  const look = createLook(options, suspicion);
  let told: NotReady | null | undefined;
  let looking: Promise<Seen> | null = null;
  let isDraining = false;

  const tell = ({ reason, error }: Seen): void => {
    if (reason === told) return;
    told = reason;
    if (reason === null) logger.info('ready');
    else logger.warn({ reason, err: error }, 'not ready');
  };
  // Probes that come meanwhile share a look: while the database is silent, it takes five seconds,
  // and nobody waits for its end.
  const lookOnce = (): Promise<Seen> =>
    (looking ??= look().finally(() => {
      looking = null;
    }));
  const check = async (): Promise<NotReady | null> => {
    const seen = await within(PATIENCE_MS, lookOnce());
    if (isDraining) return 'draining';
    tell(seen);
    if (seen.reason === 'wrong_app_secret') onFault(seen.error as Error);
    return seen.reason;
  };

  const first = await lookOnce();
  if (first.reason === 'wrong_app_secret') throw first.error;
  tell(first);
  const timer = setInterval(() => void check(), INTERVAL_MS);
  timer.unref();
  return {
    check,
    suspect: () => {
      suspicion.disk = true;
    },
    drain: () => {
      isDraining = true;
      tell({ reason: 'draining' });
    },
    stop: () => clearInterval(timer),
  };
}

/** Resolves with what the look sees, or after `ms` with the fact that it has seen nothing. */
async function within(ms: number, look: Promise<Seen>): Promise<Seen> {
  const silence = Promise.withResolvers<Seen>();
  const error = new Error(`the database has not answered within ${ms} ms`);
  const timer = setTimeout(() => {
    // After the event loop has read the sockets, because this timer may end a stall of our own.
    setImmediate(() => silence.resolve({ reason: 'database_unreachable', error }));
  }, ms);
  try {
    return await Promise.race([look, silence.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the function that looks once. It checks APP_SECRET until it was found to be right. */
function createLook(
  { db, migrations, secrets }: ReadinessOptions,
  suspicion: { disk: boolean },
): () => Promise<Seen> {
  let isSecretChecked = false;
  return async () => {
    try {
      const obstacle = await findObstacle(db, migrations);
      if (obstacle !== null) return { reason: obstacle };
      const fault = isSecretChecked ? null : await findAppSecretFault(db, secrets);
      if (fault !== null) return { reason: 'wrong_app_secret', error: new Error(fault) };
      isSecretChecked = true;
      if (suspicion.disk) await tryDiskSpace(db);
      suspicion.disk = false;
      return { reason: null };
    } catch (error) {
      return { reason: obstacleOf(error), error };
    }
  };
}
