// The real delivery loop, in the test's process: on the test's database, clock and name lookup, and
// with real connections.
import pino from 'pino';
import type { Clock } from '../../src/core/clock.ts';
import type { Lookup } from '../../src/core/dns-lookup.ts';
import { isDistributed } from '../../src/db/citus/shards.ts';
import { startLoop, type Dispatcher } from '../../src/delivery/dispatcher.ts';
import { createSender, type SenderOptions } from '../../src/delivery/sender.ts';
import { startShardLoops } from '../../src/delivery/citus/shard-loops.ts';
import { TEST_APP_SECRET, type TestApi } from './api.ts';
import { atEnd } from './at-end.ts';
import { openPatiently } from './wire.ts';

/** The waits between attempts that the API documents, in seconds. */
export const RETRY_DELAYS_S = [60, 300, 1800, 7200, 21_600, 43_200, 86_400];

/** How `startDeliveries` sets up the loop. */
export interface DeliveriesOptions {
  readonly clock: Clock;
  readonly lookup?: Lookup;
  readonly timeoutMs?: number;
  /** For the time limit of an attempt; by default the system's. */
  readonly senderClock?: SenderOptions['clock'];
  /** true by default, because the receivers of tests are on this machine. */
  readonly allowPrivateTargets?: boolean;
  /** How often it looks for work by itself; by default very often. */
  readonly tickMs?: number;
  /** How many deliveries it may hold. */
  readonly held?: number;
  /** Returns the URL by which the loop reaches the server of this one; by default the same. */
  readonly route?: (url: string) => string;
}

/** A running delivery loop. */
export interface Deliveries {
  /** The lines that the loop logged at level warn or above. */
  readonly logged: readonly string[];
  /** Those of `logged` that do not tell only that a busy machine makes the database slow. */
  errors(): string[];
  /** Tells the loop that something was committed. */
  readonly wake: Dispatcher['wake'];
  /** Looks for everything at once, as at a tick. */
  readonly tick: Dispatcher['tick'];
  /** Waits for attempts in flight and stops. */
  stop(): Promise<void>;
}

/** Whether a warning tells that the database was too slow, and of nothing else. */
function isSlowness(line: string): boolean {
  const { level } = JSON.parse(line) as { level: number };
  return level < 50 && /canceling statement|has not answered|timeout|terminated/i.test(line);
}

/** Longer than a receiver takes on any machine, and than a test holds its answer back. */
const PATIENCE_MS = 60_000;
/** So short that the loop notices at once when a test advances its clock. */
export const TICK_MS = 20;

/**
 * Starts the loop, assembled as in src/worker.ts. It looks for work many times a second, so what is
 * due by the test's clock is attempted at once.
 */
export async function startDeliveries(
  api: Pick<TestApi, 'databaseUrl'>,
  options: DeliveriesOptions,
): Promise<Deliveries> {
  const { clock, lookup, timeoutMs = PATIENCE_MS, allowPrivateTargets = true } = options;
  const logged: string[] = [];
  const route = options.route ?? ((url: string) => url);
  const open = (url: string) => openPatiently(route(url));
  const db = open(api.databaseUrl);
  // A test that counts connections may pause for longer than a worker keeps an idle one.
  const keepAliveMs = PATIENCE_MS;
  const sender = createSender({
    allowPrivateTargets,
    lookup,
    timeoutMs,
    keepAliveMs,
    ...(options.senderClock && { clock: options.senderClock }),
  });
  const start = (await isDistributed(db)) ? startShardLoops : startLoop;
  const loops = await start({
    databaseUrl: api.databaseUrl,
    db,
    openNode: open,
    sender,
    clock,
    secrets: { current: TEST_APP_SECRET, previous: null },
    logger: pino({ level: 'warn' }, { write: (line) => logged.push(line) }),
    limits: { held: options.held ?? 640, maxPerEndpoint: 8 },
    retryDelaysS: RETRY_DELAYS_S,
    observe: () => undefined,
    tickMs: options.tickMs ?? TICK_MS,
  });
  const deliveries: Deliveries = {
    logged,
    errors: () => logged.filter((line) => !isSlowness(line)),
    wake: (what) => loops.wake(what),
    tick: () => loops.tick(),
    stop: async () => {
      if (!stopped()) return;
      await loops.stop();
      await sender.close();
      await db.close();
    },
  };
  const stopped = atEnd(() => deliveries.stop());
  return deliveries;
}
