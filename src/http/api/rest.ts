import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  deprecationHeaders,
  deprecationOf,
  requireOperations,
  type Deprecation,
} from '../../core/deprecation.ts';
import { newRequestId } from '../../core/ids.ts';
import { ProblemError } from '../../core/problem.ts';
import type { Queries } from '../../db/client.ts';
import { ENDPOINTS, type Endpoint } from '../../routers/endpoints.ts';
import { authenticate } from './authenticate.ts';
import { describeRefusal, readCredential, type Credential } from './credential.ts';
import { DOCUMENT_PATH, type RestExchange, type RestOptions } from './exchange.ts';
import { createGatheredKeys, type GatheredKeys } from './gathered-keys.ts';
import { createKnownKeys, type KnownKey, type KnownKeys } from './known-keys.ts';
import { negotiateLanguage } from './language.ts';
import { operate, readAhead } from './operate.ts';
import { isTeamBusy } from './problem-response.ts';
import { createResource } from './resource.ts';
import { answerProblem, finish, sendDocument } from './respond.ts';
import { compileRoutes, type Match } from './routes.ts';
import type { Tenant } from './tenant.ts';

/**
 * Serves every request under `BASE_PATH`. ARCHITECTURE.md, "A request", lists the stages and what
 * each of them refuses.
 */
export function createRest(
  options: RestOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const nonce = randomBytes(16);
  const { db, limits, services, endpoints = ENDPOINTS } = options;
  const gathered = createGatheredKeys(db, { nonce, limits, clock: services.clock });
  const keys: Keys = { nonce, known: createKnownKeys(), gathered };
  const matchRoute = compileRoutes(endpoints);
  const headersOf = compileDeprecations(options, endpoints);
  const document = createResource('application/json', options.document);
  return async (request, response) => {
    const exchange = begin(options, { request, response, matchRoute });
    headersOf?.(exchange.match)?.forEach(([name, value]) => response.setHeader(name, value));
    try {
      const credential = readCredential(authorizationOf(exchange), keys.nonce);
      const known = keys.known.find(credential);
      if (known !== undefined) options.entrance.recognized(request);
      const isRead = request.method === 'GET';
      const together = known !== undefined && gathered.takes({ isRead });
      const ahead = readAhead(exchange, known?.tenant, together);
      const asking = ahead?.beside ?? db.forTeam(known?.facts.team_id ?? null);
      const by = { db: asking, credential, keys, known, together };
      const tenant = await admit(exchange, by).catch((error: unknown) => hold(exchange, error));
      if (tenant === null) await sendDocument(exchange, document);
      else await operate(exchange, tenant, ahead);
    } catch (error) {
      if (isTeamBusy(error)) await options.entrance.refused(request);
      answerProblem(exchange, error);
    }
    finish(exchange);
  };
}

interface Keys {
  /** Random bytes that only this process knows, for the blinded comparison. */
  readonly nonce: Buffer;
  readonly known: KnownKeys;
  readonly gathered: GatheredKeys;
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
    matchRoute,
  }: Pick<RestExchange, 'request' | 'response'> & { readonly matchRoute: MatchRoute },
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
    language,
    path,
    query,
    match,
    trace: options.tracing?.request(request.headers['traceparent'], startedAt) ?? null,
    authentication: null,
    problemText: null,
  };
}

/**
 * Checks the path, the method, the key, the tenant and the rate limits. Returns null for a request
 * of the OpenAPI document, which needs no key.
 */
async function admit(
  exchange: RestExchange,
  by: {
    readonly db: Queries;
    readonly credential: Credential;
    readonly keys: Keys;
    readonly known: KnownKey | undefined;
    /** The key is known, and is asked for with others. */
    readonly together: boolean;
  },
): Promise<Tenant | null> {
  const { options, request, match } = exchange;
  const { db, credential, keys, known, together } = by;
  exchange.authentication = await authenticate(db, {
    credential,
    nonce: keys.nonce,
    ip: options.ipOf(request),
    limits: options.limits,
    clock: options.services.clock,
    knownKeys: keys.known,
    gatheredKeys: keys.gathered,
    known,
    together,
  });
  exchange.trace?.step('http.authenticate', exchange.startedAt, null);
  options.entrance.known(request);
  const { tenant, counted, rate } = exchange.authentication;
  if (tenant) exchange.trace?.known();
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
  if (!tenant) {
    const detail = describeRefusal(request.headersDistinct['authorization']);
    throw new ProblemError('unauthorized', { detail });
  }
  return tenant;
}

/** Throws the refusal again when it may be sent. A fault of ours is told at once. */
async function hold({ options, request }: RestExchange, error: unknown): Promise<never> {
  if (error instanceof ProblemError && error.status < 500) await options.entrance.refused(request);
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
