// The contract of every response of the API, whatever the request was. `call` of support/api.ts
// checks each response against it.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { z } from 'zod';
import { impliedCauses } from '../../src/core/implied-errors.ts';
import { PROBLEMS, type ProblemCode } from '../../src/core/problem.ts';
import { strictOpenApiDocument } from '../../src/http/openapi/document.ts';
import { stillRunning } from '../../src/http/api/idempotency.ts';
import { compileRoutes } from '../../src/http/api/routes.ts';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';

/** A response as tests see it. */
export interface ApiResponse {
  readonly status: number;
  /** Names are in lower case; several lines of one name are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON; undefined if the text is no JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of every shape
  readonly body: any;
  readonly text: string;
}

/** The request of a response. `path` is relative to the base path and has no query. */
export interface Asked {
  readonly method: string;
  readonly path: string;
}

const matchRoute = compileRoutes(ENDPOINTS);
const CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

const fault = {
  status: z.int(),
  code: z.enum(CODES),
  detail: z.string().min(1).optional(),
  errors: z
    .array(
      z.strictObject({
        path: z.string().min(1),
        message: z.string().min(1),
        code: z.string().min(1),
      }),
    )
    .min(1)
    .optional(),
  field: z.string().min(1).optional(),
  dimension: z.enum(['situation', 'personality', 'industry', 'role', 'methodology']).optional(),
  id: z.string().optional(),
};

const problemSchema = z.strictObject({
  ...fault,
  type: z.url(),
  title: z.string().min(1),
  request_id: z.uuid(),
  required_scope: z.string().optional(),
  retry_after: z.int().min(1).optional(),
  entries: z
    .array(z.strictObject({ index: z.int().min(0), problem: z.strictObject(fault) }))
    .min(1)
    .optional(),
});

/** The codes that may carry each field besides the common ones. */
const FIELDS_OF: Readonly<Record<string, readonly ProblemCode[]>> = {
  errors: ['conflict', 'validation_error'],
  field: ['conflict', 'not_found', 'validation_error'],
  dimension: ['kombination_ungueltig'],
  id: ['kombination_ungueltig'],
  required_scope: ['insufficient_scope'],
  retry_after: ['conflict', 'rate_limited'],
  entries: ['batch_refused'],
};

/** The statuses of `bad_request`. Every other code has the one status of the catalogue. */
const BAD_REQUEST_STATUSES = [400, 405, 408, 413, 415, 417, 431];

/** The HTTP parser refuses requests with these before an operation sees them. */
const PARSER_STATUSES = [400, 408, 417, 431];

/**
 * Throws if the response breaks the error contract or the published document. It checks the
 * headers, the content type, and the body against the schema of that operation and status, with
 * unknown fields refused.
 */
export function requireDocumentedResponse(asked: Asked, response: ApiResponse): void {
  const fault = faultOf(asked, response);
  if (fault === null) return;
  throw new Error(
    `${asked.method} ${asked.path} → ${response.status}: ${fault}\n${response.text.slice(0, 2000)}`,
  );
}

function faultOf(asked: Asked, response: ApiResponse): string | null {
  const match = matchRoute(asked.method, asked.path);
  const endpoint =
    match.kind === 'route' && !PARSER_STATUSES.includes(response.status)
      ? match.route.endpoint
      : null;
  return (
    headerFault(asked, response) ??
    undocumentedHeader(endpoint, response) ??
    (response.status === 304
      ? unchangedFault(endpoint, response)
      : asked.method === 'HEAD'
        ? emptyFault(response)
        : bodyFault(endpoint, response))
  );
}

function headerFault({ method, path }: Asked, { status, headers }: ApiResponse): string | null {
  for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']) {
    if (!/^\d+$/.test(headers[name] ?? '')) return `the header ${name} is ${headers[name]}`;
  }
  if (!z.uuid({ version: 'v7' }).safeParse(headers['x-request-id']).success)
    return `the header x-request-id is ${headers['x-request-id']}`;
  if (Number(headers['ratelimit-reset']) > 60) return 'ratelimit-reset is beyond the minute';
  const caching = path === '/openapi.v1.json' && status < 400 ? 'public, no-cache' : 'no-store';
  if (headers['cache-control'] !== caching) return 'the response may be cached';
  if (headers['www-authenticate'] !== (status === 401 ? 'Bearer' : undefined))
    return `the header www-authenticate is ${headers['www-authenticate']}`;
  if (!/^(?:W\/)?"[!#-~]+"$/.test(headers['etag'] ?? (isTagged(method, status) ? '' : '"-"')))
    return `the header etag is ${headers['etag']}`;
  const wanted = status < 400 ? 'application/json' : 'application/problem+json';
  return headers['content-type'] === (status === 304 ? undefined : wanted)
    ? null
    : `the content type is ${headers['content-type']}`;
}

