import { pageResponse } from '../../core/page.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import {
  dailyInput,
  dailyUsage,
  limitsInput,
  listInput,
  usageLimits,
  usagePage,
} from './schema.ts';
import * as service from './service.ts';
import { toDay, toKeyUsage } from './view.ts';

/** The usage of the team's keys, for its admins. */
export const usage = {
  list: appProcedure({ access: 'admins', input: listInput, output: usagePage }).query(
    async ({ ctx, input }) => {
      const page = await service.listUsage(ctx.db, ctx.services.clock, ctx.team.id, input);
      return pageResponse(page, toKeyUsage);
    },
  ),

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
