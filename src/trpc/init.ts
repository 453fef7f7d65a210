/**
 * `endpoint()` declares an operation: a tRPC procedure with its zod shapes, and its REST facts. The
 * REST route, the OpenAPI operation, the scope check, idempotency, the list of problem codes and
 * the contract tests derive from it.
 */
import { initTRPC } from '@trpc/server';
import type { OpenApiMeta, OpenApiMethod } from 'trpc-to-openapi';
import { z } from 'zod';
import { requireAccess, type Access } from '../core/access.ts';
import type { Actor, PlatformActor } from '../core/actor.ts';
import type { Clock } from '../core/clock.ts';
import type { Deprecation } from '../core/deprecation.ts';
import type { Lookup } from '../core/dns-lookup.ts';
import { findJsonFault } from '../core/json.ts';
import type { Language } from '../core/language.ts';
import { requireMemberDetail, type Privacy } from '../core/privacy.ts';
import { ProblemError, type ProblemCode } from '../core/problem.ts';
import type { Scope } from '../core/scopes.ts';
import type { Db } from '../db/client.ts';
import type { ChangeContext } from '../db/outbox.ts';
import type { PlatformChangeContext } from '../db/team-privacy.ts';
import type { AppSecrets } from '../core/encryption.ts';

/** The current facts about the team of a request. */
export interface TeamFacts {
  readonly id: string;
  readonly plan: string;
  readonly language: Language;
  readonly rateLimitPerMinute: number;
}

/** Services of the process that every request uses. */
export interface Services {
  readonly clock: Clock;
  readonly secrets: AppSecrets;
  readonly webhookAllowPrivateTargets: boolean;
  /** Resolves host names. The system's resolver by default. */
  readonly lookup?: Lookup;
}

/** The error body of both APIs (specification, "Errors"). */
export interface ProblemShape {
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly [field: string]: unknown;
}

export interface Context {
  readonly requestId: string;
  readonly actor: Actor;
  readonly team: TeamFacts;
  readonly privacy: Privacy;
  /** The language of labels and titles in the response. */
  readonly language: Language;
  readonly db: Db;
  readonly services: Services;
  /** Describes an error as a problem, for `data` of a tRPC error. */
  readonly describeError: (error: unknown) => ProblemShape | null;
}

/** The REST facts of an operation that trpc-to-openapi has no field for. */
export interface RestFacts {
  readonly method: OpenApiMethod;
  readonly path: `/${string}`;
  /** null: any valid key will do (GET /me). */
  readonly scope: Scope | null;
  readonly successStatus: 200 | 201 | 202;
  /** All problem codes that the operation can respond with. */
  readonly errors: readonly ProblemCode[];
  /** The component names in the OpenAPI document. */
  readonly outputName: string;
  readonly bodyName: string | null;
  /** The `Location` of the created resource; `{id}` is replaced by the id of the output. */
  readonly location: string | null;
  /** True: the output holds a secret, so its idempotency record is encrypted. */
  readonly secret: boolean;
  /** null: only its version may be deprecated (`V1_DEPRECATION`). */
  readonly deprecated: Deprecation | null;
  readonly example: { readonly body?: unknown; readonly output: unknown };
}

/** The context of a tRPC call before the procedure's access is checked. */
export interface CallerContext extends Omit<Context, 'actor' | 'team' | 'privacy'> {
  /** null: nobody is signed in. */
  readonly actor: Actor | null;
  /** null for a service of the host application, which names the team in its input. */
  readonly team: TeamFacts | null;
  readonly privacy: Privacy | null;
  /** False if the team is suspended or ended. */
  readonly enabled: boolean;
  /** The error that prevented finding the caller. The procedure throws it. */
  readonly fault: Error | null;
}

/** The context of a procedure for services of the host application. */
export interface PlatformContext extends Omit<CallerContext, 'actor'> {
  readonly actor: PlatformActor;
}

export interface Meta extends Omit<OpenApiMeta, 'openapi'> {
  readonly openapi: NonNullable<OpenApiMeta['openapi']>;
  readonly rest: RestFacts;
  readonly operation: Operation;
  readonly access: Access;
}

/**
 * The steps of an operation, in the order in which a request takes them: guard, parse, prepare,
 * perform. The REST pipeline reads the input after `guard` and checks idempotency after `parse`.
 */
export interface Operation {
  /** Throws `insufficient_scope`. */
  readonly guard: (ctx: Context) => void;
  /** Throws a `ZodError`, and `privacy_restricted` where the declaration asks for it. */
  readonly parse: (ctx: Context, rawInput: unknown) => OperationCall;
}

/** One call of an operation with its parsed input. */
export interface OperationCall {
  /**
   * Does the network calls that the work needs. Never run it in a transaction, nor for a replay.
   */
  readonly prepare: (() => Promise<unknown>) | null;
  /** Does the work and resolves with the output, which matches the output schema. */
  readonly perform: (db: Db, prepared: unknown) => Promise<unknown>;
}

/** Runs a call without idempotency. */
export async function runCall({ prepare, perform }: OperationCall, db: Db): Promise<unknown> {
  return perform(db, await prepare?.());
}

