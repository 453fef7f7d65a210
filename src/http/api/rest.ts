import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Language } from '../../core/language.ts';
import {
  deprecationHeaders,
  effectiveDeprecation,
  V1_DEPRECATION,
  type Deprecation,
} from '../../core/deprecation.ts';
import { newRequestId } from '../../core/ids.ts';
import { ProblemError } from '../../core/problem.ts';
import type { Db } from '../../db/client.ts';
import { ENDPOINTS, type Endpoint } from '../../routers/endpoints.ts';
import type { Context, Services } from '../../trpc/context.ts';
import { runCall, type OperationCall } from '../../trpc/operation.ts';
import { authenticate, type Authentication, type RateLimits, type Tenant } from './authenticate.ts';
import {
  fingerprintOf,
  runOnce,
  type IdempotentOutcome,
  type KeptResponse,
} from './idempotency.ts';
import { negotiateLanguage } from './language.ts';
import { problemBody, toProblem } from './problem-response.ts';
import { readInput } from './request-input.ts';
import { compileRoutes, type CompiledRoute, type Match } from './routes.ts';

/** The path that the REST API is mounted at. */
export const BASE_PATH = '/api/public/v1';

export interface RestOptions {
  readonly db: Db;
  readonly services: Services;
  readonly limits: RateLimits;
  readonly publicUrl: string;
  readonly logger: Logger;
  /** The OpenAPI document. It is served without a key. */
  readonly document: string;
  /** Returns the caller's address, which depends on the trusted proxies. */
  readonly ipOf: (request: IncomingMessage) => string | null;
  readonly observe: (route: string, status: number, seconds: number) => void;
  /** Called for each request with a valid key. It must be fast and synchronous. */
  readonly countUse?: (teamId: string, keyId: string, status: number) => void;
  /** {@link V1} by default. */
  readonly version?: Version;
}

/** A version of the API. */
export interface Version {
  readonly endpoints: readonly Endpoint[];
  /** null: the end of the version has not been announced. */
  readonly deprecated: Deprecation | null;
}

export const V1: Version = { endpoints: ENDPOINTS, deprecated: V1_DEPRECATION };

/** A REST request with its response and what the pipeline knows about it so far. */
interface RestExchange {
  readonly options: RestOptions;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly language: Language;
  readonly path: string;
  readonly query: string;
  readonly match: Match;
  /** null before the key is looked up, and if the database could not be reached. */
  authentication: Authentication | null;
}

const DOCUMENT_PATH = '/openapi.v1.json';
const IDEMPOTENCY_KEY_MAX_LENGTH = 100;

/**
 * Serves every request under `BASE_PATH`. The stages and what each refuses with are listed in
 * ARCHITECTURE.md, "A request, stage by stage".
 */
export function createRest(
  options: RestOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const nonce = randomBytes(16);
  const { endpoints, deprecated } = options.version ?? V1;
  const matchRoute = compileRoutes(endpoints);
  const headersOf = compileDeprecations(endpoints, deprecated);
  return async (request, response) => {
    const startedAt = performance.now();
    const exchange = begin(options, { request, response, matchRoute });
    headersOf?.(exchange.match)?.forEach(([name, value]) => response.setHeader(name, value));
    try {
      const tenant = await admit(exchange, nonce);
      await operate(exchange, tenant);
    } catch (error) {
      answerProblem(exchange, error);
    }
    finish(exchange, startedAt);
  };
}

type MatchRoute = ReturnType<typeof compileRoutes>;
type Headers = readonly (readonly [string, string])[];

/**
 * Builds the deprecation headers of all operations once. Returns null if nothing is deprecated, so
 * that a request needs no lookup.
 */
function compileDeprecations(
  endpoints: readonly Endpoint[],
  version: Deprecation | null,
): ((match: Match) => Headers | undefined) | null {
  const toHeaders = (deprecation: Deprecation): Headers =>
    Object.entries(deprecationHeaders(deprecation));
  const ofEndpoint = new Map<Endpoint, Headers>();
  for (const endpoint of endpoints) {
    const deprecation = effectiveDeprecation(endpoint.deprecated, version);
    if (deprecation) ofEndpoint.set(endpoint, toHeaders(deprecation));
  }
  if (ofEndpoint.size === 0 && version === null) return null;
  const ofVersion = version ? toHeaders(version) : undefined;
  return (match) => (match.kind === 'route' ? ofEndpoint.get(match.route.endpoint) : ofVersion);
}

