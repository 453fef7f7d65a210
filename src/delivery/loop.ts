/** What the parts of one worker's delivery loop share: its options and its state. */
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { AppSecrets } from '../core/encryption.ts';
import type { TeamKey } from '../core/team-key.ts';
import type { Tracing } from '../core/trace.ts';
import type { Mode } from '../core/sandbox.ts';
import type { Db } from '../db/client.ts';
import { followingClock, type FollowingClock } from '../db/database-clock.ts';
import type { SessionLock } from '../db/connections/session-lock.ts';
import type { PlayedRow } from './claim-store.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import type { SigningKey } from './envelope.ts';
import { DELIVERIES_PER_EVENT } from './fan-out-store.ts';
import { createQueues, type Queues } from './queues.ts';
import type { RecordedAttempt } from './result-store.ts';
import type { Sender } from './sender.ts';
import {
  FIRST_ENDPOINT,
  WAITING_STATUSES,
  type DuePosition,
  type EndpointRef,
  type WaitingStatus,
} from './waiting-store.ts';

/** The signing keys of an endpoint, and what its secrets were decrypted from. */
export interface OpenedSecrets {
  readonly encrypted: Buffer;
  readonly earlierEncrypted: Buffer | null;
  readonly current: SigningKey;
  readonly earlier: readonly { readonly key: SigningKey; readonly until: string }[];
}

/** How often a loop looks for work by itself. */
export const TICK_MS = 500;

/** What a delivery loop needs. The caller closes all of it after the loop has stopped. */
export interface DispatcherOptions {
  readonly db: Db;
  /** The same by connections of its own: for what is slow, and for which no round must wait. */
  readonly beside: Db;
  /** Its number marks this worker's claims. */
  readonly lock: SessionLock;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly secrets: AppSecrets;
  readonly logger: Logger;
  readonly limits: Limits;
  /** null: attempts are not traced, and a `traceparent` is only passed on. */
  readonly tracing?: Tracing | null;
  /** The waits before the second attempt, before the third one, and so on. */
  readonly retryDelaysS: readonly number[];
  /** Called when an attempt has ended. */
  readonly observe: (status: string, seconds: number, mode: Mode) => void;
  /** Called when a fault of ours has kept an attempt from being made. */
  readonly onFault?: (mode: Mode) => void;
  /** How often the loop looks for work by itself; shorter in tests on a clock of their own. */
  readonly tickMs?: number;
  /** Without: the worker has no other loop. */
  readonly oneOfMany?: OneOfMany;
}

/** How many deliveries a worker may have claimed and not ended. */
export interface Limits {
  /** Over all endpoints. Endpoints whose last attempt was slow have half of it at most. */
  readonly held: number;
  /** Attempts in flight to one endpoint. */
  readonly maxPerEndpoint: number;
}

/** What a loop needs of the others if its worker has one for each part of the database. */
interface OneOfMany {
  /** How many deliveries all of them hold. */
  heldByAll(): number;
  /** The deliveries that all of them have in hand. */
  inHandOfAll(): readonly TeamKey[];
}

/** One worker's delivery loop; every part of it takes this. */
export interface Loop {
  readonly options: DispatcherOptions & { readonly clock: FollowingClock };
  readonly queues: Queues;
  readonly state: LoopState;
  /**
   * Launches what is ready, and starts rounds unless they run already. This is a field because
   * rounds launch attempts, attempts start rounds, and modules must not import each other in a
   * circle.
   */
  readonly startRounds: () => void;
}

/**
 *  * `running`: makes rounds and launches attempts.
 *  * `draining`: launches nothing more; attempts in flight end and results are written.
 *  * `stopped`: nothing is in flight, and every result is written or given up.
 */
export type LoopMode = 'running' | 'draining' | 'stopped';

/**
 * What a round may have to do:
 *  * `events`: fan out events.
 *  * `requested`: look for requested attempts.
 *  * `tick`: what only a tick does, such as to release claims and to find due deliveries.
 *  * `recovery`, at the next tick: this worker may have claims that it does not know of. A
 *    statement failed and may have claimed deliveries nevertheless, or attempts.ts has forgotten
 *    some.
 *  * `forgetEvents`, at the next tick: this worker has claimed deliveries at insert.
 */
type Wanted = 'events' | 'requested' | 'tick' | 'recovery' | 'forgetEvents';

/** The events that wait for their fan-out, as far as the last ones tell. */
export interface FanOutState {
  /** No event before this moment waits, as far as is known. */
  fromMs: number;
  /** The tick of the last look at all events. */
  wholeAt: number;
  /** Where the look for teams goes on, towards older events; null: at the newest. */
  before: string | null;
  /** When the last fan-out began. */
  lastAtMs: number;
  /** How many deliveries it made of an event, or the most that an event may make. */
  deliveriesPerEvent: number;
}

/** Longer than a transaction may take, where only our clock tells the time. */
export const IDLE_MAX_MS = 600_000;

/** As before the first fan-out. */
export function newFanOutState(clock: Clock): FanOutState {
  return {
    fromMs: clock.now().getTime() - IDLE_MAX_MS,
    wholeAt: -Infinity,
    before: null,
    lastAtMs: -Infinity,
    deliveriesPerEvent: DELIVERIES_PER_EVENT,
  };
}

