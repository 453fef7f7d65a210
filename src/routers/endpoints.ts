import type { AnyProcedure } from '@trpc/server';
import { z } from 'zod';
import type { Meta, Operation, RestFacts } from '../trpc/operation.ts';
import { v1 } from './routers.ts';

/** An operation of the REST API, derived from its declaration. */
export interface Endpoint extends RestFacts {
  /** The tRPC path, for instance `members.list`. The OpenAPI operation id derives from it. */
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly pathParameters: readonly string[];
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
  readonly operation: Operation;
}

/** All operations of the API in the order of their declarations. */
export const ENDPOINTS: readonly Endpoint[] = endpointsOf(v1);

/** Lists the operations of a router. All of them must be declared with `endpoint()`. */
export function endpointsOf(router: {
  readonly _def: { readonly procedures: object };
}): readonly Endpoint[] {
  const procedures = Object.entries(router._def.procedures as Record<string, AnyProcedure>);
  return procedures.map(([name, procedure]) => toEndpoint(name, procedure));
}

function toEndpoint(name: string, procedure: AnyProcedure): Endpoint {
  const meta = procedure._def.meta as Meta;
  const { inputs, output } = procedure._def as unknown as {
    inputs: z.ZodObject[];
    output: z.ZodType;
  };
  return {
    ...meta.rest,
    name,
    summary: meta.openapi.summary ?? '',
    description: meta.openapi.description ?? '',
    tag: meta.openapi.tags?.[0] ?? '',
    pathParameters: [...meta.rest.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ''),
    input: inputs[0] ?? z.object({}),
    output,
    operation: meta.operation,
  };
}
