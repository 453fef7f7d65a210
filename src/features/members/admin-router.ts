import { pageResponse } from '../../core/page.ts';
import { okOutput } from '../../core/shapes.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import {
  foundMemberPage,
  leaver,
  member,
  memberNames,
  namesInput,
  removeInput,
  searchInput,
  seats,
  seatsInput,
} from './schema.ts';
import * as service from './service.ts';
import { toFoundMember, toMember } from './view.ts';

/** Members as the admin page finds them. */
export const adminMembers = {
  search: appProcedure({
    access: 'admins',
    input: searchInput,
    output: foundMemberPage,
    privacy: 'redact',
  }).query(async ({ ctx, input }) => {
    const page = await service.searchMembers(ctx.db, ctx.team.id, ctx.privacy, input);
    return pageResponse(page, toFoundMember);
  }),

  seats: appProcedure({ access: 'admins', input: seatsInput, output: seats }).query(({ ctx }) =>
    service.readSeats(ctx.db, ctx.team.id),
  ),

  names: appProcedure({
    access: 'admins',
    input: namesInput,
    output: memberNames,
    privacy: 'redact',
  }).query(async ({ ctx, input }) => ({
    data: await service.findNames(ctx.db, ctx.team.id, input.member_ids),
  })),

  leaver: appProcedure({
    access: 'admins',
    input: removeInput,
    output: leaver,
    privacy: 'redact',
  }).query(async ({ ctx, input }) => {
    const found = await service.readLeaver(ctx.db, ctx.team.id, input.member_id);
    return { open_assignments: found.openAssignments, has_more: found.hasMore };
  }),
};

/** Pending invitations, for the team's admins. */
export const invitations = {
  resend: appProcedure({
    access: 'admins',
    input: removeInput,
    output: member,
    privacy: 'redact',
  }).mutation(async ({ ctx, input }) =>
    toMember(await service.resendInvitation(ctx.db, changeContextOf(ctx), input.member_id)),
  ),

  withdraw: appProcedure({ access: 'admins', input: removeInput, output: okOutput }).mutation(
    async ({ ctx, input }) => {
      await service.withdrawInvitation(ctx.db, changeContextOf(ctx), input.member_id);
      return { ok: true };
    },
  ),
};