/** "Written by" names the only files that may write a field. All times are monotonic. */
export interface LoopState {
  /** See LoopMode. Written by `enter`, which dispatcher.ts calls; read by all parts. */
  mode: LoopMode;
  /** What the next round has to do. */
  readonly wanted: Set<Wanted>;
  /** What runs now, by its kind; `stop` waits for it. */
  readonly running: Map<Running, Promise<unknown>>;
  /** Rounds that answered a tick. Written by rounds.ts; read by rounds.ts and fan-out.ts. */
  ticks: number;
  /** Where the search for due deliveries is. Written and read by search.ts. */
  readonly search: {
    /** Where the next look at all endpoints begins. */
    readonly after: Record<WaitingStatus, EndpointRef>;
    /** The statuses for which all endpoints must be looked at, without waiting for ticks. */
    readonly unfinished: Set<WaitingStatus>;
    /** Where the next look at newly due retries begins; null before the first one. */
    afterDue: DuePosition | null;
    /** Whether more retries have become due than one look covers. */
    hasMoreDue: boolean;
    /** The activations of endpoints that the last tick has seen. */
    activated: ReadonlySet<TeamKey>;
    /** The numbers of the workers that were alive at the last tick. */
    workers: ReadonlySet<number>;
  };
  /** Written and read by fan-out.ts. */
  readonly fanOut: FanOutState;
  /** Signing secrets of the endpoints in memory. Written and read by attempts.ts. */
  readonly secrets: WeakMap<EndpointQueue, OpenedSecrets>;
  /**
   * Deliveries from their launch until their result is written, or until a fault of ours is some
   * seconds old. attempts.ts adds; results.ts and attempts.ts remove; rounds.ts reads it to tell
   * lost claims from its own.
   */
  readonly unwritten: Set<TeamKey>;
  /** Results to write, oldest first. attempts.ts adds, results.ts takes. */
  readonly results: RecordedAttempt[];
  /**
   * Results whose rows somebody has locked. The next tick tries again. Written and read by
   * results.ts. `UNWRITTEN_MAX` bounds them.
   */
  readonly postponed: RecordedAttempt[];
  /** Whether somebody has locked rows, as far as is known. Written and read by results.ts. */
  skipsLocked: boolean;
  /** Queries for what is played in sandboxes, while they run. Written and read by attempts.ts. */
  readonly played: Map<string, Promise<PlayedRow | null>>;
}

/** Returns a loop in the mode `running`. `startRounds` is the function of rounds.ts. */
export function newLoop(options: DispatcherOptions, startRounds: (loop: Loop) => void): Loop {
  const { limits, oneOfMany } = options;
  // One of many loops leaves as much to the others as it takes.
  const held = (): number => limits.held - (oneOfMany?.heldByAll() ?? 0);
  const loop: Loop = {
    // Times that this worker writes are compared with those of others.
    options: { ...options, clock: followingClock(options.clock) },
    queues: createQueues({ held, maxPerEndpoint: limits.maxPerEndpoint }),
    startRounds: () => startRounds(loop),
    state: {
      mode: 'running',
      wanted: new Set(['events', 'requested', 'tick']),
      running: new Map(),
      ticks: 0,
      search: {
        after: {
          requested: FIRST_ENDPOINT,
          pending: FIRST_ENDPOINT,
          retrying: FIRST_ENDPOINT,
        },
        unfinished: new Set(WAITING_STATUSES),
        afterDue: null,
        hasMoreDue: false,
        activated: new Set(),
        workers: new Set(),
      },
      fanOut: newFanOutState(options.clock),
      secrets: new WeakMap(),
      unwritten: new Set(),
      results: [],
      postponed: [],
      skipsLocked: false,
      played: new Map(),
    },
  };
  return loop;
}

/** What runs beside the rounds, by its kind, and what is logged if it fails. */
const FAULTS = {
  analyze: 'tables that have grown could not be analyzed',
  look: 'old events could not be looked for yet',
  place: 'events could not be given their places yet',
} as const;
type Running = 'rounds' | 'results' | keyof typeof FAULTS;

/** Begins work for which no round waits, unless some of its kind runs. `stop` waits for it. */
export function runBeside(
  { options, state }: Pick<Loop, 'options' | 'state'>,
  kind: keyof typeof FAULTS,
  work: (db: Db) => Promise<void>,
): void {
  if (state.running.has(kind)) return;
  const running = work(options.beside)
    .catch((err: unknown) => options.logger.warn({ err }, FAULTS[kind]))
    .finally(() => state.running.delete(kind));
  state.running.set(kind, running);
}

const BEFORE: Readonly<Record<LoopMode, LoopMode | null>> = {
  running: null,
  draining: 'running',
  stopped: 'draining',
};

/** Changes the mode. Throws unless the change is a step of running → draining → stopped. */
export function enter({ state }: Loop, mode: LoopMode): void {
  if (state.mode !== BEFORE[mode])
    throw new Error(`The loop is ${state.mode} and cannot become ${mode}.`);
  state.mode = mode;
}
