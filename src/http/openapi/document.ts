import { generateOpenApiDocument, type OpenApiRouter } from 'trpc-to-openapi';
import { createSchema, type oas31 } from 'zod-openapi';
import { z } from 'zod';
import { effectiveDeprecation, V1_DEPRECATION, type Deprecation } from '../../core/deprecation.ts';
import { endpointsOf, type Endpoint } from '../../routers/endpoints.ts';
import { v1 } from '../../routers/routers.ts';
import { describedHeaders, PARAMETERS } from './headers.ts';
import { describeApi, describeTags, SECURITY_SCHEMES } from './info.ts';
import { describeOperation, type SharedComponents } from './operation.ts';
import { problem } from './problems.ts';
import { closeObjects, mapValues, openObjects, tidySchema } from './schemas.ts';
import { describeWebhooks } from './webhooks.ts';
import { BASE_PATH } from '../api/rest.ts';

/** What is described, and until when it is there. */
export interface DescribedVersion {
  readonly router: { readonly _def: { readonly procedures: object } };
  readonly deprecated: Deprecation | null;
}

const V1: DescribedVersion = { router: v1, deprecated: V1_DEPRECATION };

/** Stands in examples of the committed file, which knows no process's address. */
const EXAMPLE_URL = 'https://api.example.com';

/**
 * The OpenAPI 3.1 description of the API, made from the declarations of the operations. `publicUrl` is the service's outside URL; '' leaves the server
 * relative. Responses are open for fields to come, request bodies are closed.
 */
export function openApiDocument(publicUrl: string, version = V1): oas31.OpenAPIObject {
  return withSchemas(describe(publicUrl, version), version, (schema, isBody) =>
    isBody ? schema : openObjects(schema),
  );
}

/** The same for tests: an object that has a field which the document does not name is refused. */
export function strictOpenApiDocument(publicUrl = '', version = V1): oas31.OpenAPIObject {
  return withSchemas(describe(publicUrl, version), version, closeObjects);
}

/** The text of `openapi.v1.json` in the repository. */
export function committedDocument(): string {
  return `${JSON.stringify(openApiDocument(''), null, 2)}\n`;
}

function describe(publicUrl: string, version: DescribedVersion): oas31.OpenAPIObject {
  // The two dates that count for an operation: its own, or its version's.
  const endpoints = endpointsOf(version.router).map((endpoint) => ({
    ...endpoint,
    deprecated: effectiveDeprecation(endpoint.deprecated, version.deprecated),
  }));
  const names = nameShapes(endpoints);
  const generated = generateOpenApiDocument(version.router as OpenApiRouter, {
    title: '',
    version: '',
    baseUrl: publicUrl + BASE_PATH,
  });
  const shapes: Readonly<Record<string, oas31.SchemaObject>> = {
    ...(generated.components?.schemas as Record<string, oas31.SchemaObject>),
    Problem: shapeOf(problem),
  };
  const shared: SharedComponents = { schemas: {}, examples: {} };
  const paths = describePaths(endpoints, generated.paths ?? {}, shared, publicUrl || EXAMPLE_URL);
  const events = describeWebhooks();
  return {
    openapi: '3.1.0',
    info: describeApi(`${publicUrl}/docs`),
    servers: [{ url: publicUrl + BASE_PATH }],
    tags: describeTags([...endpoints.map(({ tag }) => tag), 'Events']),
    paths,
    webhooks: events.webhooks,
    components: {
      schemas: {
        ...Object.fromEntries(names.map((name) => [name, tidySchema(shapes[name] ?? {})])),
        ...shared.schemas,
        ...events.schemas,
      },
      parameters: PARAMETERS,
      headers: describedHeaders(endpoints),
      examples: shared.examples,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** A shape on its own, as it is in answers. */
function shapeOf(shape: z.ZodType): oas31.SchemaObject {
  return createSchema(shape, { io: 'output' }).schema as oas31.SchemaObject;
}

function describePaths(
  endpoints: readonly Endpoint[],
  generated: oas31.PathsObject,
  shared: SharedComponents,
  publicUrl: string,
): oas31.PathsObject {
  const paths: oas31.PathsObject = {};
  for (const endpoint of endpoints) {
    const method = endpoint.method.toLowerCase() as 'get';
    const operation = generated[endpoint.path]?.[method];
    if (operation === undefined) throw new Error(`no operation was generated for ${endpoint.name}`);
    paths[endpoint.path] = {
      ...paths[endpoint.path],
      [method]: describeOperation(endpoint, operation, shared, publicUrl),
    };
  }
  return paths;
}

/**
 * Gives every shape that the document names its id, by which zod-openapi makes a component of it and a reference wherever it occurs: outputs have their
 * `outputName`, and what a page or list consists of the same without `Page` or `List`. Returns the names in the order of the operations.
 */
function nameShapes(endpoints: readonly Endpoint[]): string[] {
  const shapes = new Map<string, z.ZodType>();
  const add = (name: string, shape: z.ZodType): void => {
    if ((shapes.get(name) ?? shape) !== shape) throw new Error(`two shapes are called ${name}`);
    shapes.set(name, shape);
  };
  for (const { outputName, output } of endpoints) {
    const item = itemOf(output);
    const [, itemName] = /^(.+)(?:Page|List)$/.exec(outputName) ?? [];
    if (item && itemName) add(itemName, item);
    add(outputName, output);
  }
  for (const [id, shape] of shapes) shape.register(z.globalRegistry, { ...shape.meta(), id });
  // Its routes are not there yet; its shape is, because clients are generated from the document.
  return [...new Set([...shapes.keys(), 'WebhookDelivery', 'Problem'])];
}

function itemOf(output: z.ZodType): z.ZodType | null {
  const data: unknown = output instanceof z.ZodObject ? output.shape['data'] : null;
  return data instanceof z.ZodArray ? (data.element as z.ZodType) : null;
}

function withSchemas(
  document: oas31.OpenAPIObject,
  { router }: DescribedVersion,
  change: (schema: oas31.SchemaObject, isBody: boolean) => oas31.SchemaObject,
): oas31.OpenAPIObject {
  const bodies = new Set(endpointsOf(router).map(({ bodyName }) => bodyName));
  const schemas = mapValues(document.components?.schemas ?? {}, (schema, name) =>
    change(schema as oas31.SchemaObject, bodies.has(name)),
  );
  return { ...document, components: { ...document.components, schemas } };
}
