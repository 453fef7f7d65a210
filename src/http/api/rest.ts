import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  deprecationHeaders,
  deprecationOf,
  requireOperations,
  type Deprecation,
} from '../../core/deprecation.ts';
import { newRequestId } from '../../core/ids.ts';
import { ProblemError } from '../../core/problem.ts';
import { ENDPOINTS, type Endpoint } from '../../routers/endpoints.ts';
import type { Authentication } from './authentication/authenticator.ts';
import { describeRefusal } from './authentication/credential.ts';
import { createFastAuthenticator } from './authentication/fast-authenticator.ts';
import type { Tenant } from './authentication/tenant.ts';
import { BASE_PATH, DOCUMENT_PATH, type RestExchange, type RestOptions } from './exchange.ts';
import { negotiateLanguage } from './language.ts';
import { beginRead, operate } from './operate.ts';
import { isTeamBusy } from './problem-response.ts';
import { limitOwnerOf, rateLimited } from './rate-limited.ts';
import { createResource } from './resource.ts';
import { answerProblem, finish, sendDocument } from './respond.ts';
import { compileRoutes, type Match } from './routes.ts';

/**
 * Serves every request under `BASE_PATH`. ARCHITECTURE.md, "A request", lists the stages and what
 * each of them refuses.
 */
export function createRest(
  options: RestOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { db, limits, services, endpoints = ENDPOINTS } = options;
  const { createAuthenticator = createFastAuthenticator } = options;
  const authenticator = createAuthenticator({ db, limits, clock: services.clock });
  const matchRoute = compileRoutes(endpoints);
  const headersOf = compileDeprecations(options, endpoints);
  const publicPath = new URL(options.publicUrl).pathname.replace(/\/+$/, '');
  const document = createResource('application/json', options.document);
  return async (request, response) => {
    const exchange = begin(options, { request, response, publicPath, matchRoute });
    try {
      headersOf?.(exchange.match)?.forEach(([name, value]) => response.setHeader(name, value));
      const address = options.addressOf(request);
      const authorization = authorizationOf(exchange);
      const { guess, result } = authenticator.authenticate({ authorization, address });
      if (guess) options.callerLimits.recognized(request);
      const speculative = guess && beginRead(exchange, guess);
      const tenant = await admit(exchange, result).catch((error: unknown) => hold(exchange, error));
      if (tenant === null) await sendDocument(exchange, document);
      else {
        const readAgain = () =>
          admitAgain(exchange, authenticator.readAgain(tenant, address)).catch((error: unknown) =>
            hold(exchange, error),
          );
        await operate(exchange, { tenant, speculative, readAgain });
      }
    } catch (error) {
      if (isTeamBusy(error)) await options.callerLimits.refused(request);
      answerProblem(exchange, error);
    }
    finish(exchange);
  };
}

type MatchRoute = ReturnType<typeof compileRoutes>;
type Headers = readonly (readonly [string, string])[];

/**
 * Builds the deprecation headers of all operations once. Returns null if nothing is deprecated, so
 * that a request needs no lookup.
 */
function compileDeprecations(
  { deprecations, publicUrl }: Pick<RestOptions, 'deprecations' | 'publicUrl'>,
  endpoints: readonly Endpoint[],
): ((match: Match) => Headers | undefined) | null {
  requireOperations(deprecations, endpoints);
  const { version } = deprecations;
  const toHeaders = (deprecation: Deprecation): Headers =>
    Object.entries(deprecationHeaders(deprecation, publicUrl));
  const ofEndpoint = new Map<Endpoint, Headers>();
  for (const endpoint of endpoints) {
    const deprecation = deprecationOf(deprecations, endpoint);
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
    publicPath,
    matchRoute,
  }: Pick<RestExchange, 'request' | 'response' | 'publicPath'> & {
    readonly matchRoute: MatchRoute;
  },
): RestExchange {
  const startedAt = performance.now();
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
    startedAt,
    publicPath,
    language,
    path,
    query,
    match,
    trace: options.tracing?.request(request.headers['traceparent'], startedAt) ?? null,
    authentication: null,
    ignored: [],
    problemText: null,
    limit: null,
  };
}

/** Case and trailing slashes count. */
const NO_SUCH_PATH =
  `There is no such path. Paths begin with ${BASE_PATH} and end without a slash; ` +
  'the reference at /docs lists them.';

/**
 * Checks the path, the method, the key, the tenant and the rate limits. Returns null for a request
 * of the OpenAPI document, which needs no key.
 */
async function admit(
  exchange: RestExchange,
  authenticating: Promise<Authentication>,
): Promise<Tenant | null> {
  const { options, request, match } = exchange;
  exchange.authentication = await authenticating;
  exchange.trace?.step('http.authenticate', exchange.startedAt, null);
  options.callerLimits.authenticated(request);
  const { tenant, counted, rate } = exchange.authentication;
  if (tenant) exchange.trace?.known();
  if (match.kind === 'route' && tenant && !tenant.enabled) throw new ProblemError('api_disabled');
  if (!counted) {
    const problem = rateLimited(rate, limitOwnerOf(rate, tenant, options.limits));
    if (problem.limit) options.observeRefusal(problem.limit, tenant?.team.id ?? null);
    throw problem;
  }
  if (match.kind === 'unknown') throw new ProblemError('not_found', { detail: NO_SUCH_PATH });
  if (match.kind === 'other_method') {
    if (exchange.path === DOCUMENT_PATH && (request.method === 'GET' || request.method === 'HEAD'))
      return null;
    exchange.response.setHeader('Allow', match.allow.join(', '));
    throw new ProblemError('bad_request', {
      status: 405,
      detail: `This path has ${match.allow.join(', ')}.`,
    });
  }
  if (!tenant) throw withoutKey(request);
  return tenant;
}

/** Checks the key and the tenant of an admitted request as they are now. */
async function admitAgain(
  { request }: RestExchange,
  reading: Promise<Tenant | null>,
): Promise<Tenant> {
  const tenant = await reading;
  if (!tenant) throw withoutKey(request);
  if (!tenant.enabled) throw new ProblemError('api_disabled');
  return tenant;
}

function withoutKey({ headersDistinct }: IncomingMessage): ProblemError {
  return new ProblemError('unauthorized', {
    detail: describeRefusal(headersDistinct['authorization']),
  });
}

/** Throws a refusal again when it may be sent. A fault of ours is thrown at once. */
async function hold({ options, request }: RestExchange, error: unknown): Promise<never> {
  const isRefusal = error instanceof ProblemError && error.status < 500;
  if (isRefusal) await options.callerLimits.refused(request);
  throw error;
}

/** Removes the scheme and the host from a request target. Clients send them to proxies. */
function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '');
}

/**
 * The header `Authorization`. With two of them the request counts as having no key: a proxy might
 * have checked the other one. The document wants no key: only the caller's address is counted.
 */
function authorizationOf({ request, path }: RestExchange): string | null {
  if (path === DOCUMENT_PATH) return null;
  const { authorization = [] } = request.headersDistinct;
  return authorization.length === 1 ? (authorization[0] ?? null) : null;
}
