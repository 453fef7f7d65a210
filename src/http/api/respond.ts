/** How the REST pipeline responds, and what it records about a request. */
import type { OutgoingHttpHeaders } from 'node:http';
import Negotiator from 'negotiator';
import type { AnsweredCall } from '../../core/answered-call.ts';
import type { Language } from '../../core/language.ts';
import { networkForLog } from '../../core/network.ts';
import type { ProblemError } from '../../core/problem.ts';
import { isSandbox, modeOf } from '../../core/sandbox.ts';
import { readKey } from './authentication/credential.ts';
import type { RateState } from './authentication/rate-limits.ts';
import { isBodySmall } from './request-body.ts';
import { DOCUMENT_PATH, type RestExchange, type RestOptions } from './exchange.ts';
import { chooseEncoding, type ContentEncoding } from './compress.ts';
import { etagHeader, isKnown, tagOf } from './etag.ts';
import type { ApiResponse } from './idempotency.ts';
import { CALLER_HUNG_UP, hasHungUp } from './hang-up.ts';
import { ENCODINGS, etagOf, type Resource } from './resource.ts';
import { isOurFault, problemBody, retryAfterOf, toProblem } from './problem-response.ts';
import type { CompiledRoute } from './routes.ts';
import type { Endpoint } from '../../routers/endpoints.ts';

/** Makes the response for a problem. */
export function problemToResponse(exchange: RestExchange, problem: ProblemError): ApiResponse {
  const { options, language, requestId } = exchange;
  const { publicUrl } = options;
  const route = endpointOf(exchange);
  const body = problemBody(problem, { publicUrl, language, requestId, route });
  return { status: problem.status, body: JSON.stringify(body), location: null };
}

/**
 * Sends the response. `language`: that of its titles, if they are not in the language of the
 * request.
 */
export function answer(
  exchange: RestExchange,
  { status, body, location }: ApiResponse,
  language: Language = exchange.language,
): void {
  // Here, so that the records of idempotency do not depend on the public URL.
  if (location !== null) exchange.response.setHeader('Location', exchange.publicPath + location);
  // Kept as text, because few problems are logged, and a replayed refusal is only text.
  if (status >= 400) exchange.problemText = body;
  send(exchange, status, status < 400 ? 'application/json' : 'application/problem+json', {
    body,
    headers: { 'Content-Language': language },
  });
}

/**
 * A character that takes two bytes in memory, as a dash or the euro sign does. Umlauts take one. V8
 * looks through no text that has none.
 */
const WIDE = /[\u0100-\uffff]/;

/**
 * Answers a read: with 304 and no body to a caller who has the representation, compressed to one
 * who accepts that and where it pays. The request was counted all the same.
 */
export async function answerRead(
  exchange: RestExchange,
  { isCompressible }: CompiledRoute,
  { status, body }: ApiResponse,
): Promise<void> {
  const { request, options } = exchange;
  // Such a text becomes bytes slowly: once for the tag, the length, the compression and the socket.
  const content = WIDE.test(body) ? Buffer.from(body) : body;
  const tag = tagOf(content);
  const wanted = isCompressible
    ? chooseEncoding(request.headers['accept-encoding'], body.length)
    : null;
  // Not by `setHeader`: Node writes headers faster that it gets all at once.
  const headersFor = (encoding: ContentEncoding | null) => ({
    ETag: etagHeader(tag, encoding),
    ...(isCompressible && { Vary: 'Accept-Encoding' }),
  });
  if (isKnown(request.headers['if-none-match'], tag)) {
    sendNothing(exchange, headersFor(wanted));
    return;
  }
  const compressed = wanted && (await options.compress(toBytes(content), wanted));
  if (compressed === null || wanted === null) {
    send(exchange, status, 'application/json', { body: content, headers: headersFor(null) });
    return;
  }
  const headers = { ...headersFor(wanted), 'Content-Encoding': wanted };
  send(exchange, status, 'application/json', { body: compressed, headers });
}

function toBytes(content: string | Buffer): Buffer {
  return typeof content === 'string' ? Buffer.from(content) : content;
}

/**
 * Sends the problem that the error becomes, and logs it if the fault is ours. A caller who has hung
 * up gets nothing.
 */
export function answerProblem(exchange: RestExchange, error: unknown): void {
  const { response, options, requestId } = exchange;
  if (hasHungUp(response)) {
    response.statusCode = CALLER_HUNG_UP;
    return;
  }
  const problem = toProblem(error, endpointOf(exchange));
  exchange.limit = problem.limit;
  if (isOurFault(error, problem))
    options.logger.error({ err: error, request_id: requestId }, problem.code);
  const retryAfterS = retryAfterOf(problem);
  if (retryAfterS !== null) response.setHeader('Retry-After', String(retryAfterS));
  if (problem.code === 'unauthorized') response.setHeader('WWW-Authenticate', 'Bearer');
  // The rest of the body is not read, so the connection cannot be reused. Only the small body of a
  // client that forgot its key is skipped.
  const skips = problem.status === 401 && isBodySmall(exchange.request);
  if (!exchange.request.complete && !skips) response.setHeader('Connection', 'close');
  answer(exchange, problemToResponse(exchange, problem));
}

/** Writes the status, the headers that every response has, and the body. */
function send(
  exchange: RestExchange,
  status: number,
  contentType: string,
  { body, headers }: { readonly body: string | Buffer; readonly headers?: OutgoingHttpHeaders },
): void {
  const { response, request } = exchange;
  const length = Buffer.byteLength(body);
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': length,
    'Content-Language': exchange.language,
    'Cache-Control': 'no-store',
    ...headers,
    ...commonHeaders(exchange),
  });
  // ASCII is the same in both encodings, and Latin-1 is copied without checking each character.
  const encoding = length === body.length ? 'latin1' : 'utf8';
  response.end(request.method === 'HEAD' ? undefined : body, encoding);
}

