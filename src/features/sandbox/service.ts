import { unknownId } from '../../core/problem.ts';
import { isSandbox, sandboxIdOf } from '../../core/sandbox.ts';
import type { Db, Tx } from '../../db/client.ts';
import { record } from '../../db/outbox.ts';
import { lockTeam } from '../../db/team-lock.ts';
import { readChangeContext, type PlatformChangeContext } from '../../db/team-privacy.ts';
import { rebuildAnalytics } from '../analytics/service.ts';
import * as rules from './rules.ts';
import type { Scenario } from './rules.ts';
import { contentOf } from './scenario.ts';
import * as store from './store.ts';
import type { SandboxRow } from './store.ts';
import { endSuspension } from './suspension-service.ts';

/** The sandbox of a team, which may be the sandbox itself; null if it has none. */
export function findSandbox(db: Db, teamId: string): Promise<SandboxRow | null> {
  return store.findSandbox(db, idFor(teamId));
}

/** The same. Throws `not_found` if there is none. */
export async function getSandbox(db: Db, teamId: string): Promise<SandboxRow> {
  return rules.requireSandbox(await findSandbox(db, teamId));
}

/**
 * Creates the sandbox of a live team. One that exists stays as it is. Opens a transaction. Throws
 * `not_found` for a team that is unknown or being erased.
 */
export async function createSandbox(
  db: Db,
  context: PlatformChangeContext,
  scenario: Scenario,
): Promise<SandboxRow> {
  const { teamId, at } = context;
  if (isSandbox(teamId)) return getSandbox(db, teamId);
  const sandboxId = sandboxIdOf(teamId);
  return db.transaction(async (tx) => {
    const live = await store.lockLiveTeam(tx, teamId);
    if (!live) throw unknownId('team_id');
    const before = await store.findSandbox(tx, sandboxId);
    if (before) return before;
    await store.insertSandbox(tx, {
      id: sandboxId,
      live,
      scenario,
      at,
      seats: rules.LIMITS.seats,
      requestsPerMinute: rules.requestsPerMinute(live.rate_limit_per_min),
    });
    await fill(tx, sandboxId, { scenario, at });
    record(tx, await readChangeContext(tx, context), {
      audit: { action: 'sandbox.created', targetId: sandboxId, details: { scenario } },
    });
    return rules.requireSandbox(await store.findSandbox(tx, sandboxId));
  });
}

/**
 * Brings a scenario back, that of the last reset if none is given, and ends what is being played.
 * The context's team is the live team or the sandbox. Opens transactions. Throws `not_found` if
 * there is no sandbox.
 */
export async function resetSandbox(
  db: Db,
  context: PlatformChangeContext,
  wanted: Scenario | undefined,
): Promise<SandboxRow> {
  const sandboxId = idFor(context.teamId);
  const { at } = context;
  const suspendedUntil = (await store.findSandbox(db, sandboxId))?.suspended_until ?? null;
  await endSuspension(db, { ...context, teamId: sandboxId }, suspendedUntil);
  return db.transaction(async (tx) => {
    lockTeam(tx, sandboxId);
    const before = rules.requireSandbox(await store.findSandbox(tx, sandboxId));
    const scenario = wanted ?? (before.scenario as Scenario);
    store.removeContent(tx, sandboxId);
    await fill(tx, sandboxId, { scenario, at });
    await store.markReset(tx, sandboxId, { scenario, at });
    record(tx, await readChangeContext(tx, { ...context, teamId: sandboxId }), {
      audit: { action: 'sandbox.reset', targetId: sandboxId, details: { scenario } },
    });
    return rules.requireSandbox(await store.findSandbox(tx, sandboxId));
  });
}

async function fill(
  tx: Tx,
  sandboxId: string,
  { scenario, at }: { readonly scenario: Scenario; readonly at: Date },
): Promise<void> {
  await store.insertContent(tx, sandboxId, contentOf(scenario, at));
  rebuildAnalytics(tx, sandboxId);
}

/** The sandbox that a team has or is. */
export function idFor(teamId: string): string {
  return isSandbox(teamId) ? teamId : sandboxIdOf(teamId);
}