function begin(
  options: RestOptions,
  {
    request,
    response,
    matchRoute,
  }: Pick<RestExchange, 'request' | 'response'> & { readonly matchRoute: MatchRoute },
): RestExchange {
  const url = originForm(request.url ?? '/');
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? '' : url.slice(mark + 1);
  const method = request.method ?? '';
  const match: Match =
    path === DOCUMENT_PATH
      ? { kind: 'other_method', allow: ['GET', 'HEAD'] }
      : matchRoute(method, path);
  const language = negotiateLanguage(request.headers['accept-language']);
  return {
    options,
    request,
    response,
    requestId: newRequestId(),
    language,
    path,
    query,
    match,
    authentication: null,
  };
}

/**
 * Checks the path, the method, the key, the tenant and the rate limits. Returns null for a request
 * of the OpenAPI document, which needs no key.
 */
async function admit(exchange: RestExchange, nonce: Buffer): Promise<Tenant | null> {
  const { options, request, match } = exchange;
  const authorization = match.kind === 'route' ? authorizationOf(request) : null;
  exchange.authentication = await authenticate(options.db, {
    authorization,
    ip: options.ipOf(request),
    limits: options.limits,
    clock: options.services.clock,
    nonce,
  });
  const { tenant, counted, rate } = exchange.authentication;
  if (match.kind === 'route' && tenant && !tenant.enabled) throw new ProblemError('api_disabled');
  if (!counted) throw new ProblemError('rate_limited', { retry_after: rate.resetS });
  if (match.kind === 'unknown') throw new ProblemError('not_found');
  if (match.kind === 'other_method') {
    if (exchange.path === DOCUMENT_PATH && (request.method === 'GET' || request.method === 'HEAD'))
      return null;
    exchange.response.setHeader('Allow', match.allow.join(', '));
    throw new ProblemError('bad_request', {
      status: 405,
      detail: `This path has ${match.allow.join(', ')}.`,
    });
  }
  if (!tenant) throw new ProblemError('unauthorized');
  return tenant;
}

/** Removes the scheme and the host from a request target. Clients send them to proxies. */
function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '');
}

/**
 * With two headers the request counts as having no key: a proxy might have checked the other one.
 */
function authorizationOf(request: IncomingMessage): string | null {
  const { authorization = [] } = request.headersDistinct;
  return authorization.length === 1 ? (authorization[0] ?? null) : null;
}

async function operate(exchange: RestExchange, tenant: Tenant | null): Promise<void> {
  const { match, options } = exchange;
  if (tenant === null || match.kind !== 'route') {
    send(exchange, 200, 'application/json', options.document);
    return;
  }
  const { route } = match;
  const { operation } = route.endpoint;
  const ctx: Context = {
    requestId: exchange.requestId,
    actor: tenant.actor,
    team: tenant.team,
    privacy: tenant.privacy,
    language: exchange.language,
    db: options.db,
    services: options.services,
    describeError: noDescription,
  };
  operation.guard(ctx);
  const rawInput = await readInput(exchange.request, route, match.rawParameters, exchange.query);
  const call = operation.parse(ctx, rawInput);
  const key = route.endpoint.method === 'POST' ? findIdempotencyKey(exchange.request) : null;
  if (key === null) {
    answer(exchange, toResponse(route, await runCall(call, options.db)));
    return;
  }
  const fingerprint = fingerprintOf('POST', exchange.path, rawInput);
  const { response, replayed } = await performOnce(exchange, {
    tenant,
    route,
    call,
    key,
    fingerprint,
  });
  if (replayed) exchange.response.setHeader('Idempotency-Replayed', 'true');
  answer(exchange, response);
}

interface KeyedCall {
  readonly tenant: Tenant;
  readonly route: CompiledRoute;
  readonly call: OperationCall;
  readonly key: string;
  readonly fingerprint: Buffer;
}

function performOnce(
  exchange: RestExchange,
  { tenant, route, call, key, fingerprint }: KeyedCall,
): Promise<IdempotentOutcome> {
  const { db, services } = exchange.options;
  return runOnce(
    {
      db,
      clock: services.clock,
      secrets: services.secrets,
      teamId: tenant.team.id,
      key,
      fingerprint,
      secret: route.endpoint.secret,
    },
    {
      prepare: call.prepare,
      perform: async (tx, prepared) => toResponse(route, await call.perform(tx, prepared)),
      refuse: (problem) => problemToResponse(exchange, problem),
    },
  );
}

