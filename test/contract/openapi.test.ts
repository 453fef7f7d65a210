// The published document says what the declarations say, and its examples are valid.
// `openapi.smoke.test.ts` gives it to tools.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { oas31 } from 'zod-openapi';
import { describe, expect, it } from 'vitest';
import { EVENT_TYPES } from '../../src/core/events.ts';
import {
  committedDocument,
  openApiDocument,
  strictOpenApiDocument,
} from '../../src/http/openapi/document.ts';
import { clientFiles } from '../../scripts/client-operations.ts';
import { MAILS_MAX } from '../../src/features/sandbox/rules.ts';
import { isCompressible } from '../../src/http/api/compress.ts';
import { toProblem } from '../../src/http/api/problem-response.ts';
import { TEST_SCOPES } from '../../src/core/scopes.ts';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';

interface Media {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Ref | { readonly value: unknown }>>;
}
interface Ref {
  readonly $ref: string;
}
interface Response {
  readonly description: string;
  readonly headers: Readonly<Record<string, Ref>>;
  readonly content: Readonly<Record<string, Media>>;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: object;
  readonly example?: unknown;
}
interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly 'x-required-scope': string | null;
  readonly security: readonly object[];
  readonly parameters: readonly (Parameter | Ref)[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, Media>>;
  };
  readonly responses: Readonly<Record<string, Response>>;
}
type Json = Readonly<Record<string, unknown>>;
interface Document {
  readonly info: { readonly version: string; readonly description: string };
  readonly security: readonly object[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const document = openApiDocument('https://team.example') as unknown as Document;
const strict = strictOpenApiDocument('https://team.example') as unknown as Document;

const operationOf = (of: Document, endpoint: Endpoint): Operation => {
  const operation = of.paths[endpoint.path]?.[endpoint.method.toLowerCase()];
  if (!operation) throw new Error(`no operation for ${endpoint.name}`);
  return operation;
};

const DELIVERIES = '/webhook-endpoints/{endpoint_id}/deliveries';

const ANY_TEXT: unknown = expect.stringMatching(/./);

/** Enumerations that no later version can add to. */
const CLOSED =
  /MemberCreate\/properties\/lang$|\/Sandbox\w+\/|Idempotency-Replayed|WWW-Authenticate/;

/** Every schema of the document with its place; examples are no schemas. */
function schemasOf(value: unknown, place = ''): [string, Json][] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, one]) =>
    key.startsWith('example') ? [] : schemasOf(one, `${place}/${key}`),
  );
  return [[place, value as Json], ...inner];
}

