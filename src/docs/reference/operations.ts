/** The operations and objects of the OpenAPI document, in the form that pages need. */
import type { oas31 } from 'zod-openapi';
import { readCauses } from '../../http/openapi/problems.ts';
import { slugOf } from '../slug.ts';

export interface Parameter {
  readonly name: string;
  readonly place: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: oas31.SchemaObject;
  /** As text, as it is in an address. */
  readonly example: string | null;
}

export interface RequestBody {
  /** The name of its component. */
  readonly name: string;
  readonly schema: oas31.SchemaObject;
  readonly example: Readonly<Record<string, unknown>>;
}

export interface Success {
  readonly status: number;
  readonly description: string;
  /** The name of the component that it responds with. */
  readonly name: string;
  readonly schema: oas31.SchemaObject;
  readonly example: unknown;
}

export interface OperationError {
  readonly status: number;
  readonly code: string;
  /** What it means for the operation. */
  readonly cause: string;
  /** A response with this code. */
  readonly example: Readonly<Record<string, unknown>>;
}

export interface Operation {
  /** In the address of its page, for instance `members-list`. */
  readonly slug: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** Markdown, without the sentence about the scope. */
  readonly description: string;
  readonly scope: string | null;
  /** Whether only the test keys of sandboxes reach it. */
  readonly isTestOnly: boolean;
  readonly isDeprecated: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: RequestBody | null;
  readonly success: Success;
  readonly errors: readonly OperationError[];
}

export interface Reference {
  readonly operations: readonly Operation[];
  /** The tags in the order of the operations, with what they are about. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly schemas: Readonly<Record<string, oas31.SchemaObject>>;
}

/** Reads the document. Throws if an operation lacks what every operation of ours has. */
export function readReference(document: oas31.OpenAPIObject): Reference {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) =>
      readOperation(document, method.toUpperCase(), path, operation as oas31.OperationObject),
    ),
  );
  const used = new Set(operations.map(({ tag }) => tag));
  return {
    operations,
    tags: (document.tags ?? [])
      .filter(({ name }) => used.has(name))
      .map(({ name, description = '' }) => ({ name, description })),
    schemas: (document.components?.schemas ?? {}) as Record<string, oas31.SchemaObject>,
  };
}

/** Follows a reference to a component. Anything else is returned as it is. */
export function resolve<T extends object>(
  document: oas31.OpenAPIObject,
  value: T | oas31.ReferenceObject,
): T {
  if (!('$ref' in value)) return value as T;
  const [, , kind = '', name = ''] = (value as oas31.ReferenceObject).$ref.split('/');
  const components = document.components as Record<string, Record<string, T>> | undefined;
  return components?.[kind]?.[name] ?? fail(`no component ${kind} ${name}`);
}

/** The name of the component that a reference leads to; null for anything else. */
export function nameOfRef(value: object | undefined): string | null {
  const ref = value && '$ref' in value ? String(value.$ref) : null;
  return ref?.split('/').at(-1) ?? null;
}

/** The name of the objects in a list that an operation returns; null if it returns no list. */
export function itemNameOf({ schema }: Success): string | null {
  const { data } = schema.properties ?? {};
  return nameOfRef((data as { readonly items?: object } | undefined)?.items);
}

function readOperation(
  document: oas31.OpenAPIObject,
  method: string,
  path: string,
  operation: oas31.OperationObject,
): Operation {
  const id = operation.operationId ?? fail(`${method} ${path} has no id`);
  const responses = Object.entries(operation.responses ?? {}).map(
    ([status, response]) =>
      [Number(status), resolve<oas31.ResponseObject>(document, response)] as const,
  );
  return {
    slug: slugOf(id.replaceAll(/[A-Z]/g, (letter) => ` ${letter}`)),
    method,
    path,
    tag: operation.tags?.[0] ?? '',
    summary: operation.summary ?? '',
    description: (operation.description ?? '').replace(/\n\nNeeds (?:no|the) scope[^\n]*/, ''),
    scope: (operation as { 'x-required-scope'?: string | null })['x-required-scope'] ?? null,
    isTestOnly: 'x-required-mode' in operation,
    isDeprecated: operation.deprecated === true,
    parameters: (operation.parameters ?? []).map((one) =>
      readParameter(resolve<oas31.ParameterObject>(document, one)),
    ),
    body: readBody(document, operation),
    success: readSuccess(document, responses) ?? fail(`${id} never succeeds`),
    errors: responses.flatMap(([status, response]) => readErrors(document, status, response)),
  };
}

function readParameter(parameter: oas31.ParameterObject): Parameter {
  const example: unknown = parameter.example;
  return {
    name: parameter.name,
    place: parameter.in as Parameter['place'],
    required: parameter.required === true,
    description: parameter.description ?? '',
    schema: (parameter.schema ?? {}) as oas31.SchemaObject,
    example: typeof example === 'string' || typeof example === 'number' ? `${example}` : null,
  };
}

function readBody(
  document: oas31.OpenAPIObject,
  { requestBody }: oas31.OperationObject,
): RequestBody | null {
  if (requestBody === undefined) return null;
  const media = resolve<oas31.RequestBodyObject>(document, requestBody).content['application/json'];
  if (!media?.schema) return null;
  const name = nameOfRef(media.schema) ?? fail('a body without a name');
  const schema = resolve<oas31.SchemaObject>(document, media.schema);
  return { name, schema, example: media.example as Record<string, unknown> };
}

function readSuccess(
  document: oas31.OpenAPIObject,
  responses: readonly (readonly [number, oas31.ResponseObject])[],
): Success | null {
  const [status, response] = responses.find(([number]) => number < 300) ?? [];
  const media = response?.content?.['application/json'];
  if (status === undefined || !response || !media?.schema) return null;
  return {
    status,
    description: response.description,
    name: nameOfRef(media.schema) ?? fail('a response without a name'),
    schema: resolve<oas31.SchemaObject>(document, media.schema),
    example: media.example as unknown,
  };
}

function readErrors(
  document: oas31.OpenAPIObject,
  status: number,
  response: oas31.ResponseObject,
): OperationError[] {
  const examples = response.content?.['application/problem+json']?.examples ?? {};
  const causes = readCauses(response.description);
  return Object.entries(examples).map(([code, example]) => {
    const { value } = resolve<oas31.ExampleObject>(document, example);
    const cause = causes.get(code) ?? fail(`${status} ${code} has no cause`);
    return { status, code, cause, example: value as Record<string, unknown> };
  });
}

function fail(message: string): never {
  throw new Error(`The OpenAPI document: ${message}`);
}

/** The objects that operations return. A page of a list counts as its entries. */
export function objectNames({ operations }: Reference): string[] {
  const names = operations.map(
    (operation) => itemNameOf(operation.success) ?? operation.success.name,
  );
  return [...new Set([...names, 'Problem'])];
}
