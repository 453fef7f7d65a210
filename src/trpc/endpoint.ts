/**
 * `endpoint()` declares an operation: a tRPC procedure with its zod shapes, and its REST facts. The
 * REST route, the OpenAPI operation, the scope check, idempotency, the list of problem codes and
 * the contract tests derive from it.
 */
import type { OpenApiMethod } from 'trpc-to-openapi';
import type { z } from 'zod';
import { privateFieldsOf, withholderFor } from '../core/private-fields.ts';
import { impliedCauses, impliedCodes } from '../core/implied-errors.ts';
import { ProblemError, unknownId, type ProblemCode } from '../core/problem.ts';
import type { Scope } from '../core/scopes.ts';
import type { Tx } from '../db/client.ts';
import { runCall, type CurrentState, type WithheldOutput } from './call.ts';
import { runRepeatable, type Context } from './context.ts';
import { refuseUnstorableJson, requireMode, requireScope, requireTeam } from './guards.ts';
import { t } from './init.ts';
import type { Meta, Operation, ProblemCauses } from './operation.ts';
import { echoesOf, protect, showerFor, type Protection, type ProtectionOf } from './protection.ts';

export interface Declaration<I extends z.ZodType, O extends z.ZodType, P = undefined> {
  readonly method: OpenApiMethod;
  readonly path: `/${string}`;
  /** null: any valid key will do. */
  readonly scope: Scope | null;
  /** `test`: for a live key there is no such path. */
  readonly mode?: 'test';
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /**
   * Path and query parameters, or path parameters and body, in one object. For a body, use
   * `z.strictObject`: a misspelt field must not be ignored.
   */
  readonly input: I;
  /**
   * What the parameter `include` adds to the output, by its value, and the scope that reads the
   * same alone. A key without that scope is refused.
   */
  readonly includes?: Readonly<Record<string, Scope>>;
  readonly output: O;
  readonly outputName: string;
  readonly bodyName?: string;
  /** Whether a call without a body is one with an empty object. */
  readonly isBodyOptional?: true;
  /** 200 by default. */
  readonly successStatus?: 200 | 201 | 202;
  /**
   * The problem codes besides those that follow from the other fields (see `metaOf`), each with
   * what it means for this operation: a sentence for customers. One that follows may be named, too.
   */
  readonly errors?: ProblemCauses;
  /** How personal fields of the output are protected. An output that has some needs it. */
  readonly privacy?: Protection;
  /** The `Location` of the created resource; `{id}` is replaced by the id of the output. */
  readonly location?: string;
  /**
   * The ids of the members or webhook endpoints that the output's private fields belong to
   * (`core/private-fields.ts`). A POST whose output has such fields needs it: when one of them
   * goes, the fields go from the response that is kept for a replay.
   */
  readonly privateOf?: (call: {
    readonly input: z.output<I>;
    readonly output: z.output<O>;
  }) => readonly string[];
  /**
   * Network calls that the work needs, for instance DNS: they must not run in a transaction. Runs
   * after the input is parsed, but not for a replay. The work gets the result as `prepared`. Return
   * a refusal and let the work throw it, so that it is stored for a replay.
   */
  readonly prepare?: (options: {
    readonly ctx: Context;
    readonly input: z.output<I>;
  }) => Promise<P>;
  /**
   * Of a PATCH or DELETE: what it changes or removes. With it the operation takes `If-Match`, and
   * a PATCH tells the `ETag` of what it has made.
   */
  readonly current?: Current<NoInfer<I>>;
  readonly example: { readonly body?: unknown; readonly output: z.output<O> };
}

/** How the object of a change is read. */
export interface Current<I extends z.ZodType> {
  /** What a read shows of the object: its `ETag` is made of this. */
  readonly shape: z.ZodType;
  /** Reads it and locks it until the transaction ends. Throws `not_found`. */
  readonly read: (options: {
    readonly tx: Tx;
    readonly ctx: Context;
    readonly input: z.output<I>;
  }) => Promise<unknown>;
  /** Fields that change by themselves. The `ETag` of a change does not depend on them. */
  readonly leavesOut?: readonly string[];
}