/** Every read that succeeds has a tag. */
function isTagged(method: string, status: number): boolean {
  return (method === 'GET' || method === 'HEAD') && status < 400;
}

/** Of the headers that the document has somewhere, a response has those of its operation alone. */
function undocumentedHeader(
  endpoint: Endpoint | null,
  { status, headers }: ApiResponse,
): string | null {
  const own = endpoint && headersOf(endpoint, status);
  const odd = own && documentedHeaders.find((name) => name in headers && !own.includes(name));
  return odd ? `the header ${odd} is not documented here` : null;
}

function emptyFault({ text }: ApiResponse): string | null {
  return text === '' ? null : 'an answer to HEAD has a body';
}

/** 304 is documented, has no body, and is for reads. */
function unchangedFault(endpoint: Endpoint | null, { text }: ApiResponse): string | null {
  if (text !== '') return 'a 304 has a body';
  return endpoint === null || endpoint.method === 'GET' ? null : 'a 304 to a write';
}

function bodyFault(endpoint: Endpoint | null, response: ApiResponse): string | null {
  const { status, body } = response;
  if (status >= 400)
    return (
      problemFault(response) ??
      undeclaredFault(endpoint, body.code) ??
      unexplainedFault(endpoint, body) ??
      schemaFault(endpoint, response)
    );
  if (endpoint && status !== endpoint.successStatus) return `declared is ${endpoint.successStatus}`;
  return schemaFault(endpoint, response);
}

function problemFault({ status, headers, body }: ApiResponse): string | null {
  const parsed = problemSchema.safeParse(body);
  if (!parsed.success) return z.prettifyError(parsed.error);
  const problem = parsed.data;
  const { code } = problem;
  if (problem.status !== status) return 'the body tells another status';
  if (
    code === 'bad_request'
      ? !BAD_REQUEST_STATUSES.includes(status)
      : status !== PROBLEMS[code].status
  )
    return `${code} has another status`;
  // The body of a replay has the id of the first request; its own id is only in the header.
  const isReplay = headers['idempotency-replayed'] === 'true';
  if (!isReplay && problem.request_id !== headers['x-request-id'])
    return 'request_id and X-Request-Id differ';
  if (!problem.type.endsWith(`/docs/errors#${code}`)) return 'the type does not end in the code';
  if (status >= 500 && problem.detail !== undefined) return 'a fault of ours tells details';
  const foreign = Object.entries(FIELDS_OF).find(
    ([field, codes]) => field in problem && !codes.includes(code),
  );
  if (foreign) return `${code} has the field ${foreign[0]}`;
  if (code === 'validation_error') return validationFault(problem);
  if (code === 'insufficient_scope' && problem.required_scope === undefined)
    return 'required_scope is missing';
  if (code === 'rate_limited' && problem.retry_after === undefined) return 'retry_after is missing';
  if (code !== 'unavailable' && headers['retry-after'] !== toText(problem.retry_after))
    return 'retry_after and Retry-After differ';
  return null;
}

const toText = (value: unknown): string | undefined =>
  typeof value === 'number' ? String(value) : undefined;

/** All faults are in `errors`, one for each place. `field` and `detail` repeat a single one. */
function validationFault({ errors, field, detail }: z.output<typeof problemSchema>): string | null {
  const [first, ...others] = errors ?? [];
  if (!first) return 'a validation_error has no errors';
  if (new Set(errors?.map(({ path }) => path)).size !== others.length + 1)
    return 'two errors are about the same place';
  const [, name] = first.path.split('.');
  const isNamed = others.length === 0 && name !== undefined && name !== '';
  if (isNamed !== (field !== undefined)) return 'field is not told for exactly one fault';
  if (!isNamed) return null;
  return first.path.includes(`.${field}`) && detail === first.message
    ? null
    : 'field and detail differ from the only error';
}

