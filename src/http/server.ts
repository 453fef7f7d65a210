import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import express, { type ErrorRequestHandler, type Express, type Request } from 'express';
import type { Logger } from 'pino';
import { networkOf, normalizeIp } from '../core/network.ts';
import type { Config } from '../runtime/config.ts';
import type { GuardedServer } from '../runtime/connections.ts';
import type { NotReady } from '../runtime/readiness.ts';
import { shortenAccepted } from './api/accepted.ts';
import { createBodies } from './api/bodies.ts';
import { refuseBroken, statusOfBroken } from './api/broken-request.ts';
import type { CallerLimits } from './api/caller-limits.ts';
import { createCompressor } from './api/compress.ts';
import type { RestOptions } from './api/exchange.ts';
import { hasHungUp } from './api/hang-up.ts';
import { isBodySmall } from './api/request-body.ts';
import { BASE_PATH } from './api/exchange.ts';
import { createRest } from './api/rest.ts';
import { adminRouter } from './admin.ts';
import { trpcRouter, type TrpcOptions } from './app/trpc.ts';
import { unsubscribeRouter } from './app/unsubscribe.ts';
import { docsRouter, type AdmitReader } from '../docs/docs.ts';
import { createAddresses } from './client-address.ts';
import { createConcurrencyLimit } from './concurrency-limit.ts';
import { createThrottle, type Wait } from './throttle.ts';

export interface AppOptions
  extends
    Omit<RestOptions, 'services' | 'addressOf' | 'callerLimits' | 'bodies' | 'compress'>,
    Pick<TrpcOptions, 'tokenKey' | 'developmentTeamId' | 'observeCall'> {
  /** `limits` says how many requests a key may make. */
  readonly services: Omit<RestOptions['services'], 'keyPerMinute'>;
  readonly trustProxy: Config['trustProxy'];
  /** The origins that may show the admin page in a frame. */
  readonly adminHostOrigins?: readonly string[];
  /** Where the admin page sends people who are not signed in. */
  readonly adminRefreshUrls?: readonly string[];
  /** Returns why the process should get no requests at the moment. null: it is ready. */
  readonly whyNotReady: () => Promise<NotReady | null>;
  /** What may become of the connection of a request. */
  readonly connections: Pick<GuardedServer, 'suspect' | 'closeAfterLast'>;
  /** For how long a request holds a place of its address at most (`concurrency-limit.ts`). */
  readonly placeMaxMs?: number;
  /** Holds back refusals (`throttle.ts`). */
  readonly throttle?: ReturnType<typeof createThrottle>;
}

/** Everything that the API process serves. The routes are tried in this order. */
export function createApp(options: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('case sensitive routing', true);
  const { clock } = options.services;
  const addressOf = createAddresses(options.trustProxy, options.logger, clock);
  const networkOfCaller = (request: IncomingMessage): string =>
    networkOf(addressOf(request).counted);
  const limit = createConcurrencyLimit(options.placeMaxMs, clock);
  const throttle = options.throttle ?? createThrottle(clock);
  const holdBack = (request: IncomingMessage, cost: number): Wait => {
    limit.release(request);
    const wait = throttle(networkOfCaller(request), cost);
    if (wait === 'full' && !flooded.has(request.socket)) closeFlood(request);
    return wait;
  };
  const { suspect, closeAfterLast } = options.connections;
  /** Connections that end with the answers to the requests that had come. */
  const flooded = new WeakSet<Socket>();
  /** Connections that end with the last answer. */
  const unread = new WeakSet<Socket>();
  const closeFlood = (request: IncomingMessage): void => {
    const { socket } = request;
    options.observeRefusal('waiting_answers', null);
    flooded.add(socket);
    closeAfterLast(socket);
    // A proxy's connections are those of everybody.
    if (normalizeIp(socket.remoteAddress) === addressOf(request).ip) suspect(socket);
  };
  const refused: CallerLimits['refused'] = (request, calls = 1) => {
    const wait = holdBack(request, calls);
    return typeof wait === 'string' ? undefined : wait;
  };
  // Anybody may ask for a page, so these answers are throttled like those to strangers. But they
  // are still to be made.
  const admitReader: AdmitReader = async (request, response, cost) => {
    const wait = holdBack(request, cost);
    if (wait === 'full') {
      response.status(429).set('Retry-After', '2').type('text/plain').send('Too many requests\n');
      return false;
    }
    await wait;
    return true;
  };
  const callerLimits = { authenticated: limit.release, recognized: limit.recognize, refused };
  const shared = {
    ...options,
    services: { ...options.services, keyPerMinute: options.limits.keyPerMinute },
    addressOf,
    callerLimits,
    bodies: createBodies(options.observeRefusal, clock),
    compress: createCompressor(),
  };
  const rest = createRest(shared);
  app.use((request, response, next) => {
    const { socket } = request;
    // Nobody gets to know what comes behind the last answer, so it must not begin.
    if (flooded.has(socket)) return;
    const status = statusOfBroken(request);
    if (status !== null) {
      refuseBroken(options.publicUrl, response, status);
      return;
    }
    shortenAccepted(request);
    // Node reads a body that nobody wants to its end, unless the connection closes.
    if (!takesBody(request) && !isBodySmall(request)) unread.add(socket);
    if (unread.has(socket)) closeAfterLast(socket);
    limit.enter(networkOfCaller(request), request, response, next);
  });
  app.use(BASE_PATH, (request, response) => rest(request, response));
  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  app.get('/readyz', async (_request, response) => {
    const reason = await options.whyNotReady();
    if (reason === null) response.json({ status: 'ready' });
    else response.status(503).json({ status: 'not_ready', reason });
  });
  const hostOrigins = options.adminHostOrigins ?? [];
  app.use(trpcRouter(shared, hostOrigins));
  app.use(async (request, response, next) => {
    if (await admitReader(request, response, 1)) next();
  });
  app.use(unsubscribeRouter({ db: options.db, secrets: options.services.secrets }));
  const hasDevelopmentLogin = options.developmentTeamId !== null;
  const refreshUrls = options.adminRefreshUrls ?? [];
  app.use(
    adminRouter({ publicUrl: options.publicUrl, hasDevelopmentLogin, hostOrigins, refreshUrls }),
  );
  app.use(
    docsRouter({
      publicUrl: options.publicUrl,
      document: options.document,
      allowsLocalReceivers: options.services.webhookAllowPrivateTargets,
      deprecation: options.deprecations.version,
      admitReader,
    }),
  );
  app.use((_request, response) => {
    response.status(404).type('text/plain').send('Not found\n');
  });
  app.use(refuse(options.logger, refused));
  return app;
}

/** Whether the request can have a use for a body that is not small. */
function takesBody({ method, path }: Request): boolean {
  const isApi = path.startsWith(`${BASE_PATH}/`) || path.startsWith('/trpc/');
  return isApi && (method === 'POST' || method === 'PATCH');
}

/**
 * Answers what no route has answered for itself: a path that cannot be decoded, or a fault of ours.
 * Express's own answer has the stack of the error in it.
 */
function refuse(logger: Logger, refused: CallerLimits['refused']): ErrorRequestHandler {
  return async (error: unknown, request, response, _next) => {
    const status = statusOf(error);
    if (status < 500) await refused(request);
    if (status === 500 && !hasHungUp(response))
      logger.error({ err: error, method: request.method }, 'internal');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const text = status === 500 ? 'Internal error' : 'Bad request';
    response.status(status).type('text/plain').send(`${text}\n`);
  };
}

/** The status that Express gives to an error of the caller; 500 for every other error. */
function statusOf(error: unknown): number {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : 500;
}