/**
 * Declares an operation; `.query()` or `.mutation()` on the result gives it its work.
 *
 * Checked in this order: scope, text of the input, shape of the input, scope of what it includes,
 * privacy switch (where the
 * declaration asks for it), idempotency. It is *not* checked here who owns an id: each store
 * function does that by the team id that it takes.
 *
 * The REST pipeline calls the steps of `Operation` itself: as five tRPC middlewares they would cost
 * 15 µs of a request that takes 200. The tRPC procedure checks the scope first, lets tRPC parse the
 * input for the types, and then takes the same steps.
 */
export function endpoint<O extends z.ZodType, I extends z.ZodObject, P = undefined>(
  declaration: Declaration<I, O, P> & ProtectionOf<O>,
) {
  const declare = (work: Work<I, O, P>) => {
    const operation = operationOf(declaration, work);
    const scoped = t.procedure
      .meta(metaOf(declaration, operation))
      .use(({ ctx, next }) => next({ ctx: requireTeam(ctx, 'admins') }));
    // `perform` has checked the output against this schema. The cast to `never` is needed because
    // tRPC's own types cannot express that here.
    const resolve = async ({ ctx, input }: { ctx: Context; input: unknown }) => {
      operation.guard(ctx);
      const call = operation.parse(ctx, input);
      const { method, path } = declaration;
      const result =
        method === 'POST' ? runRepeatable(ctx, { name: path, input }, call) : runCall(call, ctx.db);
      return (await result.catch(nameParameter(declaration))) as never;
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

/** Over tRPC the parameter of the path is a field of the input, so `not_found` names it. */
function nameParameter({ path }: Pick<Declaration<z.ZodType, z.ZodType>, 'path'>) {
  const parameter = /\{(\w+)\}/.exec(path)?.[1];
  return (error: unknown): never => {
    const isUnnamed =
      error instanceof ProblemError &&
      error.code === 'not_found' &&
      error.fields['field'] === undefined;
    throw isUnnamed && parameter !== undefined ? unknownId(parameter) : error;
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
  const { method, path, scope, mode = null, prepare } = declaration;
  const name = `${method} ${path}`;
  const { check, show } = protect({ ...declaration, name, does: effectOf(method) });
  const keep = keeperOf(declaration);
  const currentOf = currentReader(declaration);
  return {
    guard: (ctx) => {
      requireMode(ctx.team.id, mode);
      requireScope(ctx.actor, scope);
    },
    parse: (ctx, rawInput) => {
      refuseUnstorableJson(rawInput);
      const input = declaration.input.parse(rawInput);
      requireIncluded(ctx, declaration, input);
      check(ctx.privacy);
      return {
        prepare: prepare ? () => prepare({ ctx, input }) : null,
        perform: async (db, prepared) => {
          // Without `prepare`, `prepared` is undefined and so is P.
          const output = await work({ ctx: { ...ctx, db }, input, prepared: prepared as P });
          return show(ctx.privacy, checkOutput(declaration, output));
        },
        withhold: (output) => keep?.(input, output) ?? null,
        current: currentOf?.(ctx, input) ?? null,
      };
    },
  };
}

function effectOf(method: OpenApiMethod): 'read' | 'create' | 'change' {
  if (method === 'GET') return 'read';
  return method === 'POST' ? 'create' : 'change';
}

/** Throws `insufficient_scope` if a key may not read what the parameter `include` adds. */
function requireIncluded(
  { actor }: Context,
  { includes }: Pick<Declaration<z.ZodType, z.ZodType>, 'includes'>,
  input: unknown,
): void {
  if (includes === undefined) return;
  const { include } = input as { readonly include?: string | undefined };
  if (include !== undefined) requireScope(actor, includes[include] ?? null);
}

/**
 * Returns what withholds the private fields of an output, or null if the declaration has none or is
 * no POST, whose response alone may be kept. Throws if `privateOf` is missing, and if fields are
 * withheld under different conditions.
 */
function keeperOf<I extends z.ZodType, O extends z.ZodType, P>(
  declaration: Declaration<I, O, P>,
): ((input: z.output<I>, output: unknown) => WithheldOutput) | null {
  const { method, path, output: shape, privateOf, privacy } = declaration;
  if (method !== 'POST') return null;
  const echoes = echoesOf(privacy);
  const kinds = new Set(
    privateFieldsOf(shape).flatMap(({ kind, canBeWithheld }) => (canBeWithheld ? [kind] : [])),
  );
  const [kind, ...others] = kinds;
  const withhold = kind && withholderFor(shape, kind, echoes);
  if (!withhold) return null;
  if (others.length > 0) throw new Error(`POST ${path} has both personal fields and secrets`);
  if (!privateOf) throw new Error(`POST ${path} has private fields and needs privateOf`);
  return (input, output) => ({
    kind,
    output: withhold(output),
    subjectIds: privateOf({ input, output: output as z.output<O> }),
  });
}

/** Returns null if the declaration says nothing about what it changes. */
function currentReader<I extends z.ZodType, O extends z.ZodType, P>({
  method,
  path,
  current,
}: Declaration<I, O, P>): ((ctx: Context, input: z.output<I>) => CurrentState) | null {
  if (!current) return null;
  const name = `${method} ${path}`;
  if (method !== 'PATCH' && method !== 'DELETE') throw new Error(`${name} takes no If-Match`);
  const { shape, read, leavesOut = [] } = current;
  const show = showerFor(shape);
  const versioned = (output: unknown): unknown =>
    leavesOut.length === 0
      ? output
      : Object.fromEntries(
          Object.entries(output as object).filter(([field]) => !leavesOut.includes(field)),
        );
  return (ctx, input) => ({
    read: async (tx) => {
      const output = checkOutput({ method, path, output: shape }, await read({ tx, ctx, input }));
      return () => show(ctx.privacy, output);
    },
    of: versioned,
  });
}

/** Throws an error that names the operation if the output does not match its schema. */
function checkOutput(
  { method, path, output }: Pick<Declaration<z.ZodType, z.ZodType>, 'method' | 'path' | 'output'>,
  value: unknown,
): unknown {
  const checked = output.safeParse(value);
  if (checked.success) return checked.data;
  throw new Error(`the output of ${method} ${path} breaks its contract`, {
    cause: checked.error.message,
  });
}

function metaOf(
  declaration: Omit<Declaration<z.ZodType, z.ZodType>, 'prepare' | 'privateOf' | 'current'> & {
    readonly current?: unknown;
  },
  operation: Operation,
): Meta {
  const { method, path, scope, tag, summary, description } = declaration;
  const own = Object.keys(declaration.errors ?? {}) as ProblemCode[];
  const kind = { method, path, scope, isTestOnly: declaration.mode === 'test' };
  const errors: ProblemCode[] = [...impliedCodes(kind), ...own];
  if (declaration.privacy === 'refuse') errors.push('privacy_restricted');
  return {
    openapi: { method, path, summary, description, tags: [tag] },
    access: 'admins',
    operation,
    rest: {
      method,
      path,
      scope,
      mode: declaration.mode ?? null,
      includes: declaration.includes ?? {},
      successStatus: declaration.successStatus ?? 200,
      errors: [...new Set(errors)],
      causes: { ...impliedCauses(kind), ...declaration.errors },
      outputName: declaration.outputName,
      bodyName: declaration.bodyName ?? null,
      needsBody: declaration.bodyName !== undefined && declaration.isBodyOptional !== true,
      isConditional: declaration.current !== undefined,
      location: declaration.location ?? null,
      example: declaration.example,
    },
  };
}