/** A part of the introduction, in one line. */
const partOfIntroduction = (title: string): string => {
  const [, text = ''] = document.info.description.split(`## ${title}\n`);
  return text.replace(/\n## [\s\S]*/, '').replaceAll(/\s+/g, ' ');
};

/** Returns what a reference of the document points at, or the value itself. */
function resolve<T extends object>(value: T | Ref): T {
  if (!('$ref' in value)) return value;
  const [, , kind = '', name = ''] = value.$ref.split('/');
  return strict.components[kind]?.[name] as T;
}

describe('openapi.v1.json', () => {
  it('is committed as it is generated (else: npm run openapi)', async () => {
    expect(await readFile(join(root, 'openapi.v1.json'), 'utf8')).toBe(committedDocument());
  });

  it('is what the client package was made from (else: npm run openapi)', async () => {
    const document = JSON.parse(committedDocument()) as oas31.OpenAPIObject;
    for (const [name, text] of Object.entries(await clientFiles(document)))
      expect(await readFile(join(root, 'src/client', name), 'utf8')).toBe(text);
  });

  it('has the version of the release, so that a generator sees that it has changed', async () => {
    const release = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as object;
    expect(release).toMatchObject({ version: document.info.version });
  });

  it('has an absolute server address: in the file an example, when served the public one', () => {
    const addressOf = (text: string): unknown => (JSON.parse(text) as oas31.OpenAPIObject).servers;
    expect(addressOf(committedDocument())).toEqual([{ url: 'https://team.example/api/public/v1' }]);
    expect(openApiDocument('https://api.other.example').servers).toEqual([
      { url: 'https://api.other.example/api/public/v1' },
    ]);
  });

  it('describes every endpoint, each with a name of its own, and nothing else', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.toSorted()).toEqual(
      ENDPOINTS.map(({ method, path }) => `${method} ${path}`).toSorted(),
    );
    const ids = ENDPOINTS.map((endpoint) => operationOf(document, endpoint).operationId);
    expect(new Set(ids).size).toBe(ENDPOINTS.length);
  });

  it('has the components of the specification', () => {
    const resources = [
      'Me',
      'Member',
      'Training',
      'Evaluation',
      'Assignment',
      'Case',
      'Catalog',
      'TeamAnalytics',
    ];
    const others = ['CrmDeal', 'CrmObjection', 'WebhookEndpoint', 'WebhookDelivery', 'Problem'];
    expect(Object.keys(document.components['schemas'] ?? {})).toEqual(
      expect.arrayContaining([...resources, ...others]),
    );
  });

  it('has an item in a page as a reference to its component', () => {
    const pages = Object.entries(document.components['schemas'] ?? {}).filter(([name]) =>
      /(Page|List)$/.test(name),
    );
    expect(pages.length).toBeGreaterThan(0);
    for (const [, page] of pages) {
      const $ref: unknown = expect.stringMatching(/^#\/components\/schemas\/\w+$/);
      expect(page).toMatchObject({ properties: { data: { items: { $ref } } } });
    }
  });

  it('has no component that nothing refers to', () => {
    const text = JSON.stringify(document);
    const unused = Object.entries(document.components).flatMap(([kind, components]) =>
      kind === 'securitySchemes'
        ? []
        : Object.keys(components).filter(
            (name) => !text.includes(`"#/components/${kind}/${name}"`),
          ),
    );
    expect(unused).toEqual([]);
  });

  it('requires a key of all operations at once, and of no delivery', () => {
    expect(document.security).toEqual([{ ApiKey: [] }]);
    for (const { post } of Object.values(document.webhooks)) expect(post.security).toEqual([]);
  });

  it('has an example of every event', () => {
    for (const [type, { post }] of Object.entries(document.webhooks))
      expect(post.requestBody?.content['application/json']?.example).toMatchObject({ type });
    expect(Object.keys(document.webhooks)).toEqual(EVENT_TYPES);
  });

  it('lets no tool that imports it send one Idempotency-Key with every call', () => {
    // Postman's converter (openapi-to-postmanv2 6.3) takes the default of a header's schema before
    // its example, and without both a placeholder such as `<string>`.
    const { IdempotencyKey } = document.components['parameters'] ?? {};
    expect(IdempotencyKey).toMatchObject({ schema: { type: 'string', default: '' } });
    expect(JSON.stringify(IdempotencyKey)).not.toContain('"example');
  });

  it('lets no such tool send an If-Match that no object has', () => {
    const { IfMatch } = document.components['parameters'] ?? {};
    expect(IfMatch).toMatchObject({ schema: { type: 'string', default: '*' } });
    expect(JSON.stringify(IfMatch)).not.toContain('"example');
  });

  it('names in its introduction what the privacy switch closes, lists too', () => {
    const entries = document.info.description.split(/\n(?:- |\n)/);
    const said = entries.find((entry) => /403\s+`privacy_restricted`\.$/.test(entry)) ?? '';
    const closed = ENDPOINTS.filter(({ errors }) => errors.includes('privacy_restricted'));
    const partOf = ({ path }: Endpoint) => path.split('/')[1] ?? '';
    for (const part of new Set(closed.map(partOf))) expect(said.toLowerCase()).toContain(part);
    // "GET on": all of them, and nothing else.
    for (const part of ['assignments', 'cases']) {
      const own = ENDPOINTS.filter((endpoint) => partOf(endpoint) === part);
      expect(closed.filter((endpoint) => partOf(endpoint) === part)).toEqual(
        own.filter(({ method }) => method === 'GET'),
      );
    }
    expect(said).toContain('GET on assignments and cases');
  });

  it('lets a receiver that is written by it accept deliveries while a secret is changed', () => {
    const steps = partOfIntroduction('Webhooks');
    expect(steps).toContain('every `v1`');
    expect(steps).toMatch(/with each `v1`[^.]*: one must match/);
  });

  it.each(['/trainings', '/evaluations', '/users', '/assignments', '/events', DELIVERIES])(
    'says of GET %s that a page can be empty although others follow',
    (path) => {
      const { description, responses } = document.paths[path]?.['get'] ?? {};
      const { $ref } = (responses?.['200']?.content['application/json']?.schema ?? {}) as Ref;
      const page = document.components['schemas']?.[$ref.split('/').at(-1) ?? ''] as {
        readonly properties: { readonly next_cursor: { readonly description: string } };
      };
      expect(`${description} ${page.properties.next_cursor.description}`).toMatch(
        /can hold fewer entries than `limit`, or none/,
      );
    },
  );

  it('names in its introduction the reads that are never compressed', () => {
    const never = ENDPOINTS.filter((one) => one.method === 'GET' && !isCompressible(one));
    const paths = new Set(never.map(({ path }) => path.split('/')[1]));
    expect([...paths]).toEqual(['webhook-endpoints']);
    expect(partOfIntroduction('Conditional requests')).toContain(
      'compressed with `Accept-Encoding: gzip` or `br`, those of webhook endpoints never.',
    );
  });

  it('says what is added within a version, values of known fields included', () => {
    expect(partOfIntroduction('Versioning')).toContain('new values of fields such as `status`');
  });

  it('says how many mails of a sandbox are kept', () => {
    const most = MAILS_MAX.toLocaleString('en');
    expect(document.paths['/sandbox/mails']?.['get']?.description).toContain(
      `of more than ${most} the oldest go`,
    );
  });

  it('describes every component, property and list for generators', () => {
    const faults = schemasOf(document).flatMap(([place, schema]) => {
      const { type, format, items, enum: values } = schema;
      const types = [type].flat();
      const nameless = Object.entries((schema['properties'] ?? {}) as object).flatMap(
        // A reference says what its component says.
        ([name, one]: [string, Json]) =>
          'description' in one || '$ref' in one ? [] : [`${place}.${name}: what?`],
      );
      return [
        ...nameless,
        ...(types.includes('integer') && format !== 'int32' ? [`${place}: an integer`] : []),
        ...(types.includes('array') && !items ? [`${place}: a list of what?`] : []),
        ...(values && !place.endsWith('/anyOf/0') && !CLOSED.test(place)
          ? [`${place}: closed`]
          : []),
      ];
    });
    expect(faults).toEqual([]);
    for (const [name, schema] of Object.entries(document.components['schemas'] ?? {}))
      expect([name, schema]).toEqual([name, expect.objectContaining({ description: ANY_TEXT })]);
  });

  it('knows values beside which it takes any other text', () => {
    const { Assignment, Me, TrainingCompletedEvent } = document.components['schemas'] ?? {};
    const text = { type: 'string' };
    expect(Assignment).toMatchObject({
      properties: {
        status: { anyOf: [{ ...text, enum: ['open', 'done', 'revoked'] }, text] },
        focus_dimension: {
          anyOf: [{ enum: expect.arrayContaining(['closing']) }, { type: ['string', 'null'] }],
        },
      },
    });
    expect(Me).toMatchObject({
      properties: { scopes: { items: { anyOf: [{ enum: [...TEST_SCOPES] }, text] } } },
    });
    // What tells one object from another stays as it is.
    expect(TrainingCompletedEvent).toMatchObject({
      properties: { type: { const: 'training.completed' } },
    });
  });

  it('uses each of its tags in an operation', () => {
    const used = ENDPOINTS.flatMap((endpoint) => operationOf(document, endpoint).tags);
    expect(document.tags.map(({ name }) => name)).toEqual([...new Set(used)]);
  });

  it('allows unknown fields in responses, but not in request bodies', () => {
    const bodies = new Set(ENDPOINTS.flatMap(({ bodyName }) => bodyName ?? []));
    const closed = Object.entries(document.components['schemas'] ?? {}).flatMap(([name, schema]) =>
      JSON.stringify(schema).includes('"additionalProperties":false') ? [name] : [],
    );
    expect(new Set(closed)).toEqual(bodies);
  });

  it.each(EVENT_TYPES)('describes the event %s with its headers', (type) => {
    const { post } = document.webhooks[type] ?? {};
    expect(post?.parameters.map((parameter) => 'name' in parameter && parameter.name)).toEqual([
      'Svc-Signature',
      'Svc-Event-Id',
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
      'traceparent',
    ]);
    // Only the delivery of an event that a traced call has raised has it.
    expect(post?.parameters.at(-1)).not.toHaveProperty('required');
    expect(post?.parameters.filter((one) => 'required' in one)).toHaveLength(5);
    expect(post?.requestBody?.content['application/json']?.example).toMatchObject({
      type,
      data: { team_id: expect.any(String) },
    });
    expect(Object.keys(post?.responses ?? {})).toEqual(['2XX']);
  });
});

