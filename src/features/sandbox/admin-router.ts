import { pageResponse } from '../../core/page.ts';
import { okOutput } from '../../core/shapes.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import { removeSandbox } from './removal-service.ts';
import * as schema from './schema.ts';
import * as service from './service.ts';
import { simulateInput, simulation, updateInput } from './play-schema.ts';
import * as plays from './play-service.ts';
import { listMails } from './mail-service.ts';
import { toMail, toSandbox, toSimulation } from './view.ts';

/** The team's sandbox. Called in the live team, and in the sandbox itself. */
export const adminSandbox = {
  get: appProcedure({
    access: 'admins',
    input: schema.nothing,
    output: schema.maybeSandbox,
  }).query(async ({ ctx }) => {
    const found = await service.findSandbox(ctx.db, ctx.team.id);
    return { sandbox: found && toSandbox(found) };
  }),

  /** Of a live team there are none: those were sent. */
  mails: appProcedure({
    access: 'admins',
    input: schema.mailsInput,
    output: schema.mailPage,
    privacy: 'refuse',
  }).query(async ({ ctx, input }) =>
    pageResponse(await listMails(ctx.db, ctx.team.id, input), toMail),
  ),

  create: appProcedure({
    access: 'admins',
    input: schema.createInput,
    output: schema.sandbox,
  }).mutation(async ({ ctx, input }) =>
    toSandbox(
      await service.createSandbox(ctx.db, changeContextOf(ctx), {
        scenario: input.scenario,
        appSecret: ctx.services.secrets.current,
      }),
    ),
  ),

  reset: appProcedure({
    access: 'admins',
    input: schema.resetInput,
    output: schema.sandbox,
  }).mutation(async ({ ctx, input }) =>
    toSandbox(
      await service.resetSandbox(ctx.db, changeContextOf(ctx), {
        scenario: input.scenario,
        appSecret: ctx.services.secrets.current,
      }),
    ),
  ),

  /** Its rows are erased in the background. Called in the live team. */
  remove: appProcedure({
    access: 'admins',
    input: schema.nothing,
    output: okOutput,
  }).mutation(async ({ ctx }) => {
    await removeSandbox(ctx.db, changeContextOf(ctx));
    return { ok: true };
  }),

  update: appProcedure({
    access: 'admins',
    input: updateInput,
    output: schema.sandbox,
  }).mutation(async ({ ctx, input }) =>
    toSandbox(await plays.updateSandbox(ctx.db, changeContextOf(ctx), input)),
  ),

  simulate: appProcedure({
    access: 'admins',
    input: simulateInput,
    output: simulation,
  }).mutation(async ({ ctx, input }) => {
    const { clock } = ctx.services;
    return toSimulation(await plays.simulate(ctx.db, changeContextOf(ctx), clock, input));
  }),
};
