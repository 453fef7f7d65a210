import { pageResponse } from '../../core/page.ts';
import { modeOf } from '../../core/sandbox.ts';
import { toInstant } from '../../core/shapes.ts';
import { changeContextOf, type Context } from '../../trpc/context.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import * as schema from './schema.ts';
import * as service from './service.ts';
import { toApiKey, toCreatedApiKey, toTemplates } from './view.ts';

/**
 * The team's API keys in the app: create, list, revoke, rotate. The API itself does not offer this.
 */
export const apiKeys = {
  list: appProcedure({
    access: 'admins',
    input: schema.listInput,
    output: schema.apiKeyPage,
    privacy: 'redact',
  }).query(async ({ ctx, input }) => {
    const page = await service.listKeys(ctx.db, ctx.team.id, {
      ...input,
      now: ctx.services.clock.override(),
    });
    return pageResponse(page, toApiKey);
  }),

  get: appProcedure({
    access: 'admins',
    input: schema.getInput,
    output: schema.apiKey,
    privacy: 'redact',
  }).query(async ({ ctx, input }) =>
    toApiKey(
      await service.getKey(ctx.db, ctx.team.id, input.key_id, ctx.services.clock.override()),
    ),
  ),

  names: appProcedure({
    access: 'admins',
    input: schema.namesInput,
    output: schema.keyNames,
  }).query(async ({ ctx, input }) => ({
    data: await service.findKeyNames(ctx.db, ctx.team.id, input.key_ids),
  })),

  templates: appProcedure({
    access: 'admins',
    input: schema.templatesInput,
    output: schema.templates,
  }).query(({ ctx }) => {
    const mode = modeOf(ctx.team.id);
    return toTemplates(ctx.language, mode, service.templatesOf(mode));
  }),

  create: appProcedure({
    access: 'schnittstellen',
    input: schema.createInput,
    output: schema.createdApiKey,
    privacy: 'redact',
  }).mutation(async ({ ctx, input }) => {
    const { name, scopes, allowed_ips, expires_at } = input;
    const wanted = {
      name,
      scopes,
      allowedIps: allowed_ips ?? null,
      expiresAt: instantOf(expires_at) ?? null,
    };
    return toCreatedApiKey(await service.createKey(ctx.db, byOf(ctx), wanted));
  }),

  confirmStored: appProcedure({
    access: 'schnittstellen',
    input: schema.confirmStoredInput,
    output: schema.apiKey,
    privacy: 'redact',
  }).mutation(async ({ ctx, input }) =>
    toApiKey(await service.confirmStored(ctx.db, byOf(ctx), input.key_id)),
  ),

  revoke: appProcedure({
    access: 'schnittstellen',
    input: schema.revokeInput,
    output: schema.apiKey,
    privacy: 'redact',
  }).mutation(async ({ ctx, input }) =>
    toApiKey(await service.revokeKey(ctx.db, byOf(ctx), input.key_id)),
  ),

  rotate: appProcedure({
    access: 'schnittstellen',
    input: schema.rotateInput,
    output: schema.createdApiKey,
    privacy: 'redact',
  }).mutation(async ({ ctx, input }) => {
    const { key_id, grace_s, expires_at } = input;
    const rotation = { keyId: key_id, graceS: grace_s, expiresAt: instantOf(expires_at) };
    return toCreatedApiKey(await service.rotateKey(ctx.db, byOf(ctx), rotation));
  }),
};

function byOf(ctx: Context): service.KeyChangeContext {
  return { context: changeContextOf(ctx), now: ctx.services.clock.override() };
}

function instantOf(text: string | null | undefined): string | null | undefined {
  return typeof text === 'string' ? toInstant(text) : text;
}
