import { pageResponse } from '../../core/page.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { endpoint } from '../../trpc/endpoint.ts';
import { PLAYS_TABLE, simulateInput, simulation, updateInput } from './play-schema.ts';
import * as plays from './play-service.ts';
import * as schema from './schema.ts';
import * as service from './service.ts';
import { listMails } from './mail-service.ts';
import { toMail, toSandbox, toSimulation } from './view.ts';

const EXAMPLE = {
  tenant_id: 'team_demo:sandbox',
  scenario: 'typical',
  created_at: '2026-11-24T08:00:00.000Z',
  reset_at: '2026-11-26T09:00:00.000Z',
  speed: 1,
  suspended_until: null,
  receivers_fail_until: null,
};

/** What a test key can do beside everything that a live key can. */
export const sandbox = {
  get: endpoint({
    method: 'GET',
    path: '/sandbox',
    scope: null,
    mode: 'test',
    tag: 'Sandbox',
    summary: 'Show the sandbox',
    description: 'Returns the sandbox that the test key opens.',
    input: schema.nothing,
    output: schema.sandbox,
    outputName: 'Sandbox',
    example: { output: EXAMPLE },
  }).query(async ({ ctx }) => toSandbox(await service.getSandbox(ctx.db, ctx.team.id))),

  reset: endpoint({
    method: 'POST',
    path: '/sandbox/reset',
    scope: 'sandbox:write',
    mode: 'test',
    tag: 'Sandbox',
    summary: 'Reset the sandbox',
    description:
      'Brings a scenario back, with the same ids and times counted back from now. Keys, ' +
      'webhook endpoints, events and the audit log stay, and no webhook is sent. ' +
      schema.RESET_LIMIT,
    input: schema.resetInput,
    output: schema.sandbox,
    outputName: 'Sandbox',
    bodyName: 'SandboxReset',
    isBodyOptional: true,
    errors: {
      conflict:
        'Another reset of the sandbox, or a call with the same `Idempotency-Key`, is running. ' +
        'Without `Retry-After`: the sandbox is too full to be reset.',
    },
    example: { body: { scenario: 'typical' }, output: EXAMPLE },
  }).mutation(async ({ ctx, input }) =>
    toSandbox(
      await service.resetSandbox(ctx.db, changeContextOf(ctx), {
        scenario: input.scenario,
        appSecret: ctx.services.secrets.current,
      }),
    ),
  ),

  update: endpoint({
    method: 'PATCH',
    path: '/sandbox',
    scope: 'sandbox:write',
    mode: 'test',
    tag: 'Sandbox',
    summary: 'Set the speed of the sandbox',
    description:
      'Sets how many times as fast the retry schedule of its webhook endpoints runs, from 1 to ' +
      '1000. Waits that have begun already stay as they are.',
    input: updateInput,
    output: schema.sandbox,
    outputName: 'Sandbox',
    bodyName: 'SandboxUpdate',
    current: {
      shape: schema.sandbox,
      read: async ({ tx, ctx }) => toSandbox(await plays.lockSandbox(tx, ctx.team.id)),
    },
    example: { body: { speed: 1000 }, output: { ...EXAMPLE, speed: 1000 } },
  }).mutation(async ({ ctx, input }) =>
    toSandbox(await plays.updateSandbox(ctx.db, changeContextOf(ctx), input)),
  ),

  simulate: endpoint({
    method: 'POST',
    path: '/sandbox/simulate',
    scope: 'sandbox:write',
    mode: 'test',
    tag: 'Sandbox',
    summary: 'Play an event in the sandbox',
    description:
      'Lets happen what otherwise the host application or its members do, with the same ' +
      'effects, signed events included. Only `play` is needed; each play takes these ' +
      'fields:\n\n' +
      PLAYS_TABLE,
    input: simulateInput,
    output: simulation,
    outputName: 'SandboxSimulation',
    bodyName: 'SandboxSimulate',
    errors: {
      not_found: 'An id in the body is unknown.',
      conflict:
        'There is nothing to play it with, such as an open invitation. With `Retry-After`: a ' +
        'call with the same `Idempotency-Key` is still running.',
      owner: 'The owner cannot leave.',
      last_admin: 'The last admin cannot leave.',
    },
    example: {
      body: { play: 'training_completed', score: 71 },
      output: {
        play: 'training_completed',
        training_id: 'trn_01jc4f6b',
        member_id: 'mem_sandbox_clara',
        connection_id: null,
        events: ['training.completed', 'evaluation.completed'],
        evaluation_at: '2026-11-26T09:00:10.000Z',
        until: null,
      },
    },
  }).mutation(async ({ ctx, input }) => {
    const { clock } = ctx.services;
    return toSimulation(await plays.simulate(ctx.db, changeContextOf(ctx), clock, input));
  }),

  mails: endpoint({
    method: 'GET',
    path: '/sandbox/mails',
    // It names who was invited.
    scope: 'users:read',
    mode: 'test',
    tag: 'Sandbox',
    summary: 'List the mails of the sandbox',
    description:
      'A sandbox sends no mail. What a live team would have sent, for instance an invitation, is ' +
      'kept here for 30 days or until the next reset, newest first; of more than 1,000 the ' +
      'oldest go.',
    input: schema.mailsInput,
    output: schema.mailPage,
    outputName: 'SandboxMailPage',
    privacy: 'refuse',
    example: {
      output: {
        data: [
          {
            id: 'mail_01jc4f5a',
            to: 'kim@example.com',
            subject: 'Demo hat dich eingeladen',
            body: 'Hallo, …',
            created_at: '2026-11-26T09:00:00.000Z',
          },
        ],
        next_cursor: null,
      },
    },
  }).query(async ({ ctx, input }) =>
    pageResponse(await listMails(ctx.db, ctx.team.id, input), toMail),
  ),
};