describe.each(
  ENDPOINTS.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const),
)('%s', (_name, endpoint) => {
  const operation = operationOf(document, endpoint);

  it('names its scope and wants a key', () => {
    expect(operation['x-required-scope']).toBe(endpoint.scope);
    expect(operation.description).toContain(
      endpoint.scope === null ? 'Needs no scope.' : `\`${endpoint.scope}\``,
    );
    // It is required of all operations at once.
    expect(operation).not.toHaveProperty('security');
  });

  it('documents every parameter', () => {
    const names = operation.parameters.map((parameter) => resolve(parameter).name);
    const fields = Object.keys(endpoint.input.shape).filter(
      (name) => endpoint.method === 'GET' || endpoint.pathParameters.includes(name),
    );
    expect(names).toEqual([
      ...fields,
      'Accept-Language',
      ...(endpoint.method === 'POST' ? ['Idempotency-Key'] : []),
      ...(endpoint.method === 'GET' ? ['If-None-Match'] : []),
      ...(endpoint.isConditional ? ['If-Match'] : []),
    ]);
    for (const parameter of operation.parameters)
      expect(resolve(parameter)).toMatchObject({
        description: expect.stringMatching(/./),
        schema: expect.toSatisfy((one: Json) => 'type' in one || 'anyOf' in one),
      });
  });

  it('has one success and exactly the declared codes, each with an example', () => {
    const successes = Object.keys(operation.responses).filter((status) => status < '400');
    // No 304: generators take it for an error without a body. `If-None-Match` speaks of it.
    expect(successes).toEqual([String(endpoint.successStatus)]);
    const codes = Object.entries(operation.responses).flatMap(([status, response]) => {
      if (status < '400') return [];
      const examples = Object.entries(response.content['application/problem+json']?.examples ?? {});
      expect(examples.length).toBeGreaterThan(0);
      for (const [code, example] of examples)
        expect(resolve(example)).toMatchObject({ value: { code, status: Number(status) } });
      return examples.map(([code]) => code);
    });
    expect([...new Set(codes)].toSorted()).toEqual([...endpoint.errors].toSorted());
  });

  it('describes the headers of every response', () => {
    const statusesWith = (header: string): string[] =>
      Object.keys(operation.responses).filter(
        (status) => header in (operation.responses[status]?.headers ?? {}),
      );
    for (const header of [
      'X-Request-Id',
      'RateLimit-Limit',
      'RateLimit-Remaining',
      'RateLimit-Reset',
      'Content-Language',
      'Svc-Ignored-Parameters',
      'Svc-Mode',
    ]) {
      expect(statusesWith(header)).toEqual(Object.keys(operation.responses));
    }
    expect(statusesWith('Location')).toEqual(endpoint.successStatus === 201 ? ['201'] : []);
    const running = endpoint.method === 'POST' ? ['409'] : [];
    expect(statusesWith('Retry-After')).toEqual([...running, '429', '503']);
    expect(statusesWith('WWW-Authenticate')).toEqual(['401']);
    const success = operation.responses[String(endpoint.successStatus)]?.headers ?? {};
    expect('Idempotency-Replayed' in success).toBe(endpoint.method === 'POST');
  });

  it('has a body exactly where the declaration has one', () => {
    expect(operation.requestBody?.required).toBe(endpoint.needsBody ? true : undefined);
  });
});

