import { generateOpenApiDocument, type OpenApiRouter } from 'trpc-to-openapi';
import { createSchema, type oas31 } from 'zod-openapi';
import { z } from 'zod';
import { deprecationOf, NOTHING_ENDS, type Deprecations } from '../../core/deprecation.ts';
import { endpointsOf, type Endpoint } from '../../routers/endpoints.ts';
import { v1 } from '../../routers/routers.ts';
import { describedHeaders, PARAMETERS, type DescribedEndpoint } from './headers.ts';
import { describeApi, describeTags, SECURITY_SCHEMES } from './info.ts';
import { describeOperation, type SharedComponents } from './operation.ts';
import { entryProblem, problem } from '../../core/problem-shapes.ts';
import { closeObjects, mapValues, openObjects, tidySchema } from './schemas.ts';
import { describeWebhooks, withDataByType } from './webhooks.ts';
import { BASE_PATH } from '../api/exchange.ts';

/** What is described. */
interface DescribedVersion {
  readonly router: { readonly _def: { readonly procedures: object } };
  readonly deprecations: Deprecations;
}

const V1: DescribedVersion = { router: v1, deprecations: NOTHING_ENDS };

/** The address in the committed document, which belongs to no process. */
const EXAMPLE_URL = 'https://team.example';

/**
 * Makes the OpenAPI 3.1 document from the declarations of the operations. `publicUrl` is the
 * service's public URL. Responses are open for new fields, request
 * bodies are closed.
 */
export function openApiDocument(
  publicUrl: string,
  options: Partial<DescribedVersion> = {},
): oas31.OpenAPIObject {
  const version = { ...V1, ...options };
  return withSchemas(describe(publicUrl, version), version, (schema, isBody) =>
    isBody ? schema : openObjects(schema),
  );
}

/** The same for tests: all objects are closed, so that an undocumented field is refused. */
export function strictOpenApiDocument(publicUrl = EXAMPLE_URL, version = V1): oas31.OpenAPIObject {
  return withSchemas(describe(publicUrl, version), version, closeObjects);
}

/** The text of `openapi.v1.json` in the repository. */
export function committedDocument(): string {
  return `${JSON.stringify(openApiDocument(EXAMPLE_URL), null, 2)}\n`;
}

function describe(publicUrl: string, version: DescribedVersion): oas31.OpenAPIObject {
  const endpoints = endpointsOf(version.router).map((endpoint) => ({
    ...endpoint,
    deprecated: deprecationOf(version.deprecations, endpoint),
  }));
  const names = nameShapes(endpoints);
  const generated = generateOpenApiDocument(version.router as OpenApiRouter, {
    title: '',
    version: '',
    baseUrl: publicUrl + BASE_PATH,
  });
  const shapes: Readonly<Record<string, oas31.SchemaObject>> = {
    ...(generated.components?.schemas as Record<string, oas31.SchemaObject>),
    ...componentsOf(problem),
  };
  const shared: SharedComponents = { schemas: {}, examples: {} };
  const paths = describePaths(endpoints, generated.paths ?? {}, shared, publicUrl);
  const events = describeWebhooks();
  const described = Object.fromEntries(
    names.map((name) => [name, tidySchema(shapes[name] ?? {})] as const),
  );
  return {
    openapi: '3.1.0',
    info: describeApi(`${publicUrl}/docs`),
    servers: [{ url: publicUrl + BASE_PATH }],
    // Every operation needs a key. Deliveries say that they do not.
    security: [{ ApiKey: [] }],
    tags: describeTags([...endpoints.map(({ tag }) => tag), 'Events']),
    paths,
    webhooks: events.webhooks,
    components: {
      schemas: {
        ...described,
        ...(described['Event'] && { Event: withDataByType(described['Event']) }),
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

/** Makes the schemas of a shape that has an id and of those in it, as they are in responses. */
function componentsOf(shape: z.ZodType): Readonly<Record<string, oas31.SchemaObject>> {
  return createSchema(shape, { io: 'output' }).components as Record<string, oas31.SchemaObject>;
}

function describePaths(
  endpoints: readonly DescribedEndpoint[],
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
 * Gives an id to every shape that the document names. zod-openapi then makes a component of the
 * shape and refers to it wherever it occurs. The id of an output is its `outputName`; the id of the
 * items of a page or list is the same without `Page` or `List`. Returns the names in the order of
 * the operations.
 */
function nameShapes(endpoints: readonly Endpoint[]): string[] {
  const shapes = new Map<string, z.ZodType>();
  const problems = { EntryProblem: entryProblem, Problem: problem };
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
  for (const [name, shape] of Object.entries(problems)) add(name, shape);
  for (const [id, shape] of shapes) shape.register(z.globalRegistry, { ...shape.meta(), id });
  return [...shapes.keys()];
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
