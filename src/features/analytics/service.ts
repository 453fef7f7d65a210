import { showsMemberDetail, type Privacy } from '../../core/privacy.ts';
import type { Db } from '../../db/client.ts';
import { drawBoard, periodOf, summarize, withoutNewest, type TeamSummary } from './rules.ts';
import { readTeam, readWhole } from './store.ts';

/** Computes the rollups anew from the team's trainings and evaluations, which must be locked. */
export { sendRebuilding as rebuildAnalytics } from './rollups-store.ts';

/** A team, and how much of its members may be shown. */
interface Shown {
  readonly team: { readonly id: string };
  readonly privacy: Privacy;
}

/** Computes the team's analytics as of `now`. Reads in one statement, without a transaction. */
export async function summarizeTeam(
  db: Db,
  { team, privacy }: Shown,
  now: Date,
): Promise<TeamSummary> {
  const period = periodOf(now);
  if (showsMemberDetail(privacy))
    return summarize(await readTeam(db, team.id, period), period.weeks);
  return summarize(withoutNewest(await readWhole(db, team.id, period)), period.weeks, 0);
}

/** The same as the admin page draws it. `involved`: how many members the board has. */
export async function drawTeam(
  db: Db,
  shown: Shown,
  now: Date,
): Promise<
  Omit<TeamSummary, 'board'> & {
    readonly involved: number;
    readonly people: ReturnType<typeof drawBoard>;
  }
> {
  const { board, ...rest } = await summarizeTeam(db, shown, now);
  return { ...rest, involved: board.length, people: drawBoard(board) };
}
