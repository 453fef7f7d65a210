import { appProcedure } from '../../trpc/procedures.ts';
import { auditPage, listInput } from './schema.ts';
import * as service from './service.ts';
import { toAuditEntry } from './view.ts';

/** Who did what in the team, for its admins. */
export const auditLog = {
  list: appProcedure({ access: 'admins', input: listInput, output: auditPage }).query(
    async ({ ctx, input }) => {
      const page = await service.listEntries(ctx.db, ctx.team.id, input);
      return { data: page.rows.map(toAuditEntry), next_cursor: page.nextCursor };
    },
  ),
};
