/**
 * The tRPC API at `/trpc`: the same procedures for the team's admins and for the services of the
 * host application.
 *
 * A token of the host application comes as a bearer token or, for the admin page, in the cookie of
 * a session. Every request is admitted and counted before its body is read, so that a stranger
 * costs no more here than in the REST API.
 */
import { getTRPCErrorFromUnknown, getTRPCErrorShape } from '@trpc/server';
import { resolveResponse } from '@trpc/server/http';
import compression from 'compression';
import { Router, type Request, type Response } from 'express';
import { ProblemError } from '../../core/problem.ts';
import { appRouter } from '../../routers/routers.ts';
import type { CallerContext } from '../../trpc/context.ts';
import type { EarlyError } from '../../trpc/init.ts';
import { areOutdated } from '../api/facts-age.ts';
import { hangUpOf, hasHungUp } from '../api/hang-up.ts';
import { isOurFault, isTeamBusy, toProblem } from '../api/problem-response.ts';
import { requireJson } from '../api/request-body.ts';
import { securityHeaders } from '../api/security-headers.ts';
import {
  admit,
  beginExchange,
  beginRefusal,
  describeProblem,
  enterMode,
  holdBackBusy,
  present,
  setProblemHeaders,
  type AppExchange,
  type TrpcOptions,
} from './admission.ts';
import { finishCalls } from './calls-log.ts';
import { readCalls, type Calls } from './calls.ts';
import { addLinkRoute } from './link.ts';
import { onceOf } from './once.ts';
import { addSessionRoutes, tokenOf } from './session.ts';
import { createVerifier } from './verify.ts';

export type { TrpcOptions } from './admission.ts';

/** What the host application does for no team, such as the catalog, has a share like a team's. */
const NO_TEAM = '';
const METHODS = ['GET', 'HEAD', 'POST'];
/** What tRPC reads of a caller's headers. */
const HEADERS = ['content-type', 'accept', 'trpc-accept'];

/** `hostOrigins`: the origins of the host application, whose links open a session. */
export function trpcRouter(options: TrpcOptions, hostOrigins: readonly string[]): Router {
  const router = Router({ caseSensitive: true });
  const verify = createVerifier(options);
  router.use(['/trpc', '/trpc-session'], securityHeaders());
  router.use('/trpc', compression({ filter: isReading }));
  addSessionRoutes(router, { options, verify });
  addLinkRoute(router, { options, verify }, hostOrigins);
  router.use('/trpc', async (request, response) => {
    const { traceparent } = request.headers;
    const trace = options.tracing?.request(traceparent, performance.now()) ?? null;
    const exchange = beginExchange({ options, verify, request, response }, trace);
    await serveCalls(exchange);
    finishCalls(exchange);
  });
  return router;
}

/** Secrets are shown by changes only: their length says nothing about texts that somebody chose. */
function isReading(request: Request, response: Response): boolean {
  return request.method === 'GET' && compression.filter(request, response);
}

async function serveCalls(exchange: AppExchange): Promise<void> {
  const { options, request, response, requestId, language } = exchange;
  const { services } = options;
  const signal = hangUpOf(response);
  const dbFor: CallerContext['dbFor'] = (teamId) =>
    options.db.forCaller({ share: teamId ?? NO_TEAM, signal, trace: exchange.trace });
  const describeError = (error: unknown) => describeProblem(exchange, toProblem(error, null));
  const shared = { requestId, language, dbFor, services, describeError };
  try {
    requireMethod(exchange);
    const calls = readCalls(request.url);
    exchange.told.calls = calls.names;
    const once = onceOf(request, calls.names.length, services);
    const token = await present(exchange, tokenOf(options, request), 'app');
    const find = async (counted: number) =>
      enterMode(exchange, await admit(exchange, token, counted), dbFor);
    let caller = await find(calls.names.length);
    exchange.told.teamId = caller.team?.id ?? null;
    const owner = caller.team?.id ?? `service ${caller.actor.id}`;
    const foundAtMs = services.clock.monotonicMs();
    const body = request.method === 'POST' ? await readBody(exchange, owner) : null;
    if (areOutdated(foundAtMs, services.clock)) caller = await find(0);
    const answer = await perform(exchange, { calls, body, signal }, { ...shared, once, ...caller });
    const text = await answer.text();
    const busy = exchange.told.failures.filter(({ problem }) => isTeamBusy(problem)).length;
    if (busy > 0) await holdBackBusy(exchange, busy);
    response.status(answer.status).setHeaders(answer.headers).end(text);
  } catch (error) {
    await beginRefusal(exchange, error);
    const shape = getTRPCErrorShape({
      config: appRouter._def._config,
      error: getTRPCErrorFromUnknown(error),
      ctx: { ...shared, once: null, actor: null, team: null, privacy: null, enabled: false },
      type: 'unknown',
      path: undefined,
      input: undefined,
    });
    response.type('application/json').send(JSON.stringify({ error: shape }));
  }
}

function requireMethod({ request, response }: AppExchange): void {
  if (METHODS.includes(request.method)) return;
  response.setHeader('Allow', METHODS.join(', '));
  throw new ProblemError('bad_request', { status: 405 });
}

/** tRPC reads an empty body as one that is no JSON. */
async function readBody({ options, request }: AppExchange, owner: string): Promise<string> {
  const text = await options.bodies.readText(request, owner);
  // tRPC refuses another type of its own accord, where it has no context to describe errors with.
  requireJson(request);
  return text ?? '';
}

interface Asked {
  readonly calls: Calls;
  /** null: the method has none. */
  readonly body: string | null;
  readonly signal: AbortSignal;
}

/**
 * Resolves with tRPC's answer. Nothing is tRPC's to read or to write, so all that fails is thrown
 * here: in its own server for Node, an error may end the process, and a caller who hangs up leaves
 * a promise that never ends.
 */
function perform(
  exchange: AppExchange,
  { calls, body, signal }: Asked,
  context: CallerContext,
): Promise<globalThis.Response> {
  const { options, request, response, requestId, told } = exchange;
  const headers = new Headers();
  for (const name of HEADERS)
    if (request.headers[name] !== undefined) headers.set(name, String(request.headers[name]));
  return resolveResponse({
    router: appRouter,
    // Neither the caller's address nor its Host: not every one makes a URL.
    req: new globalThis.Request(`http://localhost${calls.url}`, {
      method: request.method,
      headers,
      body,
      signal,
    }),
    path: calls.path,
    error: null,
    maxBatchSize: calls.names.length,
    createContext: async () => context,
    onError: ({ error, path: procedure, ctx }) => {
      if (!ctx) describeEarly(error, context);
      const problem = toProblem(error, null);
      told.failures.push({ name: procedure ?? '', problem });
      if (isOurFault(error.cause ?? error, problem) && !hasHungUp(response))
        options.logger.error({ err: error, request_id: requestId, path: procedure }, 'trpc');
    },
    // The status of the first error is the status that the REST API responds with.
    responseMeta: ({ errors: [error] }) => {
      if (!error) return {};
      const problem = toProblem(error, null);
      setProblemHeaders(response, problem);
      told.code = problem.code;
      return { status: problem.status };
    },
  });
}

/**
 * tRPC refuses some requests before it has a context, such as a batch of readings and changes, or
 * JSON lines without a batch. Its message is the only one that says why.
 */
function describeEarly(error: EarlyError, { describeError }: CallerContext): void {
  const cause = error.cause ?? new ProblemError('bad_request', { detail: error.message });
  Object.assign(error, { cause, describeError });
}
