import { pageResponse } from '../../core/page.ts';
import { okOutput, orNull } from '../../core/shapes.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { endpoint } from '../../trpc/endpoint.ts';
import {
  caseExample as example,
  casePage,
  changedCase,
  createInput,
  getInput,
  listInput,
  removeInput,
  trainingCase,
  updateInput,
} from './schema.ts';
import * as service from './service.ts';
import { toCase } from './view.ts';

/** The team's cases. Private ones do not exist for the API. */
export const cases = {
  list: endpoint({
    method: 'GET',
    path: '/cases',
    scope: 'cases:read',
    tag: 'Cases',
    summary: 'List cases',
    description: "The team's cases, newest first. A member's private case is never among them.",
    input: listInput,
    output: casePage,
    outputName: 'CasePage',
    privacy: 'refuse',
    example: { output: { data: [example], next_cursor: null } },
  }).query(async ({ ctx, input }) => {
    const page = await service.listCases(ctx.db, ctx.team.id, input);
    return pageResponse(page, toCase);
  }),

  create: endpoint({
    method: 'POST',
    path: '/cases',
    scope: 'cases:write',
    tag: 'Cases',
    summary: 'Create a case',
    description:
      'Creates a team case for an active member. `not_found` if `user_id` is not an active member.',
    input: createInput,
    output: trainingCase,
    outputName: 'Case',
    bodyName: 'CaseCreate',
    privacy: { echoes: ['user_id'] },
    successStatus: 201,
    errors: {
      not_found: '`user_id` is no active member of the team.',
    },
    location: '/cases/{id}',
    example: {
      body: {
        user_id: 'usr_01jc4f40',
        title: 'Renewal with a new buyer',
        persona_id: 'per_calm',
        fields: { budget: 12000, stage: 'renewal' },
        external_ref: { crm_id: '4711' },
      },
      output: example,
    },
  }).mutation(async ({ ctx, input }) => {
    const wanted = orNull(createInput, input);
    return toCase(await service.createCase(ctx.db, changeContextOf(ctx), wanted));
  }),

  get: endpoint({
    method: 'GET',
    path: '/cases/{case_id}',
    scope: 'cases:read',
    tag: 'Cases',
    summary: 'Read a case',
    description: 'One team case. A private case of a member is not found.',
    input: getInput,
    output: trainingCase,
    outputName: 'Case',
    privacy: 'refuse',
    example: { output: example },
  }).query(async ({ ctx, input }) =>
    toCase(await service.getCase(ctx.db, ctx.team.id, input.case_id)),
  ),

  update: endpoint({
    method: 'PATCH',
    path: '/cases/{case_id}',
    scope: 'cases:write',
    tag: 'Cases',
    summary: 'Change a case',
    description:
      'Sets the fields that the body names; null clears them. ' +
      '`fields` and `external_ref` are replaced as a whole.',
    input: updateInput,
    output: changedCase,
    outputName: 'ChangedCase',
    bodyName: 'CaseUpdate',
    privacy: 'redact',
    current: {
      shape: changedCase,
      read: async ({ tx, ctx, input }) =>
        toCase(await service.lockCase(tx, ctx.team.id, input.case_id, 'change')),
    },
    example: {
      body: { title: 'Renewal, second round', fields: null },
      output: { ...example, title: 'Renewal, second round', fields: null },
    },
  }).mutation(async ({ ctx, input }) => {
    const { case_id, ...change } = input;
    return toCase(await service.updateCase(ctx.db, changeContextOf(ctx), case_id, change));
  }),

  remove: endpoint({
    method: 'DELETE',
    path: '/cases/{case_id}',
    scope: 'cases:write',
    tag: 'Cases',
    summary: 'Delete a case',
    description: 'Removes the case for good.',
    input: removeInput,
    output: okOutput,
    outputName: 'Ok',
    current: {
      shape: changedCase,
      read: async ({ tx, ctx, input }) =>
        toCase(await service.lockCase(tx, ctx.team.id, input.case_id, 'removal')),
    },
    example: { output: { ok: true } },
  }).mutation(async ({ ctx, input }) => {
    await service.removeCase(ctx.db, changeContextOf(ctx), input.case_id);
    return { ok: true };
  }),
};
