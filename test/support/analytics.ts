// Teams with trainings, and what GET /analytics/team says about them.
import { expect } from 'vitest';
import { loadTestSeed, type TestApi } from './api.ts';
import { makeSeed, makeTraining, type TeamSeed } from './seed.ts';

/** A training as a seed file has it. */
export type Training = ReturnType<typeof makeTraining>;

/** The response of GET /analytics/team. */
export interface Analytics {
  totals: { active_members: number; scored: number; sessions: number; avg_score: number | null };
  dimensions: { dimension: string; value: number | null }[];
  skill_gaps: string[];
  trend: { score: number | null }[];
  members: { sessions: number; avg_score: number | null; trend_delta: number | null }[];
}

/** Loads the team and returns a function that reads its analytics. */
export async function loadTeam(api: TestApi, team: TeamSeed): Promise<() => Promise<Analytics>> {
  const seeded = await loadTestSeed({ url: api.databaseUrl }, makeSeed([team]));
  const key = seeded.teams[team.id ?? '']?.api_keys['analytics:read'] ?? null;
  return async () => {
    const { status, body } = await api.call(key, 'GET', '/analytics/team');
    expect(status).toBe(200);
    return body as Analytics;
  };
}

let trainings = 0;

/** Makes an ended training of the user. A `total` of null means that it is not scored. */
export function makeSession(
  user: string,
  at: string,
  total: number | null,
  fields: Partial<Training> = {},
): Training {
  trainings += 1;
  return makeTraining('x', `trn_${trainings}`, {
    user_id: user,
    status: total === null ? 'completed' : 'scored',
    created_at: at,
    finished_at: at,
    evaluation: total === null ? null : { score: { total, dimensions: {} } },
    ...fields,
  });
}
