/**
 * The synchronization of one connection (see `schedule.ts` for its rounds). One run at a time has a connection: it puts a token into the row, with a lease
 * that each page prolongs. A run that dies leaves a lease that ends; should it only have seemed dead, its token is not the row's any more, and its page is
 * not applied. A page and the place after it are one transaction, and the network is never asked in one.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { decrypt, type AppSecrets } from '../../core/encryption.ts';
import { newRequestId } from '../../core/ids.ts';
import { ProblemError } from '../../core/problem.ts';
import { privacyOf } from '../../core/privacy.ts';
import type { Db } from '../../db/client.ts';
import { record } from '../../db/outbox.ts';
import { describeObjection, objectionInNote } from './objections.ts';
import { isProviderError, providerError, type Provider, type ProviderError, type ProviderPage } from './provider.ts';
import { openProvider, type ProviderSettings } from './providers.ts';
import { credentialsContext } from './rules.ts';
import {
  nextRegular,
  nextRetry,
  parseState,
  roundAfter,
  roundOf,
  stateAfter,
  END,
  SWEEP,
  type Round,
  type SyncState,
} from './schedule.ts';
import * as store from './sync-store.ts';
import type { ClaimedRow, ConnectionKey, RunKey } from './sync-store.ts';

export interface SyncDependencies {
  readonly db: Db;
  readonly clock: Clock;
  readonly secrets: AppSecrets;
  readonly settings: ProviderSettings;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** The worker stops: the run ends after the page that it is at. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How a run ended. `skipped`: not due, or somebody else's. `yielded`: more is to do, by the next run. `lost`: the connection was paused, disconnected or taken
 * over meanwhile.
 */
export type RunOutcome = 'skipped' | 'done' | 'yielded' | 'lost' | 'failed';

/** Longer than a page takes: two calls, and waiting as often as a run may. */
const LEASE_MS = 120_000;
/** So long a run has its lane; a first import takes several. */
const RUN_MS = 60_000;
/** What the CRM asks to wait is waited for here when it is this short. A longer wait is another run's. */
const WAIT_HERE_MS = 10_000;
const WAITS_MAX = 5;

/** Runs the synchronization of a connection if it is due. Emits `crm.sync.failed` with the first failure after a success. */
export async function syncConnection(dependencies: SyncDependencies, key: ConnectionKey): Promise<RunOutcome> {
  const { db, clock } = dependencies;
  const run: RunKey = { teamId: key.teamId, connectionId: key.connectionId, token: randomUUID() };
  const now = clock.now();
  const row = await store.claim(db, run, now, leaseFrom(now));
  if (!row) return 'skipped';
  const progress = { pages: 0 };
  let provider: Provider | null = null;
  try {
    provider = await open(dependencies, run, row);
    return await readRound({ dependencies, run, row, provider, progress });
  } catch (error) {
    // Without a database nothing can be noted; the lease ends by itself.
    if (error instanceof ProblemError && error.code === 'unavailable') throw error;
    const isExpected = isProviderError(error);
    const known = isExpected ? error : providerError('internal', { cause: error });
    const outcome = await giveUp(dependencies, run, { error: known, madeProgress: progress.pages > 0 });
    if (!isExpected) throw error;
    return outcome;
  } finally {
    provider?.close();
  }
}

interface RunParts {
  readonly dependencies: SyncDependencies;
  readonly run: RunKey;
  readonly row: ClaimedRow;
  readonly provider: Provider;
  readonly progress: { pages: number };
}

async function readRound(parts: RunParts): Promise<RunOutcome> {
  const { dependencies, run, row, provider, progress } = parts;
  const { db, clock, signal } = dependencies;
  const state = parseState(row.sync_state);
  const startMs = clock.now().getTime();
  const patience = { waits: 0 };
  const owners = await withPatience(dependencies, patience, () => provider.listOwners());
  let round: Round = roundOf(state, provider.lists, clock.now());
  while (round.list !== END) {
    if (signal?.aborted || clock.now().getTime() - startMs > RUN_MS) {
      await store.release(db, run, null);
      return 'yielded';
    }
    const { list, full, cursor }: Round = round;
    const place = { since: full ? null : (state.since[list] ?? null), cursor };
    const page =
      list === SWEEP ? null : await withPatience(dependencies, patience, () => provider.readPage(list, place));
    const next = await applyStep(parts, { state, round, page, owners });
    if (next === null) return 'lost';
    progress.pages += 1;
    round = next;
  }
  return endRound(dependencies, run, stateAfter(state, round));
}

interface Step {
  readonly state: SyncState;
  readonly round: Round;
  /** null: the sweep. */
  readonly page: ProviderPage | null;
  readonly owners: ReadonlyMap<string, string>;
}

