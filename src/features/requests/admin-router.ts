import { searchResponse } from '../../core/page.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import { explainedRequest, getInput, listInput, requestPage } from './schema.ts';
import * as service from './service.ts';
import { toExplainedRequest, toRequest } from './view.ts';

/** The request log of the team, for its admins. */
export const adminRequests = {
  list: appProcedure({ access: 'admins', input: listInput, output: requestPage }).query(
    async ({ ctx, input }) => {
      const { db, team, services } = ctx;
      const page = await service.listRequests(db, services.clock, team.id, input);
      return searchResponse(page, toRequest);
    },
  ),

  get: appProcedure({ access: 'admins', input: getInput, output: explainedRequest }).query(
    async ({ ctx, input }) => {
      const { db, team, services, actor } = ctx;
      const wanted = { teamId: team.id, actor, id: input.request_id };
      return toExplainedRequest(await service.getRequest(db, services.clock, wanted));
    },
  ),
};
