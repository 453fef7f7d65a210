import type { oas31 } from 'zod-openapi';
import type { ProblemCode } from '../../core/problem.ts';
import type { Deprecation } from '../../core/deprecation.ts';
import type { Endpoint } from '../../routers/endpoints.ts';
import { refTo } from './schemas.ts';

/** Headers of requests. */
export const PARAMETERS = {
  AcceptLanguage: {
    name: 'Accept-Language',
    in: 'header',
    description:
      'The language of problem titles and catalog labels: English for `en`, `en-GB` …, German ' +
      'for everything else. `Content-Language` says which one the response has.',
    schema: { type: 'string', default: 'de' },
    example: 'en',
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes it safe to repeat the call: within 24 hours the same key with the same body returns ' +
      'the first response again without repeating the action. What may not be shown any more is ' +
      'left out. The reset of a sandbox frees most keys. Use a new UUID for each action, for ' +
      'instance. An empty one counts as none.',
    // Postman and others fill the header in with the example, or with a placeholder without one,
    // and would send it with every call as the same key. Only a default stops them.
    schema: { type: 'string', maxLength: 100, default: '' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description:
      'The `ETag` of a response that you have kept. If the representation is still the same, the ' +
      'response is 304 without a body.',
    schema: { type: 'string' },
    example: '"3q2-7wAAAAAAAAAAAAAAAA"',
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      'The `ETag` of the object as you have read it. If somebody has changed it meanwhile, the ' +
      'response is 412 `precondition_failed` and nothing is written. `*` is any.',
    // As above: an example or a placeholder would refuse every change from an imported collection.
    schema: { type: 'string', default: '*' },
  },
} as const satisfies Record<string, oas31.ParameterObject>;

/** Headers of responses. */
const HEADERS = {
  'X-Request-Id': {
    description: "The service's id of this request. Name it when you contact support.",
    required: true,
    schema: { type: 'string', format: 'uuid' },
    example: '0193a1b2-7c4d-7e5f-8a6b-1c2d3e4f5a6b',
  },
  'RateLimit-Limit': {
    description:
      'Requests per minute: the tighter of the two limits of the key and of the team. Without a ' +
      'valid key, the limit of the address.',
    required: true,
    schema: { type: 'integer', format: 'int32', minimum: 0 },
    example: 120,
  },
  'RateLimit-Remaining': {
    description: 'Requests left in the current window.',
    required: true,
    schema: { type: 'integer', format: 'int32', minimum: 0 },
    example: 117,
  },
  'RateLimit-Reset': {
    description: 'Seconds until the window ends.',
    required: true,
    schema: { type: 'integer', format: 'int32', minimum: 0, maximum: 60 },
    example: 41,
  },
  'Content-Language': {
    description: 'The language of titles and labels in the body.',
    required: true,
    schema: { anyOf: [{ type: 'string', enum: ['de', 'en'] }, { type: 'string' }] },
    example: 'en',
  },
  'Svc-Ignored-Parameters': {
    description:
      'The query parameters that the operation does not know and has ignored, ten at most, ' +
      'percent-encoded and separated by commas. Present only if there are some: look for a ' +
      'misspelt name.',
    schema: { type: 'string' },
    example: 'sicne, limti',
  },
  'Svc-Mode': {
    description: 'Present and `test` when the key is one of a sandbox.',
    schema: { anyOf: [{ type: 'string', enum: ['test'] }, { type: 'string' }] },
    example: 'test',
  },
  ETag: {
    description:
      'The version of the representation. Send it unchanged as `If-None-Match` with the same ' +
      'read, or as `If-Match` with a change.',
    required: true,
    schema: { type: 'string' },
    example: '"3q2-7wAAAAAAAAAAAAAAAA"',
  },
  Location: {
    description: 'The path of the created resource.',
    required: true,
    schema: { type: 'string', format: 'uri-reference' },
    example: '/api/public/v1/users/mem_01jc4f3x',
  },
  'Idempotency-Replayed': {
    description:
      'Present and `true` when the response is that of an earlier call with the same ' +
      '`Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  'Retry-After': {
    description: 'Seconds to wait before the next attempt.',
    required: true,
    schema: { type: 'integer', format: 'int32', minimum: 0 },
    example: 17,
  },
  'Retry-After-If-Running': {
    description:
      'Seconds to wait before the next attempt. Only if the cause passes by itself, as a call ' +
      'with the same `Idempotency-Key` that is still running. Without it, the state does not ' +
      'allow the call, and repeating it is no use.',
    required: false,
    schema: { type: 'integer', format: 'int32', minimum: 0 },
    example: 1,
  },
  'WWW-Authenticate': {
    description: 'The authentication scheme that the service expects.',
    required: true,
    schema: { type: 'string', enum: ['Bearer'] },
    example: 'Bearer',
  },
  Deprecation: {
    description:
      'The time from which the operation should not be used any more: `@` and a Unix time ' +
      '(RFC 9745).',
    required: true,
    schema: { type: 'string', pattern: '^@-?\\d+$' },
    example: '@1798761600',
  },
  Sunset: {
    description: 'The time from which the operation may be gone (RFC 8594).',
    required: true,
    schema: { type: 'string' },
    example: 'Sat, 01 Jan 2028 00:00:00 GMT',
  },
  Link: {
    description: 'With `rel="deprecation"`: the page that says what to use instead.',
    required: true,
    schema: { type: 'string' },
    example: '<https://api.example.com/docs>; rel="deprecation"; type="text/html"',
  },
} as const satisfies Record<string, oas31.HeaderObject>;

type HeaderName = keyof typeof HEADERS;

const DEPRECATION: readonly HeaderName[] = ['Deprecation', 'Sunset', 'Link'];

/** An operation, and its end. */
export interface DescribedEndpoint extends Endpoint {
  readonly deprecated: Deprecation | null;
}

/** The headers to describe. Those of a deprecation only if one of the endpoints has it. */
export function describedHeaders(
  endpoints: readonly DescribedEndpoint[],
): Readonly<Record<string, oas31.HeaderObject>> {
  const used = new Set(endpoints.flatMap(namesOfDeprecation));
  const unused = new Set<string>(DEPRECATION.filter((name) => !used.has(name)));
  return Object.fromEntries(Object.entries(HEADERS).filter(([name]) => !unused.has(name)));
}

const ALWAYS: readonly HeaderName[] = [
  'X-Request-Id',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Content-Language',
  'Svc-Ignored-Parameters',
  'Svc-Mode',
];

/** Problems that idempotency never stores, so they are never replayed. */
const NEVER_REPLAYED: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  'bad_request',
  'unauthorized',
  'insufficient_scope',
  'api_disabled',
  'rate_limited',
  'internal',
  'unavailable',
]);

