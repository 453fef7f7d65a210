/**
 * Synchronizes one connection; `schedule.ts` explains the rounds.
 *
 * Only one run at a time owns a connection: it writes a token into the row, with a lease that each
 * page prolongs. If a run dies, its lease ends. If it was only slow, another run has replaced the
 * token, and its page is not applied. A page and the place after it are written in one transaction,
 * and there are no network calls in a transaction.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/clock.ts';
import { decrypt, type AppSecrets } from '../../../core/encryption.ts';
import { ProblemError } from '../../../core/problem.ts';
import { modeOf } from '../../../core/sandbox.ts';
import type { Db } from '../../../db/client.ts';
import { databaseClock } from '../../../db/database-clock.ts';
import { isCancelled } from '../../../db/errors.ts';
import { credentialsContext } from '../connections/rules.ts';
import { isProviderError, providerError } from '../providers/errors.ts';
import type { PagePlace, ProviderClient, ProviderPage } from '../providers/provider.ts';
import { openProvider, requireProviderName, type ProviderSettings } from '../providers/registry.ts';
import { applyPage, preparePage } from './apply-page.ts';
import { giveUp, type SyncFailure } from './give-up.ts';
import type { ConnectionKey } from './jobs.ts';
import * as pageStore from './page-store.ts';
import * as store from './run-store.ts';
import type { ClaimedConnection, RunKey } from './run-store.ts';
import {
  nextRegular,
  parseState,
  roundAfter,
  roundOf,
  stateAfter,
  END,
  SWEEP,
  type Round,
  type SyncState,
} from './schedule.ts';
import { sweepStep } from './sweep.ts';

export interface SyncDependencies {
  readonly db: Db;
  readonly clock: Clock;
  readonly secrets: AppSecrets;
  readonly settings: ProviderSettings;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Called for a run that has failed, unless that only repeats what was told before. */
  readonly onFailure?: ((failure: SyncFailure) => void) | undefined;
  /** The worker stops: the run ends after its current page. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How a run ended.
 *  * `skipped`: the connection is not due, or another run has it.
 *  * `again`: the round is complete, and another one was asked for meanwhile.
 *  * `yielded`: the round is not complete; the next run continues it.
 *  * `lost`: the connection was paused, disconnected or taken over during the run.
 */
export type RunOutcome = 'skipped' | 'done' | 'again' | 'yielded' | 'lost' | 'failed';

/** Longer than a page takes: two calls, and all the waiting that a run may do. */
const LEASE_MS = 120_000;
/** After this time a run gives its queue to others; the first import takes several runs. */
const RUN_MS = 60_000;
/** A run waits for a rate limit up to this time. The next run continues after a longer one. */
const WAIT_MAX_MS = 10_000;
const WAITS_MAX = 5;

/**
 * Synchronizes a connection if it is due. Opens transactions. Emits `crm.sync.failed` if it fails
 * (../rules.ts). Throws unexpected errors, after they were recorded as `internal`.
 */
export async function syncConnection(
  given: SyncDependencies,
  { teamId, connectionId }: ConnectionKey,
  jobId: string,
): Promise<RunOutcome> {
  const { db } = given;
  // Of all times that are compared with those that other processes have written.
  const clock = await databaseClock(db, given.clock);
  const dependencies = { ...given, clock };
  const run: RunKey = { teamId, connectionId, token: `${jobId} ${randomUUID()}` };
  const now = clock.now();
  const row = await store.claim(db, run, now, leaseFrom(now));
  if (!row) return 'skipped';
  const progress: RunParts['progress'] = { pages: 0, round: null };
  let client: ProviderClient | null = null;
  try {
    client = await open(dependencies, run, row);
    return await readRound({ dependencies, run, row, client, progress });
  } catch (error) {
    // Without a database nothing can be recorded. The lease ends by itself. But a statement that
    // takes too long would do so again and again, and nobody would know.
    const isLost = error instanceof ProblemError && error.code === 'unavailable';
    if (isLost && !isCancelled(error)) throw error;
    const isExpected = isProviderError(error);
    const known = isExpected ? error : providerError('internal', { cause: error });
    const outcome = await giveUp(dependencies, run, {
      error: known,
      madeProgress: progress.pages > 0,
      round: progress.round,
      lastReason: row.last_error,
    });
    if (!isExpected) throw error;
    return outcome;
  } finally {
    client?.close();
  }
}

function open(
  { clock, secrets, settings }: SyncDependencies,
  run: RunKey,
  row: ClaimedConnection,
): Promise<ProviderClient> {
  return openProvider(settings, {
    teamId: run.teamId,
    at: clock.now(),
    provider: requireProviderName(row.provider),
    storedCredentials: decryptCredentials(secrets, run, row),
    baseUrl: row.base_url,
    readsNotes: row.objection_marker !== null,
  });
}

function decryptCredentials(secrets: AppSecrets, run: RunKey, row: ClaimedConnection): string {
  try {
    return decrypt(
      row.credentials_encrypted,
      secrets,
      credentialsContext(run.teamId, run.connectionId),
    );
  } catch (cause) {
    throw providerError('credentials_unreadable', { cause });
  }
}

