/**
 * What `endpoint()` makes of a declaration: the steps of the operation, and the facts from which
 * the REST route, the OpenAPI document and the contract tests derive.
 */
import type { OpenApiMeta, OpenApiMethod } from 'trpc-to-openapi';
import type { Access } from '../core/access.ts';
import type { ProblemCode } from '../core/problem.ts';
import type { Scope } from '../core/scopes.ts';
import type { OperationCall } from './call.ts';
import type { Context } from './context.ts';

/**
 * The steps of an operation, in the order in which a request takes them: guard, parse, prepare,
 * perform. The REST pipeline reads the input after `guard` and checks idempotency after `parse`.
 */
export interface Operation {
  /** Throws `insufficient_scope`, and `not_found` for the wrong mode. */
  readonly guard: (ctx: Context) => void;
  /** Throws a `ZodError`, and `privacy_restricted` where the declaration asks for it. */
  readonly parse: (ctx: Context, rawInput: unknown) => OperationCall;
}

/** What problem codes mean for an operation: sentences for customers. */
export type ProblemCauses = Readonly<Partial<Record<ProblemCode, string>>>;

/** The REST facts of an operation that trpc-to-openapi has no field for. */
export interface RestFacts {
  readonly method: OpenApiMethod;
  readonly path: `/${string}`;
  /** null: any valid key will do (GET /me). */
  readonly scope: Scope | null;
  /** `test`: the operation is one of sandboxes alone. null: it is one of every team. */
  readonly mode: 'test' | null;
  /** The scope that each value of the parameter `include` also needs. */
  readonly includes: Readonly<Record<string, Scope>>;
  readonly successStatus: 200 | 201 | 202;
  /** All problem codes that the operation can respond with. */
  readonly errors: readonly ProblemCode[];
  /** What some of them mean for this operation. Others mean what they always mean. */
  readonly causes: ProblemCauses;
  /** The component names in the OpenAPI document. */
  readonly outputName: string;
  readonly bodyName: string | null;
  readonly needsBody: boolean;
  /** Whether it takes `If-Match`. */
  readonly isConditional: boolean;
  /** The `Location` of the created resource; `{id}` is replaced by the id of the output. */
  readonly location: string | null;
  readonly example: { readonly body?: unknown; readonly output: unknown };
}

/** The meta of a procedure with a REST route. */
export interface Meta extends Omit<OpenApiMeta, 'openapi'> {
  readonly openapi: NonNullable<OpenApiMeta['openapi']>;
  readonly rest: RestFacts;
  readonly operation: Operation;
  readonly access: Access;
}

/** The meta of a procedure without a REST route (`appProcedure`, `platformProcedure`). */
export interface AppMeta {
  readonly access: Access;
}
