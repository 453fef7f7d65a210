import { appProcedure } from '../../trpc/procedures.ts';
import { dailyInput, dailyUsage, limitsInput, usageLimits } from './schema.ts';
import * as service from './service.ts';
import { toDay } from './view.ts';

/** The usage of the team's keys, for its admins. */
export const usage = {
  limits: appProcedure({ access: 'admins', input: limitsInput, output: usageLimits }).query(
    ({ ctx: { team, services } }) => ({
      plan: team.plan,
      team_per_minute: team.rateLimitPerMinute,
      key_per_minute: services.keyPerMinute,
    }),
  ),

  daily: appProcedure({ access: 'admins', input: dailyInput, output: dailyUsage }).query(
    async ({ ctx, input }) => {
      const rows = await service.listDays(ctx.db, ctx.services.clock, ctx.team.id, input);
      return { data: rows.map(toDay) };
    },
  ),
};