export interface Declaration<I extends z.ZodType, O extends z.ZodType, P = undefined> {
  readonly method: OpenApiMethod;
  readonly path: `/${string}`;
  readonly scope: Scope | null;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /**
   * Path and query parameters, or path parameters and body, in one object. For a body, use
   * `z.strictObject`: a misspelt field must not be ignored.
   */
  readonly input: I;
  readonly output: O;
  readonly outputName: string;
  readonly bodyName?: string;
  readonly successStatus?: 200 | 201 | 202;
  readonly errors?: readonly ProblemCode[];
  /** True: throws `privacy_restricted` while `member_detail_enabled` is off. */
  readonly memberDetail?: boolean;
  readonly location?: string;
  readonly secret?: boolean;
  /** Announces the end of the operation, in response headers and in the OpenAPI document. */
  readonly deprecated?: Deprecation;
  /**
   * Network calls that the work needs, for instance DNS: they must not run in a transaction. Runs
   * after the input is parsed, but not for a replay. The work gets the result as `prepared`. Return
   * a refusal and let the work throw it, so that it is stored for a replay.
   */
  readonly prepare?: (options: {
    readonly ctx: Context;
    readonly input: z.output<I>;
  }) => Promise<P>;
  readonly example: { readonly body?: unknown; readonly output: z.output<O> };
}

/** The meta of a procedure without a REST route. */
export interface AppMeta {
  readonly access: Access;
}

const t = initTRPC
  .context<CallerContext>()
  .meta<Meta | AppMeta>()
  .create({
    // Replaces tRPC's own messages, so that both APIs describe an error in the same way.
    errorFormatter: ({ shape, error, ctx }) => {
      const problem = ctx?.describeError(error);
      if (!problem)
        return { ...shape, message: 'internal', data: { code: shape.data.code, problem: null } };
      return {
        ...shape,
        message: problem.title,
        data: { code: shape.data.code, httpStatus: problem.status, problem },
      };
    },
  });

export const router = t.router;

/** Problem codes that every operation can respond with (specification, "Endpoints"). */
const COMMON_ERRORS: readonly ProblemCode[] = [
  'unauthorized',
  'api_disabled',
  'validation_error',
  'rate_limited',
  'internal',
  'unavailable',
];

/**
 * Declares an operation; `.query()` or `.mutation()` on the result gives it its work.
 *
 * Checked in this order: scope, text of the input, shape of the input, privacy switch (where the
 * declaration asks for it), idempotency. It is *not* checked here who owns an id: each store
 * function does that by the team id that it takes.
 *
 * The REST pipeline calls the steps of `Operation` itself: as five tRPC middlewares they would cost
 * 15 µs of a request that takes 200. The tRPC procedure checks the scope first, lets tRPC parse the
 * input for the types, and then takes the same steps.
 */
export function endpoint<O extends z.ZodType, I extends z.ZodObject, P = undefined>(
  declaration: Declaration<I, O, P>,
) {
  const declare = (work: Work<I, O, P>) => {
    const operation = operationOf(declaration, work);
    const scoped = t.procedure
      .meta(metaOf(declaration, operation))
      .use(({ ctx, next }) => next({ ctx: requireTenant(ctx, 'admins') }));
    // `perform` has checked the output against this schema. The cast to `never` is needed because
    // tRPC's own types cannot express that here.
    const resolve = async ({ ctx, input }: { ctx: Context; input: unknown }) => {
      operation.guard(ctx);
      return (await runCall(operation.parse(ctx, input), ctx.db)) as never;
    };
    return { procedure: scoped.input(declaration.input).output(declaration.output), resolve };
  };
  return {
    query: (work: Work<I, O, P>) => {
      const { procedure, resolve } = declare(work);
      return procedure.query(resolve);
    },
    mutation: (work: Work<I, O, P>) => {
      const { procedure, resolve } = declare(work);
      return procedure.mutation(resolve);
    },
  };
}

/** The work of an operation. It runs after all checks. */
type Work<I extends z.ZodType, O extends z.ZodType, P> = (options: {
  readonly ctx: Context;
  readonly input: z.output<I>;
  readonly prepared: P;
}) => z.input<O> | Promise<z.input<O>>;

function operationOf<I extends z.ZodType, O extends z.ZodType, P>(
  declaration: Declaration<I, O, P>,
  work: Work<I, O, P>,
): Operation {
  const { scope, memberDetail, prepare, output } = declaration;
  return {
    guard: (ctx) => requireScope(ctx.actor, scope),
    parse: (ctx, rawInput) => {
      refuseUnstorableText(rawInput);
      const input = declaration.input.parse(rawInput);
      if (memberDetail) requireMemberDetail(ctx.privacy);
      return {
        prepare: prepare ? () => prepare({ ctx, input }) : null,
        perform: async (db, prepared) => {
          // Without `prepare`, `prepared` is undefined and so is P.
          const checked = output.safeParse(
            await work({ ctx: { ...ctx, db }, input, prepared: prepared as P }),
          );
          if (checked.success) return checked.data;
          throw new Error(
            `the output of ${declaration.method} ${declaration.path} breaks its contract`,
            {
              cause: checked.error.message,
            },
          );
        },
      };
    },
  };
}

