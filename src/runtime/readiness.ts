/** Whether a process can do its work, and if not, why. The log tells each change. */
import type { Logger } from 'pino';
import { systemClock, type Clock } from '../core/clock.ts';
import type { AppSecrets } from '../core/encryption.ts';
import { isDistributed, isOtherNode } from '../db/citus/shards.ts';
import type { Database } from '../db/connections/database.ts';
import type { FollowingClock } from '../db/database-clock.ts';
import { findAppSecretFault } from '../db/operator/app-secret.ts';
import type { Migration } from '../db/operator/migrations.ts';
import {
  findEncodingFault,
  findObstacle,
  obstacleOf,
  OBSTACLES,
  tryDiskSpace,
} from '../db/operator/obstacles.ts';

/** Why a process cannot become ready, and ends. */
const FAULTS = [
  'wrong_app_secret',
  'database_encoding',
  'database_distributed',
  'database_not_coordinator',
] as const;
const isFault = (reason: NotReady | null): boolean =>
  (FAULTS as readonly (NotReady | null)[]).includes(reason);

/** Why a process is not ready. `/readyz` and the log tell it. */
export const NOT_READY = [...OBSTACLES, ...FAULTS, 'draining'] as const;
export type NotReady = (typeof NOT_READY)[number];

export interface Readiness {
  /**
   * Looks at the database, ten times a second at most. null: the process is ready. Never rejects,
   * and resolves within two seconds whatever the database does.
   */
  check(): Promise<NotReady | null>;
  /** What the last look has seen. null: the process is ready. For the metrics. */
  lastSeen(): NotReady | null;
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
  /** Called if a fault shows only after the start. */
  readonly onFault: (error: Error) => void;
  readonly clock?: Pick<Clock, 'monotonicMs' | 'after' | 'every'>;
  /** The clock of the process. Each look lets it hear the database's. */
  readonly following?: FollowingClock;
}

/** What one look has seen. `error` is for the log. */
interface Seen {
  readonly reason: NotReady | null;
  readonly error?: unknown;
}

/** A database that takes longer to answer counts as unreachable. Probes give up after seconds. */
const PATIENCE_MS = 1_500;
/** Probes of this time share a look, so that nobody keeps the database busy with asking. */
const SHARED_MS = 100;
/** How often the process looks by itself, so that the log tells what no probe has asked for. */
const INTERVAL_MS = 1_000;

/**
 * Looks now, and then once a second until `stop`. Rejects with a fault: APP_SECRET is not the one
 * of the database, or the database is the wrong node or has another encoding. If the database
 * cannot be reached, they are checked as soon as it can.
 */
export async function startReadiness(options: ReadinessOptions): Promise<Readiness> {
  const { logger, onFault, clock = systemClock } = options;
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
  // Probes that come meanwhile, and soon after, share a look: while the database is silent, it
  // takes five seconds, and nobody waits for its end.
  const lookOnce = (): Promise<Seen> => {
    if (looking !== null) return looking;
    const sharedUntil = clock.monotonicMs() + SHARED_MS;
    looking = look().finally(() => {
      const forget = (): void => {
        looking = null;
      };
      clock.after(Math.max(0, sharedUntil - clock.monotonicMs()), forget);
    });
    return looking;
  };
  const check = async (): Promise<NotReady | null> => {
    const seen = await within(clock, PATIENCE_MS, lookOnce());
    if (isDraining) return 'draining';
    // A slow look has seen nothing new. Its end tells whether the reason is still the same.
    if (seen === null && told) return told;
    const { reason, error } = seen ?? silence();
    tell({ reason, error });
    if (isFault(reason)) onFault(error as Error);
    return reason;
  };

  const first = await lookOnce();
  if (isFault(first.reason)) throw first.error;
  tell(first);
  const endLooks = clock.every(INTERVAL_MS, () => void check());
  return {
    check,
    lastSeen: () => told ?? null,
    suspect: () => {
      suspicion.disk = true;
    },
    drain: () => {
      isDraining = true;
      tell({ reason: 'draining' });
    },
    stop: endLooks,
  };
}

/** What a process that was ready says of a database that has not answered yet. */
function silence(): Seen {
  const error = new Error(`the database has not answered within ${PATIENCE_MS} ms`);
  return { reason: 'database_unreachable', error };
}

/** Resolves with what the look sees, or after `ms` with null: it has seen nothing yet. */
async function within(
  clock: Pick<Clock, 'after'>,
  ms: number,
  look: Promise<Seen>,
): Promise<Seen | null> {
  const over = Promise.withResolvers<null>();
  const endLimit = clock.after(ms, () => {
    // After the event loop has read the sockets, because this timer may end a stall of our own.
    setImmediate(() => over.resolve(null));
  });
  try {
    return await Promise.race([look, over.promise]);
  } finally {
    endLimit();
  }
}

const OTHER_NODE =
  'DATABASE_URL leads to a worker node of Citus, where the locks of other processes are not ' +
  'known. It must lead to the coordinator.';

const DISTRIBUTED =
  'The tables were distributed ("npm run migrate -- --distribute") while this process ran. It ' +
  'ends, because it works as on one Postgres. Start it again.';

/**
 * Returns the function that looks once. It checks APP_SECRET at each look: it may be rotated while
 * the process runs.
 */
function createLook(
  { db, migrations, secrets, following }: ReadinessOptions,
  suspicion: { disk: boolean },
): () => Promise<Seen> {
  let isDatabaseChecked = false;
  /** As it was when the process became ready, and as the process uses it. */
  let wasDistributed: boolean | null = null;
  return async () => {
    try {
      if (!isDatabaseChecked && (await isOtherNode(db)))
        return { reason: 'database_not_coordinator', error: new Error(OTHER_NODE) };
      const fault = isDatabaseChecked ? null : await findEncodingFault(db);
      if (fault !== null) return { reason: 'database_encoding', error: new Error(fault) };
      isDatabaseChecked = true;
      const obstacle = await findObstacle(db, migrations, following);
      if (obstacle !== null) return { reason: obstacle };
      const distributed = await isDistributed(db);
      if (distributed !== (wasDistributed ?? distributed))
        return { reason: 'database_distributed', error: new Error(DISTRIBUTED) };
      const wrong = await findAppSecretFault(db, secrets);
      if (wrong !== null) return { reason: 'wrong_app_secret', error: new Error(wrong) };
      if (suspicion.disk) await tryDiskSpace(db);
      suspicion.disk = false;
      wasDistributed = distributed;
      return { reason: null };
    } catch (error) {
      return { reason: obstacleOf(error), error };
    }
  };
}