interface RunParts {
  readonly dependencies: SyncDependencies;
  readonly run: RunKey;
  readonly row: ClaimedConnection;
  readonly client: ProviderClient;
  readonly progress: { pages: number; round: Round | null };
}

async function readRound(parts: RunParts): Promise<RunOutcome> {
  const { dependencies, run, row, client, progress } = parts;
  const { db, clock, signal } = dependencies;
  const state = parseState(row.sync_state);
  const patience = { waits: 0 };
  const owners = await withPatience(dependencies, patience, () => client.listOwners());
  // Now, so that each run reads a page, however long the list of owners is.
  const startMs = clock.now().getTime();
  let round: Round = roundOf(state, client.lists, clock.now());
  while (round.list !== END) {
    if (owners === null || signal?.aborted || clock.now().getTime() - startMs > RUN_MS) {
      await store.release(db, run, { next: null, madeProgress: progress.pages > 0 });
      return 'yielded';
    }
    progress.round = round;
    const { list, full, cursor }: Round = round;
    const place = { since: full ? null : (state.since[list] ?? null), cursor };
    const read = () => client.readPage(list, place);
    const page = list === SWEEP ? null : await withPatience(dependencies, patience, read);
    // The worker stops.
    if (page === null && list !== SWEEP) continue;
    const next = await applyStep(parts, { state, round, page, owners });
    if (next === null) return 'lost';
    progress.pages += 1;
    round = next;
    if (isUnexpectedlyLong(client.lists, { list, full, place, page })) {
      await store.release(db, run, { next: null, madeProgress: true });
      return 'yielded';
    }
  }
  return endRound(dependencies, run, stateAfter(state, round));
}

/**
 * Whether a round that should read what has changed begins to read everything, because its first
 * list is not known yet (a release may rename it). The rest goes in the lane of long rounds.
 */
function isUnexpectedlyLong(
  lists: readonly string[],
  { list, full, place, page }: FirstPage,
): boolean {
  const isFirst = list === lists[0] && place.cursor === null;
  return isFirst && !full && place.since === null && page !== null && page.next !== null;
}

type FirstPage = Pick<Round, 'list' | 'full'> & {
  readonly place: PagePlace;
  readonly page: Pick<ProviderPage, 'next'> | null;
};

interface Step {
  readonly state: SyncState;
  readonly round: Round;
  /** null: the sweep. */
  readonly page: ProviderPage | null;
  readonly owners: ReadonlyMap<string, string>;
}

/**
 * Writes a page, or makes a step of the sweep, and returns the next place. Null: the connection is
 * lost.
 */
async function applyStep(parts: RunParts, step: Step): Promise<Round | null> {
  const { dependencies, run, row, client } = parts;
  const { db, clock } = dependencies;
  const { round, page, state, owners } = step;
  const prepared = page && (await preparePage(page, row.objection_marker));
  if (prepared && !(await removeDeleted(parts, step, prepared.deletedDealIds))) return null;
  // Not before the round began, even if this worker's clock is behind that of the worker which
  // began it: the sweep compares the two.
  const at = new Date(Math.max(clock.now().getTime(), Date.parse(round.startedAt)));
  return db.transaction(async (tx) => {
    const next = page === null ? round : roundAfter(round, client.lists, page);
    const isHeld = await store.holdRun(tx, run, { ...state, round: next }, leaseFrom(clock.now()));
    if (!isHeld) return null;
    if (prepared === null) return sweepStep(tx, run, round);
    applyPage(tx, prepared, { connection: run, owners, at });
    return next;
  });
}

/**
 * Removes deals that the CRM has deleted, a batch per transaction: a deal may have any number of
 * objections. False: the connection is lost.
 */
async function removeDeleted(
  { dependencies: { db, clock }, run }: RunParts,
  { state, round }: Step,
  dealIds: readonly string[],
): Promise<boolean> {
  let isDone = dealIds.length === 0;
  while (!isDone) {
    const isHeld = await db.transaction(async (tx) => {
      if (!(await store.holdRun(tx, run, { ...state, round }, leaseFrom(clock.now()))))
        return false;
      isDone = await pageStore.removeDeals(tx, run, dealIds);
      return true;
    });
    if (!isHeld) return false;
  }
  return true;
}

async function endRound(
  { db, clock, random }: SyncDependencies,
  run: RunKey,
  state: SyncState,
): Promise<RunOutcome> {
  const at = clock.now();
  const end = { state, at, next: nextRegular(at, random(), modeOf(run.teamId)) };
  return db.transaction((tx) => store.endRound(tx, run, end));
}

/** Waits for rate limits that end soon, a few times per run. Null: the worker stops meanwhile. */
async function withPatience<T>(
  { sleep, signal }: SyncDependencies,
  patience: { waits: number },
  work: () => Promise<T>,
): Promise<T | null> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isProviderError(error) || error.reason !== 'rate_limited') throw error;
      const waitMs = error.retryAfterMs ?? WAIT_MAX_MS;
      if (waitMs > WAIT_MAX_MS || patience.waits >= WAITS_MAX) throw error;
      patience.waits += 1;
      if (!signal?.aborted) await sleep(waitMs);
      if (signal?.aborted) return null;
    }
  }
}

function leaseFrom(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS);
}