/** The request headers that the endpoint accepts. */
export function requestHeaders(endpoint: Endpoint): oas31.ReferenceObject[] {
  const names: (keyof typeof PARAMETERS)[] = ['AcceptLanguage'];
  if (endpoint.method === 'POST') names.push('IdempotencyKey');
  if (endpoint.method === 'GET') names.push('IfNoneMatch');
  if (endpoint.isConditional) names.push('IfMatch');
  return names.map((name) => refTo('parameters', name));
}

/** The headers of the endpoint's success response. */
export function successHeaders(endpoint: DescribedEndpoint): oas31.HeadersObject {
  const names = [...ALWAYS, ...namesOfDeprecation(endpoint)];
  if (hasTag(endpoint)) names.push('ETag');
  if (endpoint.location !== null) names.push('Location');
  if (endpoint.method === 'POST') names.push('Idempotency-Replayed');
  return toRefs(names);
}

/** Whether a success tells the tag of what it shows. */
function hasTag({ method, isConditional }: Endpoint): boolean {
  return method === 'GET' || (method === 'PATCH' && isConditional);
}

/** The headers of the endpoint's response with `status` and one of the problem codes. */
export function problemHeaders(
  endpoint: DescribedEndpoint,
  status: number,
  codes: readonly ProblemCode[],
): oas31.HeadersObject {
  const names = [...ALWAYS, ...namesOfDeprecation(endpoint)];
  if (status === 401) names.push('WWW-Authenticate');
  if (status === 429 || status === 503) names.push('Retry-After');
  if (endpoint.method === 'POST' && codes.some((code) => !NEVER_REPLAYED.has(code)))
    names.push('Idempotency-Replayed');
  const isRetried = endpoint.method === 'POST' && codes.includes('conflict');
  return {
    ...toRefs(names),
    ...(isRetried && { 'Retry-After': refTo('headers', 'Retry-After-If-Running') }),
  };
}

function namesOfDeprecation({ deprecated }: DescribedEndpoint): readonly HeaderName[] {
  return deprecated ? DEPRECATION : [];
}

function toRefs(names: readonly HeaderName[]): oas31.HeadersObject {
  return Object.fromEntries(names.map((name) => [name, refTo('headers', name)]));
}
