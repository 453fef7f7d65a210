import type { Db, Tx } from '../../db/client.ts';
import { sendRebuilding } from './rollups-store.ts';
import { periodOf, summarize, type TeamSummary } from './rules.ts';
import { readTeam } from './store.ts';

/** Computes the rollups anew from the team's trainings and evaluations, which must be locked. */
export function rebuildAnalytics(tx: Tx, teamId: string): void {
  sendRebuilding(tx, teamId);
}

/** Computes the team's analytics as of `now`. Reads in one statement, without a transaction. */
export async function summarizeTeam(db: Db, teamId: string, now: Date): Promise<TeamSummary> {
  const period = periodOf(now);
  return summarize(await readTeam(db, teamId, period), period.weeks);
}
