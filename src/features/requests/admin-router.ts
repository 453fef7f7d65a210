import { pageResponse } from '../../core/page.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import { listInput, requestPage } from './schema.ts';
import * as service from './service.ts';
import { toRequest } from './view.ts';

/** The request log of the team, for its admins. */
export const adminRequests = {
  list: appProcedure({ access: 'admins', input: listInput, output: requestPage }).query(
    async ({ ctx, input }) => {
      const { db, team, services } = ctx;
      const page = await service.listRequests(db, services.clock, team.id, input);
      return pageResponse(page, toRequest);
    },
  ),
};
