import { searchResponse } from '../../core/page.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import { auditPage, listInput } from './schema.ts';
import * as service from './service.ts';
import { toAuditEntry } from './view.ts';

/** The audit log of the team, for its admins: who did what, and when. */
export const auditLog = {
  list: appProcedure({
    access: 'admins',
    input: listInput,
    output: auditPage,
    privacy: 'redact',
  }).query(async ({ ctx, input }) => {
    const page = await service.listEntries(ctx.db, ctx.team.id, input);
    return searchResponse(page, toAuditEntry);
  }),
};
