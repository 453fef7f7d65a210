import { endpoint } from '../../trpc/endpoint.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import { teamAnalytics, teamInput, teamResults } from './schema.ts';
import * as service from './service.ts';
import { toTeamAnalytics, toTeamResults } from './view.ts';

const example = {
  totals: { active_members: 6, scored: 41, sessions: 44, avg_score: 63.4 },
  dimensions: [
    { dimension: 'closing', value: 57.9 },
    { dimension: 'conversation_control', value: 66.2 },
    { dimension: 'needs_analysis', value: 70.1 },
    { dimension: 'objection_handling', value: 55.3 },
    { dimension: 'value_argument', value: 67.5 },
  ],
  skill_gaps: ['objection_handling', 'closing'],
  trend: [58, 57, null, 59, 60, 61, 60, 63, 64, 64, 66, 67].map((score) => ({ score })),
  members: [
    { sessions: 12, avg_score: 71.3, trend_delta: 4.2 },
    { sessions: 10, avg_score: 66, trend_delta: 2.1 },
    { sessions: 11, avg_score: 61.8, trend_delta: -1.4 },
    { sessions: 8, avg_score: 57.5, trend_delta: 6 },
    { sessions: 3, avg_score: null, trend_delta: null },
  ],
};

/** The analytics of the team over all active members. */
export const analytics = {
  team: endpoint({
    method: 'GET',
    path: '/analytics/team',
    scope: 'analytics:read',
    tag: 'Analytics',
    summary: 'Read the team analytics',
    description:
      'Totals, dimensions, skill gaps and trend over all trainings of the active members. ' +
      '`members` shows how single members do, without naming them. ' +
      'While `member_detail_enabled` is off, means move by six people at a time.',
    input: teamInput,
    output: teamAnalytics,
    outputName: 'TeamAnalytics',
    privacy: 'redact',
    example: { output: example },
  }).query(async ({ ctx }) =>
    toTeamAnalytics(
      ctx.privacy,
      await service.summarizeTeam(ctx.db, ctx, ctx.services.clock.now()),
    ),
  ),
};

/** The same figures as the admin page draws them. */
export const adminAnalytics = {
  results: appProcedure({
    access: 'admins',
    input: teamInput,
    output: teamResults,
    privacy: 'redact',
  }).query(async ({ ctx }) =>
    toTeamResults(ctx.privacy, await service.drawTeam(ctx.db, ctx, ctx.services.clock.now())),
  ),
};