function undeclaredFault(endpoint: Endpoint | null, code: ProblemCode): string | null {
  return endpoint === null || endpoint.errors.includes(code)
    ? null
    : `${endpoint.name} does not declare ${code}`;
}

/** The detail of a call whose key is in use. */
const { detail: RUNNING } = stillRunning().fields;

/** How a cause ends that tells of nothing else with `Retry-After`. */
const ONLY_RUNNING = /still running(?:\.$|, or, without)/;

/** A conflict that is no running call is one of the operation's own, which says when it is. */
function unexplainedFault(endpoint: Endpoint | null, problem: Conflict): string | null {
  if (endpoint === null || problem.code !== 'conflict' || problem.detail === RUNNING) return null;
  const implied = impliedCauses({ ...endpoint, isTestOnly: endpoint.mode === 'test' });
  const cause = endpoint.causes.conflict ?? '';
  if (problem.retry_after !== undefined && ONLY_RUNNING.test(cause))
    return `${endpoint.name} does not say what else is a conflict with Retry-After`;
  return cause === implied.conflict
    ? `${endpoint.name} does not say which state is a conflict`
    : null;
}

interface Conflict {
  readonly code: ProblemCode;
  readonly detail?: string;
  readonly retry_after?: number;
}

function schemaFault(endpoint: Endpoint | null, { status, body }: ApiResponse): string | null {
  if (endpoint === null) return null;
  const validate = validators.find(endpoint, status);
  if (validate === null)
    return `the document has no ${status} for ${endpoint.method} ${endpoint.path}`;
  return validate(body) ? null : JSON.stringify(validate.errors);
}

const strict: OpenApiPart = { ...strictOpenApiDocument() };
const validators = openValidators(strict);
const documentedHeaders = [
  ...new Set(
    ENDPOINTS.flatMap((endpoint) => {
      const statuses = lookUp(strict, placeOf(endpoint, '')) ?? {};
      return Object.keys(statuses).flatMap((status) => headersOf(endpoint, Number(status)) ?? []);
    }),
  ),
];

/** The names of the documented headers, in lower case; null for a status that is not documented. */
function headersOf(endpoint: Endpoint, status: number): readonly string[] | null {
  const response = lookUp(strict, placeOf(endpoint, String(status)));
  const headers = response && lookUp(response, ['headers']);
  return headers && Object.keys(headers).map((name) => name.toLowerCase());
}

/** Where the document has the responses of an operation, or one of them. */
function placeOf({ path, method }: Endpoint, status: string): readonly string[] {
  const responses = ['paths', path, method.toLowerCase(), 'responses'];
  if (status === '') return responses;
  const place = [...responses, status];
  const reference = lookUp(strict, place)?.['$ref'];
  return typeof reference === 'string' ? reference.slice(2).split('/') : place;
}

/**
 * Returns the validators of the published document, in the variant that refuses unknown fields.
 * Each is compiled when it is first needed.
 */
function openValidators(document: OpenApiPart): {
  find(endpoint: Endpoint, status: number): ValidateFunction | null;
} {
  // Inlined and optimized code takes four times as long to make, and each worker makes its own.
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    inlineRefs: false,
    code: { optimize: false },
  });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi');
  const compiled = new Map<string, ValidateFunction | null>();
  const compile = (endpoint: Endpoint, status: number): ValidateFunction | null => {
    const pointer = [
      ...placeOf(endpoint, String(status)),
      'content',
      status < 400 ? 'application/json' : 'application/problem+json',
      'schema',
    ];
    return lookUp(document, pointer)
      ? (ajv.getSchema(`openapi#/${pointer.map(escapePointer).join('/')}`) ?? null)
      : null;
  };
  return {
    find: (endpoint, status) => {
      const name = `${endpoint.name} ${status}`;
      if (!compiled.has(name)) compiled.set(name, compile(endpoint, status));
      return compiled.get(name) ?? null;
    },
  };
}

type OpenApiPart = Readonly<Record<string, unknown>>;

function lookUp(root: OpenApiPart, pointer: readonly string[]): OpenApiPart | null {
  return pointer.reduce<OpenApiPart | null>(
    (part, name) => (part?.[name] ?? null) as OpenApiPart | null,
    root,
  );
}

const escapePointer = (part: string): string =>
  encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
