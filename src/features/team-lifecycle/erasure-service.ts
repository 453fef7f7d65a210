/**
 * Erases whole teams: every row and every job that belongs to them, in all tables.
 *
 * The request only marks the team. From then on it is unknown to the host application, closed to
 * its keys and members, and nothing is sent for it. A job removes the rows in batches, of some
 * marked teams in turn, and of others in each run. It may be killed at any moment: the mark stays
 * until nothing else is left, and goes with the team's own row.
 */
import { systemClock, type Clock } from '../../core/clock.ts';
import { notFound } from '../../core/problem.ts';
import { sandboxIdOf } from '../../core/sandbox.ts';
import type { Db, Tx } from '../../db/client.ts';
import { record, type NewJob } from '../../db/outbox.ts';
import { lockTeam } from '../../db/team-lock.ts';
import { readChangeContext, type PlatformChangeContext } from '../../db/change-context.ts';
import * as steps from './erasure-steps-store.ts';
import * as store from './erasure-store.ts';
import { eraseJob } from './jobs.ts';
import * as rules from './rules.ts';

/**
 * Marks the team and its sandbox for their erasure and enqueues the job. A repeated call changes
 * nothing. Opens a transaction. Throws `not_found`, and `conflict` unless the team has ended.
 */
export async function requestErasure(db: Db, context: PlatformChangeContext): Promise<void> {
  const { teamId, at } = context;
  await db.transaction(async (tx) => {
    // First, because whoever resets it holds its lock for seconds, and nobody of the team waits.
    lockTeam(tx, sandboxIdOf(teamId));
    const team = await store.findForErasure(tx, teamId);
    if (!team) throw notFound();
    if (team.is_erasing) return;
    rules.requireEnded(team.status);
    const current = await readChangeContext(tx, context);
    await store.markErasing(tx, teamId, at);
    await store.markErasing(tx, sandboxIdOf(teamId), at);
    record(tx, current, {
      audit: { action: 'team.erasure_requested', targetId: teamId },
      jobs: [eraseJob()],
    });
  });
}

/** What an erasure of a sandbox begins with. */
export type SandboxErasure =
  | { readonly kind: 'none' }
  | { readonly kind: 'erasing' }
  | { readonly kind: 'marked'; readonly job: NewJob };

/**
 * Marks a sandbox alone for its erasure, and returns the job to enqueue. The live team must be
 * locked.
 */
export async function markSandbox(tx: Tx, sandboxId: string, at: Date): Promise<SandboxErasure> {
  const team = await store.findForErasure(tx, sandboxId);
  if (!team) return { kind: 'none' };
  if (team.is_erasing) return { kind: 'erasing' };
  await store.markErasing(tx, sandboxId, at);
  return { kind: 'marked', job: eraseJob() };
}

/** How an erasure runs; tests make it small. */
export interface ErasureOptions {
  readonly clock?: Pick<Clock, 'monotonicMs' | 'wait'>;
  readonly signal?: AbortSignal | undefined;
  /** After this time a run lets other jobs have their turn. */
  readonly runMs?: number;
  /** The number of rows in a batch. */
  readonly batch?: number;
  /** So many teams are erased in turn. */
  readonly teamsMax?: number;
}

const RUN_MS = 5_000;
const BATCH = 500;
const TEAMS_MAX = 20;
const PAUSE_MIN_MS = 5;

/**
 * Erases the marked teams for a while, a batch of each in turn. Returns whether there is more to
 * do. If the erasure of a team fails, the others go on, and then an error is thrown.
 */
export async function eraseTeams(db: Db, options: ErasureOptions = {}): Promise<boolean> {
  const {
    clock = systemClock,
    signal,
    runMs = RUN_MS,
    batch = BATCH,
    teamsMax = TEAMS_MAX,
  } = options;
  const until = clock.monotonicMs() + runMs;
  const teamIds = await store.listErasing(db, teamsMax);
  const running = new Set(teamIds.map((teamId) => eraseTeam(db, teamId, batch)));
  const failures: unknown[] = [];
  do {
    const startedAt = clock.monotonicMs();
    for (const erasure of running) {
      const step = await erasure.next().catch((error: unknown) => {
        failures.push(error);
        return { done: true };
      });
      if (step.done) running.delete(erasure);
    }
    // Half of the time belongs to others.
    await clock.wait(Math.max(PAUSE_MIN_MS, clock.monotonicMs() - startedAt));
  } while (running.size > 0 && clock.monotonicMs() < until && !signal?.aborted);
  if (failures.length > 0) throw new AggregateError(failures, 'A team could not be erased yet.');
  return running.size > 0 || teamIds.length === teamsMax;
}

/**
 * Removes everything of a team. Yields after each batch, even if all rows left are locked: no other
 * team waits for them. A change that began before the mark may still add rows, and a job may still
 * run, so the steps are repeated until nothing is left, or another run has removed the team.
 */
async function* eraseTeam(db: Db, teamId: string, batch: number): AsyncGenerator<void, void> {
  while (await store.isErasing(db, teamId)) {
    for (const step of steps.STEPS) {
      while (!(await steps.isDone(db, teamId, step))) {
        let after: steps.Position | null = step.start;
        do {
          after = await steps.runBatch(db, teamId, step, { after, limit: batch });
          yield;
        } while (after);
      }
    }
    if (await db.transaction((tx) => store.removeTeam(tx, teamId, batch))) return;
    yield;
  }
}