function metaOf(
  declaration: Omit<Declaration<z.ZodType, z.ZodType>, 'prepare'>,
  operation: Operation,
): Meta {
  const { method, path, scope, tag, summary, description } = declaration;
  const errors: ProblemCode[] = [...COMMON_ERRORS, ...(declaration.errors ?? [])];
  if (scope) errors.push('insufficient_scope');
  if (declaration.memberDetail) errors.push('privacy_restricted');
  if (method === 'POST') errors.push('conflict', 'idempotency_mismatch');
  if (method !== 'GET') errors.push('bad_request');
  if (path.includes('{')) errors.push('not_found');
  return {
    openapi: { method, path, summary, description, tags: [tag] },
    access: 'admins',
    operation,
    rest: {
      method,
      path,
      scope,
      successStatus: declaration.successStatus ?? 200,
      errors: [...new Set(errors)],
      outputName: declaration.outputName,
      bodyName: declaration.bodyName ?? null,
      location: declaration.location ?? null,
      secret: declaration.secret ?? false,
      deprecated: declaration.deprecated ?? null,
      example: declaration.example,
    },
  };
}

/**
 * Declares a procedure without a REST route, for members of a team. The guard checks the access,
 * then the text and the shape of the input. It does *not* check who owns an id: each store function
 * does that by the team id that it takes.
 */
export function appProcedure<
  O extends z.ZodType,
  I extends z.ZodObject | z.ZodDiscriminatedUnion,
>(declaration: {
  readonly access: Exclude<Access, 'platform'>;
  readonly input: I;
  readonly output: O;
}) {
  return t.procedure
    .meta({ access: declaration.access })
    .use(async ({ ctx, getRawInput, next }) => {
      const tenant = requireTenant(ctx, declaration.access);
      refuseUnstorableText(await getRawInput());
      return next({ ctx: tenant });
    })
    .input(declaration.input)
    .output(declaration.output);
}

/**
 * Declares a procedure for services of the host application, which name the team in the input. It
 * has the same guard as `appProcedure`.
 */
export function platformProcedure<O extends z.ZodType, I extends z.ZodObject>(declaration: {
  readonly input: I;
  readonly output: O;
}) {
  return t.procedure
    .meta({ access: 'platform' })
    .use(async ({ ctx, getRawInput, next }) => {
      const actor = requireActor(ctx);
      requireAccess(actor, 'platform');
      if (actor.kind !== 'platform') throw new ProblemError('forbidden');
      refuseUnstorableText(await getRawInput());
      return next({ ctx: { ...ctx, actor } satisfies PlatformContext });
    })
    .input(declaration.input)
    .output(declaration.output);
}

/**
 * Returns the context of a member of a team. Throws `unauthorized` if nobody is signed in,
 * `forbidden` without the access, `api_disabled` if the team is suspended or ended.
 */
function requireTenant(ctx: CallerContext, access: Access): Context {
  const { team, privacy } = ctx;
  const actor = requireActor(ctx);
  requireAccess(actor, access);
  if (!team || !privacy) throw new ProblemError('forbidden');
  if (!ctx.enabled) throw new ProblemError('api_disabled');
  return { ...ctx, actor, team, privacy };
}

/** Throws `unauthorized`, or the error that prevented finding the caller. */
function requireActor({ actor, fault }: CallerContext): Actor {
  if (actor) return actor;
  throw fault ?? new ProblemError('unauthorized');
}

/** Checks the scope of a key. The rights of users and services depend on `Access` instead. */
function requireScope(actor: Actor, scope: Scope | null): void {
  if (scope === null || actor.kind !== 'api_key' || actor.scopes.includes(scope)) return;
  throw new ProblemError('insufficient_scope', {
    required_scope: scope,
    detail: `The key lacks the scope ${scope}.`,
  });
}

/**
 * Throws a `ZodError` for text that Postgres or UTF-8 cannot hold and for JSON nested too deeply.
 */
function refuseUnstorableText(input: unknown): void {
  const fault = findJsonFault(input);
  if (!fault) return;
  throw new z.ZodError([
    {
      code: 'custom',
      path: [...fault.path],
      message: fault.message,
      params: { code: fault.code },
      input: undefined,
    },
  ]);
}

/** The change context of a request, for the audit log and the outbox. */
export function changeContextOf(ctx: Context): ChangeContext {
  return {
    teamId: ctx.team.id,
    actor: ctx.actor,
    privacy: ctx.privacy,
    requestId: ctx.requestId,
    at: ctx.services.clock.now(),
  };
}

/**
 * The change context of a call by the host application. The operation adds the team's privacy
 * switches in its transaction (`readChangeContext`).
 */
export function platformChangeContextOf(
  ctx: PlatformContext,
  teamId: string,
): PlatformChangeContext {
  return { teamId, actor: ctx.actor, requestId: ctx.requestId, at: ctx.services.clock.now() };
}