/** Sends 304 with the headers of the response that it stands for. */
function sendNothing(exchange: RestExchange, headers: OutgoingHttpHeaders): void {
  const { response, language } = exchange;
  response
    .writeHead(304, {
      'Content-Language': language,
      'Cache-Control': 'no-store',
      ...headers,
      ...commonHeaders(exchange),
    })
    .end();
}

/**
 * Sends the OpenAPI document, or 304 to a caller who has it. Unlike other responses it is the same
 * for everybody, so it may be kept if it is checked each time: it changes with a release.
 */
export async function sendDocument(exchange: RestExchange, document: Resource): Promise<void> {
  const { response, request } = exchange;
  const { headers, method } = request;
  const caching = {
    'Cache-Control': 'public, no-cache',
    ETag: etagOf(document),
    Vary: 'Accept-Encoding',
    ...commonHeaders(exchange),
  };
  if (isKnown(headers['if-none-match'], document.version)) {
    response.writeHead(304, caching).end();
    return;
  }
  const accepted = new Negotiator(request).encoding([...ENCODINGS]);
  const encoding = ENCODINGS.find((one) => one === accepted) ?? 'identity';
  const body = await document.bodyAs(encoding);
  response.writeHead(200, {
    'Content-Type': document.type,
    'Content-Length': body.length,
    // The document is in English.
    'Content-Language': 'en',
    ...(encoding === 'identity' ? {} : { 'Content-Encoding': encoding }),
    ...caching,
  });
  response.end(method === 'HEAD' ? undefined : body);
}

function commonHeaders(exchange: RestExchange): Record<string, string | number> {
  const { rate = unknownRate(exchange.options), tenant } = exchange.authentication ?? {};
  return {
    ...(tenant && isSandbox(tenant.team.id) && { 'Svc-Mode': 'test' }),
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': exchange.requestId,
    'RateLimit-Limit': rate.limit,
    'RateLimit-Remaining': rate.remaining,
    'RateLimit-Reset': rate.resetS,
  };
}

/** The rate headers when the database could not be reached, so nothing was counted. */
function unknownRate({ limits, services }: RestOptions): RateState {
  return {
    limit: limits.keyPerMinute,
    remaining: limits.keyPerMinute,
    resetS: 60 - services.clock.now().getUTCSeconds(),
  };
}

/**
 * Measures and logs the request after its response. The one log line never contains a secret, an
 * email or a body.
 */
export function finish(exchange: RestExchange): void {
  const { options, request, response, requestId, authentication, problemText } = exchange;
  const ms = performance.now() - exchange.startedAt;
  const route = routeOf(exchange);
  const { statusCode: status } = response;
  const problem =
    problemText === null ? null : (JSON.parse(problemText) as AnsweredCall['problem']);
  const team = authentication?.tenant?.team.id;
  const mode = team === undefined ? undefined : modeOf(team);
  const { limit } = exchange;
  options.observe(`${request.method} ${route}`, { status, limit }, ms / 1000, mode ?? 'live');
  const key = authentication?.tenant?.actor.id;
  const { ip } = options.addressOf(request);
  if (team !== undefined && key !== undefined) {
    options.countUse?.(team, key, status, authentication?.used ?? 0);
    options.logRequest?.({
      requestId,
      teamId: team,
      keyId: key,
      method: request.method ?? '',
      route,
      status,
      durationMs: ms,
      ip,
      problem,
      limit: exchange.limit,
      declared: declaredNames(endpointOf(exchange)),
      ignored: exchange.ignored,
    });
  }
  options.logger.info(
    {
      request_id: requestId,
      method: request.method,
      route,
      status,
      ms: Math.round(ms * 10) / 10,
      team,
      mode,
      key,
      ...strangerOf(exchange),
      code: problem?.code,
      limit: exchange.limit ?? undefined,
      network: networkForLog(ip),
      trace: endTrace(exchange, problem?.code ?? null) ?? undefined,
    },
    'request',
  );
}

/** What the log says of a request without a valid key. The response has none of it. */
function strangerOf({ authentication, path, request }: RestExchange): object | null {
  if (!authentication || authentication.tenant || path === DOCUMENT_PATH) return null;
  const { fault, keyPrefix } = readKey(request.headersDistinct['authorization']);
  return { key_prefix: keyPrefix ?? undefined, refusal: fault ?? authentication.keyFault };
}

/** Returns the id of the trace. null: the request was not traced. */
function endTrace(exchange: RestExchange, code: string | null): string | null {
  const { request, response, requestId, authentication, trace } = exchange;
  if (trace === null) return null;
  return trace.end({
    route: routeOf(exchange),
    method: request.method ?? '',
    status: response.statusCode,
    requestId,
    code,
    teamId: authentication?.tenant?.team.id ?? null,
  });
}

const NO_NAMES: ReadonlySet<string> = new Set();
const namesOf = new WeakMap<Endpoint, ReadonlySet<string>>();

function declaredNames(endpoint: Endpoint | null): ReadonlySet<string> {
  if (endpoint === null) return NO_NAMES;
  const known = namesOf.get(endpoint);
  if (known) return known;
  const names = new Set(Object.keys(endpoint.input.shape));
  namesOf.set(endpoint, names);
  return names;
}

function endpointOf({ match }: RestExchange): Endpoint | null {
  return match.kind === 'route' ? match.route.endpoint : null;
}

/** The route template, which has no ids. */
function routeOf({ match, path }: RestExchange): string {
  if (match.kind === 'route') return match.route.endpoint.path;
  return path === DOCUMENT_PATH ? DOCUMENT_PATH : match.kind;
}