/**
 * The `Idempotency-Key`, or null without one. Throws `validation_error` for a bad length and for
 * two keys.
 */
function findIdempotencyKey(request: IncomingMessage): string | null {
  const keys = request.headersDistinct['idempotency-key'];
  if (keys === undefined) return null;
  const [key = ''] = keys;
  if (keys.length === 1 && key.length >= 1 && key.length <= IDEMPOTENCY_KEY_MAX_LENGTH) return key;
  const max = IDEMPOTENCY_KEY_MAX_LENGTH;
  const message = `There may be one Idempotency-Key, of 1 to ${max} characters.`;
  throw new ProblemError('validation_error', {
    errors: [{ path: 'header.Idempotency-Key', message, code: 'invalid_length' }],
  });
}

function toResponse(route: CompiledRoute, output: unknown): KeptResponse {
  const { successStatus, location } = route.endpoint;
  const created =
    location === null
      ? null
      : BASE_PATH + location.replace('{id}', encodeURIComponent((output as { id: string }).id));
  return { status: successStatus, body: JSON.stringify(output), location: created };
}

function problemToResponse(exchange: RestExchange, problem: ProblemError): KeptResponse {
  const { publicUrl } = exchange.options;
  const body = problemBody(problem, {
    publicUrl,
    language: exchange.language,
    requestId: exchange.requestId,
  });
  return { status: problem.status, body: JSON.stringify(body), location: null };
}

function answer(exchange: RestExchange, { status, body, location }: KeptResponse): void {
  if (location !== null) exchange.response.setHeader('Location', location);
  send(exchange, status, status < 400 ? 'application/json' : 'application/problem+json', body);
}

function answerProblem(exchange: RestExchange, error: unknown): void {
  const { match, response, options, requestId } = exchange;
  const problem = toProblem(error, match.kind === 'route' ? match.route.endpoint : null);
  if (problem.status >= 500) options.logger.error({ err: error, requestId }, problem.code);
  if (problem.code === 'rate_limited')
    response.setHeader('Retry-After', String(problem.fields['retry_after']));
  if (problem.code === 'unauthorized') response.setHeader('WWW-Authenticate', 'Bearer');
  // The rest of the body is not read, so the connection cannot be reused.
  if (!exchange.request.complete && problem.status !== 401)
    response.setHeader('Connection', 'close');
  answer(exchange, problemToResponse(exchange, problem));
}

/** Writes the status, the headers that every response has, and the body. */
function send(exchange: RestExchange, status: number, contentType: string, body: string): void {
  const { response, request, options } = exchange;
  const rate = exchange.authentication?.rate ?? unknownRate(options);
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    'Content-Language': exchange.language,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': exchange.requestId,
    'RateLimit-Limit': rate.limit,
    'RateLimit-Remaining': rate.remaining,
    'RateLimit-Reset': rate.resetS,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

/** The rate headers when the database could not be reached, so nothing was counted. */
function unknownRate({ limits, services }: RestOptions): Authentication['rate'] {
  return {
    limit: limits.keyPerMinute,
    remaining: limits.keyPerMinute,
    resetS: 60 - services.clock.now().getUTCSeconds(),
  };
}

/** Logs one line per request. It never contains a key, an email or a body. */
function finish(exchange: RestExchange, startedAt: number): void {
  const { options, match, request, response, requestId, authentication } = exchange;
  const ms = performance.now() - startedAt;
  const route =
    match.kind === 'route'
      ? match.route.endpoint.path
      : exchange.path === DOCUMENT_PATH
        ? DOCUMENT_PATH
        : match.kind;
  const { statusCode: status } = response;
  options.observe(`${request.method} ${route}`, status, ms / 1000);
  const team = authentication?.tenant?.team.id;
  const key = authentication?.tenant?.actor.id;
  if (team !== undefined && key !== undefined) options.countUse?.(team, key, status);
  options.logger.info(
    { requestId, method: request.method, route, status, ms: Math.round(ms * 10) / 10, team, key },
    'request',
  );
}

/** Only tRPC uses `describeError`. The REST pipeline responds to errors itself. */
function noDescription(): null {
  return null;
}
