/**
 * `endpoint()` is the one declaration of an operation: the tRPC procedure with its zod shapes, and beside it the REST facts. The REST route, the OpenAPI
 * operation, the scope check, idempotency, the list of errors and the contract tests all derive from it.
 */
import { initTRPC } from '@trpc/server';
import type { OpenApiMeta, OpenApiMethod } from 'trpc-to-openapi';
import { z } from 'zod';
import { requireAccess, type Access } from '../core/access.ts';
import type { Actor, PlatformActor } from '../core/actor.ts';
import type { Clock } from '../core/clock.ts';
import type { Deprecation } from '../core/deprecation.ts';
import type { Lookup } from '../core/host.ts';
import { findJsonFault } from '../core/json.ts';
import type { Language } from '../core/language.ts';
import { requireMemberDetail, type Privacy } from '../core/privacy.ts';
import { ProblemError, type ProblemCode } from '../core/problem.ts';
import type { Scope } from '../core/scopes.ts';
import type { Db } from '../db/client.ts';
import type { Occasion } from '../db/outbox.ts';
import type { PlatformOccasion } from '../db/team-privacy.ts';
import type { AppSecrets } from '../core/encryption.ts';

/** The tenant of a request, as it is now. */
export interface TeamFacts {
  readonly id: string;
  readonly plan: string;
  readonly language: Language;
  readonly rateLimitPerMinute: number;
}

/** What the process gives to every request. */
export interface Services {
  readonly clock: Clock;
  readonly secrets: AppSecrets;
  readonly webhookAllowPrivateTargets: boolean;
  /** How names are resolved; the system's way where it is left out. */
  readonly lookup?: Lookup;
}

/** A problem as the doors tell it (specification, "Errors"). */
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
  /** Of labels and titles in the answer. */
  readonly language: Language;
  readonly db: Db;
  readonly services: Services;
  /** The problem that an error is told as, in tRPC's `data`. */
  readonly describeError: (error: unknown) => ProblemShape | null;
  /**
   * Set for a POST with an `Idempotency-Key`: runs the operation on a transaction of its own, once. What `prepare` gives it is waited for before the
   * transaction, and not at all for a replay.
   */
  readonly idempotently:
    | (<T, P>(
        prepare: (() => Promise<P>) | null,
        operation: (db: Db, prepared: P | undefined) => Promise<T>,
      ) => Promise<T>)
    | null;
}

/** The REST facts of an operation, beside what trpc-to-openapi knows. */
export interface RestFacts {
  readonly method: OpenApiMethod;
  readonly path: `/${string}`;
  /** null: any valid key (GET /me). */
  readonly scope: Scope | null;
  readonly successStatus: 200 | 201 | 202;
  /** Problem codes that the operation can answer with beside the common ones. */
  readonly errors: readonly ProblemCode[];
  /** The component names of the document. */
  readonly outputName: string;
  readonly bodyName: string | null;
  /** Where the created resource is found: the path template, with `{id}` for the id in the output. */
  readonly location: string | null;
  /** The output holds a secret: what idempotency stores of it is encrypted. */
  readonly secret: boolean;
  /** null: not on its own; its version may be (`V1_DEPRECATION`). */
  readonly deprecated: Deprecation | null;
  readonly example: { readonly body?: unknown; readonly output: unknown };
}

/** What the app's door knows of whoever calls, before a procedure's access is looked at. */
export interface DoorContext extends Omit<Context, 'actor' | 'team' | 'privacy'> {
  /** null: nobody is signed in. */
  readonly actor: Actor | null;
  /** null for a platform service, which names the team in its input. */
  readonly team: TeamFacts | null;
  readonly privacy: Privacy | null;
  /** False: the team is suspended or ended. */
  readonly enabled: boolean;
  /** Why it could not be found out who calls: what a procedure then refuses with. */
  readonly fault: Error | null;
}

/** The context of a platform service's procedure. */
export interface PlatformContext extends Omit<DoorContext, 'actor'> {
  readonly actor: PlatformActor;
}

export interface Meta extends Omit<OpenApiMeta, 'openapi'> {
  readonly openapi: NonNullable<OpenApiMeta['openapi']>;
  readonly rest: RestFacts;
  readonly run: Run;
  readonly access: Access;
}

/** Guard, parsing and work of an operation. The input is read only when its turn comes. */
export type Run = (ctx: Context, getRawInput: () => Promise<unknown>) => Promise<unknown>;

export interface Declaration<I extends z.ZodType, O extends z.ZodType, P = undefined> {
  readonly method: OpenApiMethod;
  readonly path: `/${string}`;
  readonly scope: Scope | null;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Path and query parameters, or path parameters and body, in one object. Bodies are `z.strictObject`: a misspelt field must never be lost. */
  readonly input: I;
  readonly output: O;
  readonly outputName: string;
  readonly bodyName?: string;
  readonly successStatus?: 200 | 201 | 202;
  readonly errors?: readonly ProblemCode[];
  /** 403 `privacy_restricted` while `member_detail_enabled` is off. */
  readonly memberDetail?: boolean;
  readonly location?: string;
  readonly secret?: boolean;
  /** Its end is announced: in headers of its responses, and in the document. */
  readonly deprecated?: Deprecation;
  /**
   * What the work needs from the network (a name resolved), since nothing of the kind is waited for inside a transaction. Runs once the input is parsed and
   * never for a replay; the work gets the result as `prepared`. A refusal is a result too, for the work to throw, so that it is kept for a replay.
   */
  readonly prepare?: (options: { readonly ctx: Context; readonly input: z.output<I> }) => Promise<P>;
  readonly example: { readonly body?: unknown; readonly output: z.output<O> };
}

/** Of a procedure that has no REST route: its access alone. */
export interface AppMeta {
  readonly access: Access;
}

