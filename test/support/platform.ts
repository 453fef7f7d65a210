// Helpers for tests of the procedures that the services of the host application call.
import { beforeAll } from 'vitest';
import { startTestApi, type TestApi } from './api.ts';
import { appAsPlatform } from './app.ts';
import { makeSeed, userId, type TeamSeed } from './seed.ts';

/** The procedures for the host application. */
export type Platform = Awaited<ReturnType<typeof appAsPlatform>>['platform'];

/** Returns the procedures for the host application, called by one of its services. */
export async function platformOf(
  api: Pick<TestApi, 'url'>,
  service = 'training',
): Promise<Platform> {
  return (await appAsPlatform(api, service)).platform;
}

/** The API that `usePlatform` has started, and its procedures for the host application. */
export let api: TestApi;
export let platform: Platform;

/** Starts an API with these teams before the tests of this file. */
export function usePlatform(teams: TeamSeed[], service?: string): void {
  beforeAll(async () => {
    api = await startTestApi({ seed: makeSeed(teams) });
    platform = await platformOf(api, service);
  });
}

/** Describes a training of the team's member, as the host application reports it. */
export function describeTraining<F extends object>(team: string, id: string, fields: F = {} as F) {
  return {
    team_id: `team_${team}`,
    training_id: id,
    user_id: userId(team, 'member'),
    created_at: '2026-11-17T09:00:00.000Z',
    ...fields,
  };
}

/** Describes an evaluation with this total, which is also the score of one dimension. */
export function describeEvaluation(
  team: string,
  id: string,
  total: number | null,
  savedAt = '2026-11-17T09:20:00.000Z',
) {
  return {
    team_id: `team_${team}`,
    training_id: id,
    saved_at: savedAt,
    score: { total, spread: 2.5, dimensions: total === null ? {} : { closing: total } },
    tips: [{ issue: 'i', moment: 'm', principle: 'p', rewrite: 'r', impact: 'x' }],
    goal: 'partial',
  };
}

/** An event as the database holds it. */
export interface RaisedEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Returns the team's events, oldest first; with `trainingId`, only those of that training. */
export async function eventsOf(
  api: Pick<TestApi, 'db'>,
  teamId: string,
  trainingId?: string,
): Promise<RaisedEvent[]> {
  const { rows } = await api.db.pool.query<RaisedEvent>(
    'select type, data from event where team_id = $1 order by id',
    [teamId],
  );
  return trainingId === undefined
    ? rows
    : rows.filter(({ data }) => data['training_id'] === trainingId);
}
