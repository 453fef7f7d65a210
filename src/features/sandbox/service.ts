import { isDeepStrictEqual } from 'node:util';
import { HOUR_MS } from '../../core/hourly-limit.ts';
import { unknownId } from '../../core/problem.ts';
import {
  asSandbox,
  isSandbox,
  SANDBOX_LIMITS,
  SANDBOX_OWNER,
  sandboxIdOf,
} from '../../core/sandbox.ts';
import type { Db, Tx } from '../../db/client.ts';
import { isCancelled, isLockTimeout } from '../../db/errors.ts';
import { removeResponsesOfReset } from '../../db/kept-responses.ts';
import { record } from '../../db/outbox.ts';
import { readChangeContext, type PlatformChangeContext } from '../../db/change-context.ts';
import { rebuildAnalytics } from '../analytics/service.ts';
import { simulatedRows } from '../crm/sandbox-service.ts';
import { addOwner } from '../team-lifecycle/service.ts';
import * as rules from './rules.ts';
import type { Scenario } from '../../core/vocabularies.ts';
import { contentOf } from './scenario.ts';
import * as store from './store.ts';
import type { LiveTeam, SandboxRow } from './store.ts';
import { endSuspension } from './suspension-service.ts';

/** What a sandbox is filled with. The secret encrypts what opens its simulated CRM. */
export interface Filling<Wanted extends Scenario | undefined = Scenario> {
  readonly scenario: Wanted;
  readonly appSecret: string;
}

/** The sandbox of a team, which may be the sandbox itself; null if it has none. */
export function findSandbox(db: Db, teamId: string): Promise<SandboxRow | null> {
  return store.findSandbox(db, idFor(teamId));
}

/** The same. Throws `not_found` if there is none. */
export async function getSandbox(db: Db, teamId: string): Promise<SandboxRow> {
  return rules.requireSandbox(await findSandbox(db, teamId));
}

/**
 * Creates the sandbox of a live team. One that exists stays as it is. Opens a transaction, which
 * locks the live team at its end only. Throws `not_found` for a team that is unknown or being
 * erased, `conflict` while a former sandbox is.
 */
export async function createSandbox(
  db: Db,
  context: PlatformChangeContext,
  filling: Filling,
): Promise<SandboxRow> {
  const { teamId, at } = context;
  const { scenario } = filling;
  if (isSandbox(teamId)) return getSandbox(db, teamId);
  return db.transaction(async (tx) => {
    const live = await store.findLiveTeam(tx, teamId);
    if (!live) throw unknownId('team_id');
    const id = sandboxIdOf(teamId);
    const [team, seats] = [asSandbox(live), SANDBOX_LIMITS.seats];
    if (!(await store.insertSandbox(tx, { id, team, seats, scenario, at }))) {
      const found = await findSandbox(tx, id);
      if (!found) throw rules.beingRemoved();
      return found;
    }
    await addOwner(tx, id, SANDBOX_OWNER, at);
    await fill(tx, id, { ...filling, at });
    await followLive(tx, id, { teamId, before: live });
    record(tx, await readChangeContext(tx, context), {
      audit: { action: 'sandbox.created', targetId: id, details: { scenario } },
    });
    return getSandbox(tx, id);
  });
}

/**
 * Locks the live team, now that there is little left to do, and takes over what has changed there
 * since `before` was read. Throws `not_found` if it is gone.
 */
async function followLive(
  tx: Tx,
  sandboxId: string,
  { teamId, before }: { readonly teamId: string; readonly before: LiveTeam },
): Promise<void> {
  const live = await store.lockLiveTeam(tx, teamId);
  if (!live) throw unknownId('team_id');
  if (!isDeepStrictEqual(live, before)) await store.takeOver(tx, sandboxId, asSandbox(live));
}

/**
 * Brings a scenario back, that of the last reset if none is given, and ends what is being played.
 * The context's team is the live team or the sandbox. Opens transactions. Throws `not_found` if
 * there is no sandbox, `conflict` while another reset runs, or if there are too many rows, and
 * `rate_limited`.
 */
export async function resetSandbox(
  db: Db,
  context: PlatformChangeContext,
  { scenario: wanted, appSecret }: Filling<Scenario | undefined>,
): Promise<SandboxRow> {
  const sandboxId = idFor(context.teamId);
  const { at } = context;
  const sandbox = await db.transaction(async (tx) => {
    const { before, current, large } = await lockForReset(tx, { ...context, teamId: sandboxId });
    const scenario = wanted ?? before.scenario;
    await removeContent(tx, sandboxId, large);
    await removeResponsesOfReset(tx, sandboxId);
    await fill(tx, sandboxId, { scenario, appSecret, at });
    record(tx, current, {
      audit: { action: 'sandbox.reset', targetId: sandboxId, details: { scenario } },
    });
    return store.markReset(tx, before, { scenario, at });
  });
  if (sandbox.suspended_until === null) return sandbox;
  // Apart, because it locks the live team. If the process dies here, the job ends it.
  await endSuspension(db, { ...context, teamId: sandboxId }, sandbox.suspended_until);
  return getSandbox(db, sandboxId);
}

/**
 * Reads the sandbox, the context of its reset and whether it is large, under its team's lock.
 * Throws `not_found`, `conflict` (another reset) and `rate_limited`.
 */
async function lockForReset(tx: Tx, context: PlatformChangeContext) {
  const { teamId, at } = context;
  const locked = store.lockForReset(tx, teamId);
  const found = store.findSandbox(tx, teamId);
  const current = readChangeContext(tx, context);
  const limiting = store.findLimitingReset(tx, teamId, new Date(at.getTime() - HOUR_MS));
  const large = store.isLarge(tx, teamId);
  // Sent behind the lock, so they fail with it.
  for (const read of [found, current, limiting, large]) read.catch(() => undefined);
  await locked.catch((error: unknown) => {
    throw isLockTimeout(error) || isCancelled(error) ? rules.beingReset() : error;
  });
  const before = rules.requireSandbox(await found);
  rules.requireBelowResetLimit((await limiting)?.created_at ?? null, at);
  return { before, current: await current, large: await large };
}

/** Throws `conflict` if there are too many rows to be removed in time. */
async function removeContent(tx: Tx, sandboxId: string, large: boolean): Promise<void> {
  await store.removeContent(tx, sandboxId, large).catch((error: unknown) => {
    throw large && isCancelled(error) ? rules.tooMuchToReset() : error;
  });
}

async function fill(
  tx: Tx,
  sandboxId: string,
  { scenario, appSecret, at }: Filling & { readonly at: Date },
): Promise<void> {
  const crm = await simulatedRows(sandboxId, { at, appSecret });
  await store.insertContent(tx, sandboxId, contentOf(scenario, at, crm));
  rebuildAnalytics(tx, sandboxId);
}

/** The sandbox that a team has or is. */
export function idFor(teamId: string): string {
  return isSandbox(teamId) ? teamId : sandboxIdOf(teamId);
}