const t = initTRPC
  .context<DoorContext>()
  .meta<Meta | AppMeta>()
  .create({
    // Nothing of tRPC's own words leaves: an error that nobody foresaw is told as the REST door tells it.
    errorFormatter: ({ shape, error, ctx }) => {
      const problem = ctx?.describeError(error);
      if (!problem) return { ...shape, message: 'internal', data: { code: shape.data.code, problem: null } };
      return { ...shape, message: problem.title, data: { code: shape.data.code, httpStatus: problem.status, problem } };
    },
  });

export const router = t.router;

/** Problem codes that every operation can answer with (specification, "Endpoints"). */
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
 * The guard checks, in this order: scope, the text of the input, its shape, the privacy switch where the declaration asks for it, idempotency.
 * It does *not* check who owns an id: that is each store function's, by the team id that it takes.
 *
 * The REST door calls `run` itself: as five tRPC middlewares the same steps cost 15 µs more of a request that takes 200. The tRPC door goes through tRPC's own
 * parsing for the types, with the scope first, and then through the same `run`.
 */
export function endpoint<O extends z.ZodType, I extends z.ZodObject, P = undefined>(declaration: Declaration<I, O, P>) {
  const declare = (work: Work<I, O, P>) => {
    const run = guarded(declaration, work);
    const scoped = t.procedure
      .meta(metaOf(declaration, run))
      .use(({ ctx, next }) => next({ ctx: requireTenant(ctx, 'admins') }));
    // `run` has parsed the output by this very schema; the type says so without naming it, which tRPC's own types cannot follow here.
    const resolve = ({ ctx, input }: { ctx: Context; input: unknown }) =>
      run(ctx, () => Promise.resolve(input)) as Promise<never>;
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

/** What an operation does, once the guard let it. */
type Work<I extends z.ZodType, O extends z.ZodType, P> = (options: {
  readonly ctx: Context;
  readonly input: z.output<I>;
  readonly prepared: P;
}) => z.input<O> | Promise<z.input<O>>;

function guarded<I extends z.ZodType, O extends z.ZodType, P>(
  declaration: Declaration<I, O, P>,
  work: Work<I, O, P>,
): Run {
  const { scope, memberDetail, prepare, output } = declaration;
  return async (ctx, getRawInput) => {
    requireScope(ctx.actor, scope);
    const rawInput = await getRawInput();
    refuseUnstorableText(rawInput);
    const input = declaration.input.parse(rawInput);
    if (memberDetail) requireMemberDetail(ctx.privacy);
    const prepareCall = prepare ? () => prepare({ ctx, input }) : null;
    const perform = async (db: Db, prepared: P | undefined): Promise<z.output<O>> => {
      // Without `prepare`, P is undefined.
      const checked = output.safeParse(await work({ ctx: { ...ctx, db }, input, prepared: prepared as P }));
      if (checked.success) return checked.data;
      throw new Error(`the output of ${declaration.method} ${declaration.path} breaks its contract`, {
        cause: checked.error.message,
      });
    };
    return ctx.idempotently ? ctx.idempotently(prepareCall, perform) : perform(ctx.db, await prepareCall?.());
  };
}

function metaOf(declaration: Omit<Declaration<z.ZodType, z.ZodType>, 'prepare'>, run: Run): Meta {
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
    run,
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
 * Declares a procedure of the app alone, for members of a team. The guard checks the access, then the text and the shape of the input. It does *not* check who
 * owns an id: that is each store function's, by the team id that it takes.
 */
export function appProcedure<O extends z.ZodType, I extends z.ZodObject>(declaration: {
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

/** Declares a procedure for services of the host application, which name the team in the input. The guard is that of `appProcedure`. */
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

/** The context with its actor and team. Throws `unauthorized` where nobody is signed in, `forbidden` where they may not. */
function requireTenant(ctx: DoorContext, access: Access): Context {
  const { team, privacy } = ctx;
  const actor = requireActor(ctx);
  requireAccess(actor, access);
  if (!team || !privacy) throw new ProblemError('forbidden');
  if (!ctx.enabled) throw new ProblemError('api_disabled');
  return { ...ctx, actor, team, privacy };
}

/** Throws `unauthorized`, or what kept the door from finding out who calls. */
function requireActor({ actor, fault }: DoorContext): Actor {
  if (actor) return actor;
  throw fault ?? new ProblemError('unauthorized');
}

/** A key needs the operation's scope; what a user of the app may do is decided by role. */
function requireScope(actor: Actor, scope: Scope | null): void {
  if (scope === null || actor.kind !== 'api_key' || actor.scopes.includes(scope)) return;
  throw new ProblemError('insufficient_scope', { required_scope: scope, detail: `The key lacks the scope ${scope}.` });
}

/** Text that neither Postgres nor UTF-8 can hold, and JSON nested without end, as faults of parsing. */
function refuseUnstorableText(input: unknown): void {
  const fault = findJsonFault(input);
  if (!fault) return;
  throw new z.ZodError([
    { code: 'custom', path: [...fault.path], message: fault.message, params: { code: fault.code }, input: undefined },
  ]);
}

/** Who does it, when, in answer to what: what a write leaves in audit log and outbox. */
export function occasionOf(ctx: Context): Occasion {
  return {
    teamId: ctx.team.id,
    actor: ctx.actor,
    privacy: ctx.privacy,
    requestId: ctx.requestId,
    at: ctx.services.clock.now(),
  };
}

/** The same of a platform service's call; the services read the team's privacy in their transaction (`readOccasion`). */
export function platformOccasionOf(ctx: PlatformContext, teamId: string): PlatformOccasion {
  return { teamId, actor: ctx.actor, requestId: ctx.requestId, at: ctx.services.clock.now() };
}
