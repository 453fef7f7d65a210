import { pageResponse } from '../../core/page.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { endpoint } from '../../trpc/endpoint.ts';
import { okOutput } from '../../core/shapes.ts';
import {
  createInput,
  getInput,
  listInput,
  member,
  memberExample as example,
  memberPage,
  removeInput,
  updateInput,
} from './schema.ts';
import * as service from './service.ts';
import { toMember } from './view.ts';

const invited = { ...example, user_id: null, status: 'invited', joined_at: null };

/** Members in the API. */
export const members = {
  list: endpoint({
    method: 'GET',
    path: '/users',
    scope: 'users:read',
    tag: 'Members',
    summary: 'List members',
    description:
      'Active and invited members, the owner included, newest first. ' +
      'Emails are left out while `member_detail_enabled` is off. ' +
      'Filters can be combined. With a filter, a page can hold fewer entries than `limit`, or ' +
      'none, although `next_cursor` leads to others.',
    input: listInput,
    output: memberPage,
    outputName: 'MemberPage',
    privacy: 'redact',
    errors: {
      privacy_restricted:
        '`email` names an address, and the team shows none: `member_detail_enabled` is off.',
    },
    example: { output: { data: [example], next_cursor: null } },
  }).query(async ({ ctx, input }) => {
    const page = await service.listMembers(ctx.db, ctx.team.id, ctx.privacy, input);
    return pageResponse(page, toMember);
  }),

  create: endpoint({
    method: 'POST',
    path: '/users',
    scope: 'users:write',
    tag: 'Members',
    summary: 'Invite a member',
    description:
      'Sends an invitation by email and takes a seat. ' +
      'Inviting an admin needs a key created by the owner or by an active admin. ' +
      'A team may send 60 invitations per hour; while `member_detail_enabled` is off, a ' +
      '`conflict` counts, too. ' +
      'An invitation that nobody accepts within 180 days ends.',
    input: createInput,
    output: member,
    outputName: 'Member',
    privacy: 'redact',
    bodyName: 'MemberCreate',
    successStatus: 201,
    errors: {
      insufficient_scope: 'The key lacks the scope, or its creator may not invite admins.',
      conflict:
        'The email already belongs to a member of the team. With `Retry-After`: a call with the ' +
        'same `Idempotency-Key` is still running.',
      seat_limit_reached: 'Active and invited members take all seats of the team.',
    },
    location: '/users/{id}',
    privateOf: ({ output }) => [output.id],
    example: { body: { email: 'kim@example.com', role: 'member', lang: 'en' }, output: invited },
  }).mutation(async ({ ctx, input }) => {
    const { email, role, lang } = input;
    return toMember(
      await service.inviteMember(ctx.db, changeContextOf(ctx), {
        email,
        role,
        language: lang ?? null,
      }),
    );
  }),

  get: endpoint({
    method: 'GET',
    path: '/users/{member_id}',
    scope: 'users:read',
    tag: 'Members',
    summary: 'Read a member',
    description: 'One active or invited member.',
    input: getInput,
    output: member,
    outputName: 'Member',
    privacy: 'redact',
    example: { output: example },
  }).query(async ({ ctx, input }) =>
    toMember(await service.getMember(ctx.db, ctx.team.id, input.member_id)),
  ),

  update: endpoint({
    method: 'PATCH',
    path: '/users/{member_id}',
    scope: 'users:write',
    tag: 'Members',
    summary: "Change a member's role",
    description:
      'Granting or revoking the role `admin` needs a key created by the owner or by an active ' +
      'admin. Setting the role that the member already has changes nothing.',
    input: updateInput,
    output: member,
    outputName: 'Member',
    privacy: 'redact',
    bodyName: 'MemberUpdate',
    errors: {
      insufficient_scope:
        'The key lacks the scope, or its creator may not grant or revoke `admin`.',
      owner: 'The member is the owner of the team, whose role stays as it is.',
      last_admin: 'The member is the only active admin and would no longer be one.',
    },
    current: {
      shape: member,
      read: async ({ tx, ctx, input }) =>
        toMember(await service.lockMember(tx, ctx.team.id, input.member_id)),
    },
    example: { body: { role: 'admin' }, output: { ...example, role: 'admin' } },
  }).mutation(async ({ ctx, input }) =>
    toMember(await service.changeRole(ctx.db, changeContextOf(ctx), input.member_id, input.role)),
  ),

  remove: endpoint({
    method: 'DELETE',
    path: '/users/{member_id}',
    scope: 'users:write',
    tag: 'Members',
    summary: 'Remove a member',
    description:
      'Ends the membership and revokes its open assignments at once. ' +
      'Removing an admin needs a key created by the owner or by an active admin. ' +
      'Trainings and team cases stay stored.',
    input: removeInput,
    output: okOutput,
    outputName: 'Ok',
    errors: {
      insufficient_scope: 'The key lacks the scope, or its creator may not remove admins.',
      owner: 'The member is the owner of the team, who cannot be removed.',
      last_admin: 'The member is the only active admin of the team.',
    },
    current: {
      shape: member,
      read: async ({ tx, ctx, input }) =>
        toMember(await service.lockMember(tx, ctx.team.id, input.member_id)),
    },
    example: { output: { ok: true } },
  }).mutation(async ({ ctx, input }) => {
    await service.removeMember(ctx.db, changeContextOf(ctx), input.member_id);
    return { ok: true };
  }),
};