describe('examples', () => {
  const ajv = new Ajv2020({ strict: false, inlineRefs: false, code: { optimize: false } });
  addFormats.default(ajv);
  ajv.addSchema(strict, 'openapi');

  const faultOf = (pointer: readonly string[], value: unknown): string | null => {
    const path = pointer
      .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/');
    const validate = ajv.getSchema(`openapi#/${path}/schema`);
    if (!validate) throw new Error(`no schema at ${path}`);
    return validate(value) ? null : `${path}: ${JSON.stringify(validate.errors)}`;
  };

  /** Returns every media object and parameter of an operation, with its place in the document. */
  const examplesOf = (
    operation: Operation,
    at: readonly string[],
  ): [readonly string[], unknown][] => {
    const contents: [readonly string[], Readonly<Record<string, Media>>][] = Object.entries(
      operation.responses,
    ).map(([status, { content }]) => [[...at, 'responses', status, 'content'], content ?? {}]);
    if (operation.requestBody)
      contents.push([[...at, 'requestBody', 'content'], operation.requestBody.content]);
    const media = contents.flatMap(([place, content]) =>
      Object.entries(content).flatMap(([type, { example, examples = {} }]) => {
        const named = Object.values(examples).map((one) => resolve(one).value);
        return (example === undefined ? named : [...named, example]).map(
          (value): [readonly string[], unknown] => [[...place, type], value],
        );
      }),
    );
    const parameters = operation.parameters.flatMap(
      (parameter, index): [readonly string[], unknown][] =>
        'example' in parameter ? [[[...at, 'parameters', String(index)], parameter.example]] : [],
    );
    return [...media, ...parameters];
  };

  it('match their schemas, without an unknown field', () => {
    const operations = [
      ...Object.entries(strict.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({
          operation,
          at: ['paths', path, method],
        })),
      ),
      ...Object.entries(strict.webhooks).map(([type, { post }]) => ({
        operation: post,
        at: ['webhooks', type, 'post'],
      })),
    ];
    const examples = operations.flatMap(({ operation, at }) => examplesOf(operation, at));
    expect(examples.length).toBeGreaterThan(ENDPOINTS.length * 5);
    expect(
      examples.map(([at, value]) => faultOf(at, value)).filter((fault) => fault !== null),
    ).toEqual([]);
  });

  it('show of invalid input what the schema of the operation says of it', () => {
    const withBody = ENDPOINTS.filter(({ bodyName }) => bodyName !== null);
    for (const endpoint of withBody) {
      const shown = problemShown(endpoint, '422', 'validation_error');
      const field = String(shown['field']);
      const refusals = [5, 'x'].map((value) => refusalOf(endpoint, { [field]: value }));
      expect(refusals).toContainEqual({
        errors: shown['errors'],
        field,
        detail: shown['detail'],
      });
    }
    expect(withBody.length).toBeGreaterThan(10);
  });

  it('show of a page that is too large, and of the log, what the schemas say', () => {
    const lists = ENDPOINTS.filter(({ input }) => 'limit' in input.shape);
    for (const endpoint of lists)
      expect(problemShown(endpoint, '422', 'validation_error')).toMatchObject(
        refusalOf(endpoint, { limit: 201 }),
      );
    const output = ENDPOINTS.find(({ name }) => name === 'requests.get')?.example.output as {
      readonly method: string;
      readonly route: string;
      readonly errors: readonly object[];
    };
    const logged = ENDPOINTS.find(
      ({ method, path }) => method === output.method && path === output.route,
    );
    expect(logged && refusalOf(logged, { title: '' })).toMatchObject({ errors: output.errors });
  });

  it('would fail with an undocumented field', () => {
    const at = ['paths', '/me', 'get', 'responses', '200', 'content', 'application/json'];
    const { example } =
      strict.paths['/me']?.['get']?.responses['200']?.content['application/json'] ?? {};
    expect(faultOf(at, { ...(example as object), surprise: 1 })).toContain('surprise');
  });
});

/** The body of a problem that the document shows as an example. */
function problemShown(endpoint: Endpoint, status: string, code: string): Json {
  const { content } = operationOf(document, endpoint).responses[status] ?? {};
  const shown = content?.['application/problem+json']?.examples?.[code];
  return (shown && (resolve(shown).value as Json)) ?? {};
}

/** What the operation answers to its own example with other values in it. */
function refusalOf(endpoint: Endpoint, values: Json): Json {
  const ids = endpoint.pathParameters.map((name) => [name, 'id']);
  const body = endpoint.example.body as object | undefined;
  const { error } = endpoint.input.safeParse({ ...Object.fromEntries(ids), ...body, ...values });
  return error ? toProblem(error, endpoint).fields : {};
}
