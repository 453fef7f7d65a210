import { pageResponse } from '../../core/page.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { endpoint } from '../../trpc/endpoint.ts';
import * as schema from './schema.ts';
import * as service from './service.ts';
import { listMails } from './mail-service.ts';
import { toMail, toSandbox } from './view.ts';

const EXAMPLE = {
  tenant_id: 'team_demo:sandbox',
  scenario: 'typical',
  created_at: '2026-11-24T08:00:00.000Z',
  reset_at: '2026-11-26T09:00:00.000Z',
  speed: 1,
  suspended_until: null,
  receivers_fail_until: null,
  removal_at: null,
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
    description:
      'Returns the sandbox that the test key opens. A live key gets 404: only test keys ' +
      '(`svck_test_…`) reach the paths of a sandbox.',
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
      'Brings a scenario back: its members, trainings, evaluations, assignments, cases and ' +
      'deals, with the same ids and with times counted back from now. Keys, webhook endpoints, ' +
      'events and the audit log stay, and no webhook is sent.',
    input: schema.resetInput,
    output: schema.sandbox,
    outputName: 'Sandbox',
    bodyName: 'SandboxReset',
    isBodyOptional: true,
    example: { body: { scenario: 'typical' }, output: EXAMPLE },
  }).mutation(async ({ ctx, input }) =>
    toSandbox(
      await service.resetSandbox(ctx.db, changeContextOf(ctx), {
        scenario: input.scenario,
        appSecret: ctx.services.secrets.current,
      }),
    ),
  ),

  mails: endpoint({
    method: 'GET',
    path: '/sandbox/mails',
    scope: null,
    mode: 'test',
    tag: 'Sandbox',
    summary: 'List the mails of the sandbox',
    description:
      'A sandbox sends no mail. What a live team would have sent, for instance an invitation, is ' +
      'kept here for 30 days or until the next reset, newest first.',
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
