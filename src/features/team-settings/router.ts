import { pageResponse } from '../../core/page.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import * as schema from './schema.ts';
import * as service from './service.ts';
import { toAdmin, toCatalogEntry, toRelease } from './view.ts';

/** A procedure of the owner that gives a member a right, or takes it. */
function changeOfRight(granted: boolean) {
  return appProcedure({
    access: 'owner',
    input: schema.rightInput,
    output: schema.heldRights,
  }).mutation(async ({ ctx, input: { member_id, right } }) => {
    const change = { memberId: member_id, right, granted };
    const rights = await service.changeRights(ctx.db, changeContextOf(ctx), change);
    return { member_id, rights: [...rights] };
  });
}

/**
 * The team's settings in the app: rights, privacy switches, policies and released catalog entries.
 */
export const teamSettings = {
  admins: appProcedure({
    access: 'admins',
    input: schema.adminsInput,
    output: schema.adminPage,
    privacy: 'redact',
  }).query(async ({ ctx, input }) => {
    const page = await service.listAdmins(ctx.db, ctx.team.id, input);
    return pageResponse(page, toAdmin);
  }),

  grantRight: changeOfRight(true),
  withdrawRight: changeOfRight(false),

  privacy: {
    get: appProcedure({ access: 'admins', input: schema.nothing, output: schema.privacy }).query(
      ({ ctx }) => service.getSwitches(ctx.db, ctx.team.id),
    ),
    set: appProcedure({
      access: 'admins',
      input: schema.setPrivacyInput,
      output: schema.privacy,
    }).mutation(({ ctx, input }) => service.setSwitches(ctx.db, changeContextOf(ctx), input)),
  },

  policy: {
    get: appProcedure({ access: 'admins', input: schema.nothing, output: schema.policy }).query(
      async ({ ctx }) => ({
        blocked: [...(await service.getPolicy(ctx.db, ctx.team.id, null))],
      }),
    ),
    set: appProcedure({
      access: 'admins',
      input: schema.setPolicyInput,
      output: schema.policy,
    }).mutation(async ({ ctx, input }) => ({
      blocked: [...(await service.setPolicy(ctx.db, changeContextOf(ctx), null, input))],
    })),
  },

  memberPolicy: {
    get: appProcedure({
      access: 'admins',
      input: schema.memberPolicyInput,
      output: schema.policy,
    }).query(async ({ ctx, input }) => ({
      blocked: [...(await service.getPolicy(ctx.db, ctx.team.id, input.member_id))],
    })),
    set: appProcedure({
      access: 'admins',
      input: schema.setMemberPolicyInput,
      output: schema.policy,
    }).mutation(async ({ ctx, input }) => ({
      blocked: [...(await service.setPolicy(ctx.db, changeContextOf(ctx), input.member_id, input))],
    })),
  },

  release: {
    get: appProcedure({ access: 'admins', input: schema.nothing, output: schema.release }).query(
      async ({ ctx }) => toRelease(await service.getRelease(ctx.db, ctx.team.id)),
    ),
    set: appProcedure({
      access: 'admins',
      input: schema.setReleaseInput,
      output: schema.release,
    }).mutation(async ({ ctx, input }) =>
      toRelease(await service.setRelease(ctx.db, changeContextOf(ctx), input)),
    ),
  },

  catalog: appProcedure({
    access: 'admins',
    input: schema.catalogInput,
    output: schema.catalogPage,
  }).query(async ({ ctx, input }) => {
    const { cursor, limit, kind = null } = input;
    const page = await service.listCatalog(ctx.db, ctx.team.id, { cursor, limit, kind });
    return pageResponse(page, (row) => toCatalogEntry(ctx.language, row));
  }),
};
