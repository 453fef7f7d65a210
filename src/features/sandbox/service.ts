import { unknownId } from '../../core/problem.ts';
import { isSandbox, SANDBOX_OWNER, sandboxIdOf } from '../../core/sandbox.ts';
import type { Db, Tx } from '../../db/client.ts';
import { isCancelled, isLockTimeout } from '../../db/errors.ts';
import { record } from '../../db/outbox.ts';
import { readChangeContext, type PlatformChangeContext } from '../../db/team-privacy.ts';
import { rebuildAnalytics } from '../analytics/service.ts';
import { simulatedRows } from '../crm/sandbox-service.ts';
import { addOwner } from '../team-lifecycle/service.ts';
import * as rules from './rules.ts';
import type { Scenario } from './rules.ts';
import { contentOf } from './scenario.ts';
import * as store from './store.ts';
import type { SandboxRow } from './store.ts';
import { endSuspension } from './suspension-service.ts';

/** A sandbox. `removal_at`: when it goes, because nobody uses it; null: not soon. */
export interface Sandbox extends Omit<SandboxRow, 'warned_at'> {
  readonly removal_at: string | null;
}

/** What a sandbox is filled with. The secret encrypts what opens its simulated CRM. */
export interface Filling<Wanted extends Scenario | undefined = Scenario> {
  readonly scenario: Wanted;
  readonly appSecret: string;
}

/** The sandbox of a team, which may be the sandbox itself; null if it has none. */
export async function findSandbox(db: Db, teamId: string): Promise<Sandbox | null> {
  const row = await store.findSandbox(db, idFor(teamId));
  return row && sandboxOf(row);
}

/** The same. Throws `not_found` if there is none. */
export async function getSandbox(db: Db, teamId: string): Promise<Sandbox> {
  return rules.requireSandbox(await findSandbox(db, teamId));
}

/**
 * Creates the sandbox of a live team. One that exists stays as it is. Opens a transaction. Throws
 * `not_found` for a team that is unknown or being erased, `conflict` while a former sandbox is.
 */
export async function createSandbox(
  db: Db,
  context: PlatformChangeContext,
  filling: Filling,
): Promise<Sandbox> {
  const { teamId, at } = context;
  const { scenario } = filling;
  if (isSandbox(teamId)) return getSandbox(db, teamId);
  const sandboxId = sandboxIdOf(teamId);
  return db.transaction(async (tx) => {
    const live = await store.lockLiveTeam(tx, teamId);
    if (!live) throw unknownId('team_id');
    const before = await store.findErasure(tx, sandboxId);
    if (before) {
      rules.requireNotErasing(before);
      return getSandbox(tx, sandboxId);
    }
    await store.insertSandbox(tx, {
      id: sandboxId,
      live,
      scenario,
      at,
      checkAt: rules.firstCheckAfter(at),
      seats: rules.LIMITS.seats,
      requestsPerMinute: rules.requestsPerMinute(live.rate_limit_per_min),
    });
    await addOwner(tx, sandboxId, SANDBOX_OWNER, at);
    await fill(tx, sandboxId, { ...filling, at });
    record(tx, await readChangeContext(tx, context), {
      audit: { action: 'sandbox.created', targetId: sandboxId, details: { scenario } },
    });
    return getSandbox(tx, sandboxId);
  });
}

/**
 * Brings a scenario back, that of the last reset if none is given, and ends what is being played.
 * The context's team is the live team or the sandbox. Opens transactions. Throws `not_found` if
 * there is no sandbox, and `conflict` while another reset runs.
 */
export async function resetSandbox(
  db: Db,
  context: PlatformChangeContext,
  { scenario: wanted, appSecret }: Filling<Scenario | undefined>,
): Promise<Sandbox> {
  const sandboxId = idFor(context.teamId);
  const { at } = context;
  const row = await db.transaction(async (tx) => {
    const before = await lockForReset(tx, sandboxId);
    const scenario = wanted ?? (before.scenario as Scenario);
    store.removeContent(tx, sandboxId);
    await fill(tx, sandboxId, { scenario, appSecret, at });
    await store.markReset(tx, sandboxId, { scenario, at });
    record(tx, await readChangeContext(tx, { ...context, teamId: sandboxId }), {
      audit: { action: 'sandbox.reset', targetId: sandboxId, details: { scenario } },
    });
    return getSandbox(tx, sandboxId);
  });
  if (row.suspended_until === null) return row;
  // Apart, because it locks the live team first. If the process dies here, the job ends it.
  await endSuspension(db, { ...context, teamId: sandboxId }, row.suspended_until);
  return getSandbox(db, sandboxId);
}

/** Reads the sandbox under its team's lock. Throws `not_found`, and `conflict` (another reset). */
async function lockForReset(tx: Tx, sandboxId: string): Promise<SandboxRow> {
  const locked = store.lockForReset(tx, sandboxId);
  const found = store.findSandbox(tx, sandboxId);
  // Sent behind the lock, so it fails with it.
  found.catch(() => undefined);
  await locked.catch((error: unknown) => {
    throw isLockTimeout(error) || isCancelled(error) ? rules.beingReset() : error;
  });
  return rules.requireSandbox(await found);
}

async function fill(
  tx: Tx,
  sandboxId: string,
  { scenario, appSecret, at }: Filling & { readonly at: Date },
): Promise<void> {
  const crm = simulatedRows(sandboxId, { at, appSecret });
  await store.insertContent(tx, sandboxId, contentOf(scenario, at, crm));
  rebuildAnalytics(tx, sandboxId);
}

/** The sandbox of a row. */
export function sandboxOf({ warned_at, ...row }: SandboxRow): Sandbox {
  return { ...row, removal_at: rules.removalAt(warned_at) };
}

/** The sandbox that a team has or is. */
export function idFor(teamId: string): string {
  return isSandbox(teamId) ? teamId : sandboxIdOf(teamId);
}
