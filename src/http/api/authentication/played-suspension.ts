/**
 * The end of a suspension that was played in a sandbox. A job ends it (`features/sandbox`). Keys do
 * not wait for a job that is late. Only requests that would be refused ask, and only of sandboxes.
 */
import { hasApi } from '../../../core/plans.ts';
import { isSandbox, liveIdOf } from '../../../core/sandbox.ts';
import type { Queries } from '../../../db/client.ts';
import type { TeamFacts } from '../../../trpc/context.ts';
import { isActive, isSuspensionOver } from './played-suspension-store.ts';

/** Whether a team is closed only because a played suspension has not been ended on time. */
export async function isOverdue(
  db: Queries,
  { id, plan }: TeamFacts,
  now: Date | null,
): Promise<boolean> {
  if (!isSandbox(id) || !hasApi(plan)) return false;
  return (await isSuspensionOver(db, id, now)) && isActive(db, liveIdOf(id));
}
