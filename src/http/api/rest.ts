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
import type { Db } from '../../db/client.ts';
import { ENDPOINTS, type Endpoint } from '../../routers/endpoints.ts';
import type { Context } from '../../trpc/context.ts';
import { runCall, type OperationCall } from '../../trpc/operation.ts';
import { authenticate, describeRefusal, type Tenant } from './authenticate.ts';
import { DOCUMENT_PATH, type RestExchange, type RestOptions } from './exchange.ts';
import { fingerprintOf, runOnce, type ApiResponse, type IdempotentOutcome } from './idempotency.ts';
import { hangUpOf } from './hang-up.ts';
import { negotiateLanguage } from './language.ts';
import { readInput } from './request-input.ts';
import { answer, answerProblem, finish, problemToResponse, send } from './respond.ts';
import { compileRoutes, type CompiledRoute, type Match } from './routes.ts';

/** The path that the REST API is mounted at. */
export const BASE_PATH = '/api/public/v1';

const IDEMPOTENCY_KEY_MAX_LENGTH = 100;

/**
 * Serves every request under `BASE_PATH`. ARCHITECTURE.md, "A request", lists the stages and what
 * each of them refuses.
 */
export function createRest(
  options: RestOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const nonce = randomBytes(16);
  const { endpoints = ENDPOINTS } = options;
  const matchRoute = compileRoutes(endpoints);
  const headersOf = compileDeprecations(options, endpoints);
  return async (request, response) => {
    const startedAt = performance.now();
    const exchange = begin(options, { request, response, matchRoute });
    headersOf?.(exchange.match)?.forEach(([name, value]) => response.setHeader(name, value));
    try {
      const tenant = await admit(exchange, nonce).catch((error: unknown) => hold(exchange, error));
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
    problemText: null,
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
  options.entrance.known(request);
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
  const db = options.db.forCaller({
    share: tenant.team.id,
    signal: hangUpOf(exchange.response),
  });
  const ctx: Context = {
    requestId: exchange.requestId,
    actor: tenant.actor,
    team: tenant.team,
    privacy: tenant.privacy,
    language: exchange.language,
    db,
    services: options.services,
    describeError: noDescription,
  };
  operation.guard(ctx);
  const key = route.endpoint.method === 'POST' ? findIdempotencyKey(exchange.request) : null;
  const readBody = () => options.bodies.readJson(exchange.request, tenant.team.id);
  const rawInput = await readInput(readBody, route, match.rawParameters, exchange.query);
  const call = operation.parse(ctx, rawInput);
  if (key === null) {
    answer(exchange, toResponse(route, await runCall(call, db)));
    return;
  }
  const fingerprint = fingerprintOf('POST', exchange.path, rawInput);
  const { response, replayed } = await performOnce(exchange, {
    db,
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
  readonly db: Db;
  readonly tenant: Tenant;
  readonly route: CompiledRoute;
  readonly call: OperationCall;
  readonly key: string;
  readonly fingerprint: Buffer;
}

function performOnce(
  exchange: RestExchange,
  { db, tenant, route, call, key, fingerprint }: KeyedCall,
): Promise<IdempotentOutcome> {
  const { services } = exchange.options;
  return runOnce(
    {
      db,
      clock: services.clock,
      secrets: services.secrets,
      teamId: tenant.team.id,
      key,
      fingerprint,
      keyId: tenant.actor.id,
      privacy: tenant.privacy,
    },
    {
      prepare: call.prepare,
      perform: async (tx, prepared) => {
        const output = await call.perform(tx, prepared);
        return { ...toResponse(route, output), withheld: call.withhold(output) };
      },
      refuse: (problem) => ({ ...problemToResponse(exchange, problem), withheld: null }),
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
  const detail = `There may be one Idempotency-Key, of 1 to ${max} characters.`;
  const error = { path: 'header.Idempotency-Key', message: detail, code: 'invalid_length' };
  throw new ProblemError('validation_error', { errors: [error], field: 'Idempotency-Key', detail });
}

function toResponse(route: CompiledRoute, output: unknown): ApiResponse {
  const { successStatus, location } = route.endpoint;
  const created =
    location === null
      ? null
      : BASE_PATH + location.replace('{id}', encodeURIComponent((output as { id: string }).id));
  return { status: successStatus, body: JSON.stringify(output), location: created };
}

/** Only tRPC uses `describeError`. The REST pipeline responds to errors itself. */
function noDescription(): null {
  return null;
}
