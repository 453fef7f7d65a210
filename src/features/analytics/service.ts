import type { Db } from '../../db/client.ts';
import { drawBoard, periodOf, summarize, type TeamSummary } from './rules.ts';
import { readTeam } from './store.ts';

/** Computes the rollups anew from the team's trainings and evaluations, which must be locked. */
export { sendRebuilding as rebuildAnalytics } from './rollups-store.ts';

/** Computes the team's analytics as of `now`. Reads in one statement, without a transaction. */
export async function summarizeTeam(db: Db, teamId: string, now: Date): Promise<TeamSummary> {
  const period = periodOf(now);
  return summarize(await readTeam(db, teamId, period), period.weeks);
}

/** The same as the admin page draws it. `involved`: how many members the board has. */
export async function drawTeam(
  db: Db,
  teamId: string,
  now: Date,
): Promise<
  Omit<TeamSummary, 'board'> & {
    readonly involved: number;
    readonly people: ReturnType<typeof drawBoard>;
  }
> {
  const { board, ...rest } = await summarizeTeam(db, teamId, now);
  return { ...rest, involved: board.length, people: drawBoard(board) };
}