/** One page, or one batch of the sweep, with the place after it. Null: the connection is not this run's any more. */
function applyStep({ dependencies, run, row, provider }: RunParts, step: Step): Promise<Round | null> {
  const { db, clock } = dependencies;
  const { round, page, state, owners } = step;
  // Never before the round began, whichever worker's clock that was by: the sweep compares the two.
  const at = new Date(Math.max(clock.now().getTime(), Date.parse(round.startedAt)));
  return db.transaction(async (tx) => {
    const next = page === null ? round : roundAfter(round, provider.lists, page);
    if (!(await store.holdRun(tx, run, { ...state, round: next }, leaseFrom(clock.now())))) return null;
    if (page === null) return (await store.sweep(tx, run, round.startedAt)) ? { ...round, list: END } : round;
    applyPage({ tx, run, page, owners, at, marker: row.objection_marker });
    return next;
  });
}

function applyPage(options: {
  readonly tx: Parameters<typeof store.upsertDeals>[0];
  readonly run: RunKey;
  readonly page: ProviderPage;
  readonly owners: ReadonlyMap<string, string>;
  readonly at: Date;
  readonly marker: string | null;
}): void {
  const { tx, run, page, owners, at, marker } = options;
  // One statement must not meet a deal twice; the later is the newer.
  const deals = [...new Map(page.deals.map((deal) => [deal.externalId, deal])).values()];
  if (deals.length > 0) {
    store.upsertDeals(tx, run, { deals, owners, at });
    const objections = deals.flatMap(({ externalId, lostReason }) =>
      lostReason === null ? [] : [{ source: 'lost_reason', dealId: externalId, ...describeObjection(lostReason) }],
    );
    store.replaceLostReasons(tx, run, { dealIds: deals.map((deal) => deal.externalId), objections, at });
  }
  if (page.deletedDealIds.length > 0) store.deleteDeals(tx, run, page.deletedDealIds);
  if (marker === null) return;
  const notes = [...new Map(page.notes.map((note) => [note.id, note])).values()];
  const objections = notes.flatMap((note) => {
    const said = objectionInNote(note.html, marker);
    if (said === null) return [];
    return [...new Set(note.dealIds)].map((dealId) => ({
      source: `note:${note.id}`,
      dealId,
      ...describeObjection(said),
    }));
  });
  store.replaceNotes(tx, run, { sources: notes.map(({ id }) => `note:${id}`), objections, at });
}

async function endRound({ db, clock, random }: SyncDependencies, run: RunKey, state: SyncState): Promise<RunOutcome> {
  const at = clock.now();
  const ended = await db.transaction((tx) => store.endRound(tx, run, { state, at, next: nextRegular(at, random()) }));
  return ended ? 'done' : 'lost';
}

/**
 * A limit that was met after some pages is no failure: the next run goes on when the CRM allows. Everything else is one, and the first of a streak raises the
 * event.
 */
function giveUp(
  { db, clock, random }: SyncDependencies,
  run: RunKey,
  { error, madeProgress }: { error: ProviderError; madeProgress: boolean },
): Promise<RunOutcome> {
  const { reason, retryAfterMs, refusedPlace } = error;
  const at = clock.now();
  return db.transaction(async (tx) => {
    if (reason === 'rate_limited' && madeProgress) {
      await store.release(tx, run, new Date(at.getTime() + Math.max(retryAfterMs ?? 0, 1_000)));
      return 'yielded';
    }
    const failed = await store.failRun(tx, run, { reason, forgetRound: refusedPlace });
    if (!failed) return 'lost';
    store.setNext(tx, run, nextRetry(at, failed.failure_streak, { retryAfterMs, random: random() }));
    if (failed.failure_streak > 1) return 'failed';
    record(
      tx,
      {
        teamId: run.teamId,
        actor: { kind: 'platform', id: 'crm_sync' },
        // Nothing in the event is about a person.
        privacy: privacyOf({ memberDetailEnabled: false, leaderboardEnabled: false }),
        requestId: newRequestId(),
        at,
      },
      {
        audit: { action: 'crm_connection.sync_failed', targetId: run.connectionId, details: { reason } },
        events: [
          { type: 'crm.sync.failed', data: { connection_id: run.connectionId, provider: failed.provider, reason } },
        ],
      },
    );
    return 'failed';
  });
}

/** Waits for a rate limit that ends soon, a few times a run. */
async function withPatience<T>(
  { sleep, signal }: SyncDependencies,
  patience: { waits: number },
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isProviderError(error) || error.reason !== 'rate_limited' || signal?.aborted) throw error;
      const waitMs = error.retryAfterMs ?? WAIT_HERE_MS;
      if (waitMs > WAIT_HERE_MS || patience.waits >= WAITS_MAX) throw error;
      patience.waits += 1;
      await sleep(waitMs);
    }
  }
}

async function open({ secrets, settings }: SyncDependencies, run: RunKey, row: ClaimedRow): Promise<Provider> {
  const { provider, base_url: baseUrl, objection_marker: marker } = row;
  return openProvider(settings, {
    provider,
    token: readToken(secrets, run, row),
    baseUrl,
    readsNotes: marker !== null,
  });
}

function readToken(secrets: AppSecrets, run: RunKey, { credentials_encrypted: sealed }: ClaimedRow): string {
  try {
    return decrypt(sealed, secrets, credentialsContext(run.teamId, run.connectionId));
  } catch (cause) {
    throw providerError('credentials_unreadable', { cause });
  }
}

function leaseFrom(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS);
}
