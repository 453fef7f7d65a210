import type { oas31 } from 'zod-openapi';
import { globalRegistry, type z } from 'zod';
import type { ProblemCode } from '../../core/problem.ts';
import type { Endpoint } from '../../routers/endpoints.ts';
import {
  problemHeaders,
  requestHeaders,
  successHeaders,
  type DescribedEndpoint,
} from './headers.ts';
import { codesByStatus, describeCodes, problemExample, problemRef } from './problems.ts';
import { refTo, tidySchema } from './schemas.ts';

/** Components that operations share. Describing an operation adds to them. */
export interface SharedComponents {
  readonly schemas: Record<string, oas31.SchemaObject>;
  readonly examples: Record<string, oas31.ExampleObject>;
}

/**
 * Describes an operation as it is published. The shapes of parameters and body come from
 * trpc-to-openapi. Names, headers, statuses, errors and examples come from the declaration: the
 * library describes every success as 200, and every error in a form of its own.
 */
export function describeOperation(
  endpoint: DescribedEndpoint,
  generated: oas31.OperationObject,
  shared: SharedComponents,
  publicUrl: string,
): oas31.OperationObject {
  const { scope, mode, includes, deprecated } = endpoint;
  const needed = scope === null ? 'Needs no scope.' : `Needs the scope \`${scope}\`.`;
  const alsoNeeded = Object.entries(includes)
    .filter(([, other]) => other !== scope)
    .map(([name, other]) => ` With \`include=${name}\` also \`${other}\`.`)
    .join('');
  const ending = deprecated
    ? `\n\nDeprecated from ${deprecated.since} on. May be gone from ${deprecated.sunset} on.`
    : '';
  return {
    operationId: operationIdOf(endpoint),
    summary: endpoint.summary,
    description: `${endpoint.description}\n\n${needed}${alsoNeeded}${ending}`,
    ...(deprecated ? { deprecated: true } : {}),
    tags: [endpoint.tag],
    'x-required-scope': scope,
    ...(mode && { 'x-required-mode': mode }),
    parameters: [...describeParameters(endpoint, generated), ...requestHeaders(endpoint)],
    ...describeBody(endpoint, generated, shared),
    responses: {
      [endpoint.successStatus]: describeSuccess(endpoint),
      ...Object.fromEntries(
        [...codesByStatus(endpoint)].map(([status, codes]) => [
          status,
          describeProblems(endpoint, status, codes, shared, publicUrl),
        ]),
      ),
    },
  };
}

/**
 * `members.list` → `membersList`. It is unique because tRPC paths are, and a valid name in every
 * language that clients are generated for.
 */
export function operationIdOf(endpoint: Endpoint): string {
  return endpoint.name.replaceAll(/[.-](\w)/g, (_match, letter: string) => letter.toUpperCase());
}

/**
 * The library unwraps optional parameters and loses their `.meta()`, so this reads it from the
 * declaration again. Tools that import the document may send all examples of an operation at once.
 * So they must go together, and a parameter whose values differ from team to team has none.
 */
function describeParameters(
  endpoint: DescribedEndpoint,
  generated: oas31.OperationObject,
): oas31.ParameterObject[] {
  return (generated.parameters ?? []).map((parameter) => {
    const { name, in: place, required, schema } = parameter as oas31.ParameterObject;
    const meta = globalRegistry.get(endpoint.input.shape[name] as z.ZodType);
    const {
      description: described,
      examples,
      ...rest
    } = tidySchema(schema ?? {}) as oas31.SchemaObject;
    const description = described ?? meta?.description;
    const example: unknown = examples?.[0] ?? (meta?.['examples'] as unknown[] | undefined)?.[0];
    return {
      name,
      in: place,
      ...(required ? { required } : {}),
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(example === undefined ? {} : { example }),
    };
  });
}

function describeBody(
  endpoint: DescribedEndpoint,
  generated: oas31.OperationObject,
  shared: SharedComponents,
): Pick<oas31.OperationObject, 'requestBody'> {
  const { bodyName, needsBody, example } = endpoint;
  const schema = (generated.requestBody as oas31.RequestBodyObject | undefined)?.content[
    'application/json'
  ]?.schema;
  if (bodyName === null || schema === undefined) return {};
  const description = `The body of \`${endpoint.method} ${endpoint.path}\`.`;
  addOnce(shared.schemas, bodyName, { description, ...tidySchema(schema) });
  return {
    requestBody: {
      ...(needsBody && { required: true }),
      content: {
        'application/json': { schema: refTo('schemas', bodyName), example: example.body },
      },
    },
  };
}

const SUCCESS_DESCRIPTIONS: Readonly<Record<Endpoint['successStatus'], string>> = {
  200: 'Done.',
  201: 'Created. `Location` is its path.',
  202: 'Accepted. The work is queued.',
};

function describeSuccess(endpoint: DescribedEndpoint): oas31.ResponseObject {
  return {
    description: SUCCESS_DESCRIPTIONS[endpoint.successStatus],
    headers: successHeaders(endpoint),
    content: {
      'application/json': {
        schema: refTo('schemas', endpoint.outputName),
        example: endpoint.example.output,
      },
    },
  };
}

function describeProblems(
  endpoint: DescribedEndpoint,
  status: number,
  codes: readonly ProblemCode[],
  shared: SharedComponents,
  publicUrl: string,
): oas31.ResponseObject {
  const examples: oas31.ExamplesObject = {};
  for (const code of codes) {
    const { component, example } = problemExample(publicUrl, endpoint, status, code);
    if (component !== null) shared.examples[component] = example;
    examples[code] = component === null ? example : refTo('examples', component);
  }
  return {
    description: describeCodes(endpoint, status, codes),
    headers: problemHeaders(endpoint, status, codes),
    content: { 'application/problem+json': { schema: problemRef, examples } },
  };
}

function addOnce(
  schemas: SharedComponents['schemas'],
  name: string,
  schema: oas31.SchemaObject,
): void {
  const known = schemas[name];
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema))
    throw new Error(`two request bodies are called ${name}`);
  schemas[name] = schema;
}
