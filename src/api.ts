import './runtime/node-version.ts';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { loadConfig, type Config } from './runtime/config.ts';
import { systemClock } from './core/clock.ts';
import { openDatabase, type Database } from './db/client.ts';
import { expectedMigrations, isMigrated, type Migration } from './db/migrate.ts';
import { startUsageCounter } from './features/usage/counter.ts';
import { createApp } from './http/server.ts';
import type { TokenKey } from './http/app/token.ts';
import { IP_RATE_LIMIT_PER_MINUTE } from './http/api/authenticate.ts';
import { openApiDocument } from './http/openapi/document.ts';
import { answerBrokenRequest } from './http/api/broken-request.ts';
import { createLogger } from './runtime/log.ts';
import { createMetrics, serveMetrics } from './runtime/metrics.ts';
import { runUntilSignal } from './runtime/process.ts';
import { DEMO_TEAM_ID } from './seed/demo-team.ts';

/** A little less than the 15 s of operations.md, which closing the database's connections counts in. */
const DRAIN_MS = 14_000;
/** How long kept connections stay open, for requests that are on their way while listening stops. */
const GRACE_MS = 1_000;

/** Starts the API process. Rejects with the listen error (`EADDRINUSE`); the database need not be there yet. */
export async function startApi(config: Config): Promise<{ port: number; stop(): Promise<void> }> {
  const logger = createLogger(config.logLevel);
  const db = openDatabase({
    url: config.databaseUrl,
    poolMax: config.databasePoolMax,
    onError: (error) => logger.warn({ err: error }, 'idle database connection broke'),
  });
  const metrics = createMetrics(db.pool);
  const migrations = await expectedMigrations();
  const usage = startUsageCounter({
    db,
    clock: systemClock,
    onError: (error) => logger.warn({ err: error }, 'the use of keys could not be written yet'),
  });
  let draining = false;
  const server = createServer();
  const requests = trackRequests(server);
  try {
    const port = await listen(server, config);
    const publicUrl =
      config.port === 0 ? config.publicUrl.replace(/:0$/, `:${port}`) : config.publicUrl;
    const app = createApp({
      db,
      logger,
      publicUrl,
      services: {
        clock: systemClock,
        secrets: { current: config.appSecret, previous: config.appSecretPrevious ?? null },
        webhookAllowPrivateTargets: config.webhookAllowPrivateTargets,
      },
      limits: {
        keyPerMinute: config.apiKeyRateLimitPerMinute,
        ipPerMinute: IP_RATE_LIMIT_PER_MINUTE,
      },
      document: JSON.stringify(openApiDocument(publicUrl)),
      observe: metrics.observeRequest,
      countUse: usage.count,
      trustProxy: config.trustProxy,
      tokenKey: tokenKeyOf(config),
      developmentTeamId: config.nodeEnv === 'production' ? null : DEMO_TEAM_ID,
      isReady: async () => !draining && (await isReady(db, migrations)),
    });
    server.on('request', app);
    server.on('clientError', answerBrokenRequest(publicUrl));
    server.on('error', (error) =>
      logger.error({ err: error }, 'a connection could not be accepted'),
    );
    const metricsServer =
      config.metricsPort === undefined
        ? null
        : await serveMetrics(metrics.registry, config.host, config.metricsPort);
    logger.info({ port }, 'api listens');
    const stop = async (): Promise<void> => {
      draining = true;
      await drain(server, requests);
      metricsServer?.close();
      await usage.stop();
      await db.close();
      logger.info('api stopped');
      logger.flushNow();
    };
    return { port, stop };
  } catch (error) {
    await usage.stop();
    await db.close();
    throw error;
  }
}

/** Without either setting nobody can sign in. */
function tokenKeyOf({ appAuthSecret, appAuthJwksUrl }: Config): TokenKey | null {
  if (appAuthJwksUrl !== undefined) return { kind: 'jwks', url: appAuthJwksUrl };
  return appAuthSecret === undefined ? null : { kind: 'secret', secret: appAuthSecret };
}

function listen(server: Server, config: Config): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.port, config.host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

async function isReady(db: Database, migrations: readonly Migration[]): Promise<boolean> {
  try {
    return await isMigrated(db.pool, migrations);
  } catch {
    // Whatever the reason, the answer to "may I send you requests?" is no; the requests themselves log it.
    return false;
  }
}

interface Requests {
  /** From now on every answer says that it is the last one on its connection. */
  sayGoodbye(): void;
  /** Resolves when none is in flight. */
  done(): Promise<void>;
}

/** Node knows which connections are idle, but counts one that never sent a byte as busy: a browser's spare one would hold up the end. */
function trackRequests(server: Server): Requests {
  const inFlight = new Set<ServerResponse>();
  let leaving = false;
  let whenDone = (): void => undefined;
  const closeAfter = (response: ServerResponse): void => {
    if (!response.headersSent) response.setHeader('Connection', 'close');
  };
  server.on('request', (_request, response: ServerResponse) => {
    inFlight.add(response);
    if (leaving) closeAfter(response);
    response.once('close', () => {
      inFlight.delete(response);
      if (inFlight.size === 0) whenDone();
    });
  });
  return {
    sayGoodbye: () => {
      leaving = true;
      inFlight.forEach(closeAfter);
    },
    done: () =>
      new Promise((resolve) => {
        whenDone = resolve;
        if (inFlight.size === 0) resolve();
      }),
  };
}

/**
 * Stops listening and lets requests in flight finish, `DRAIN_MS` at most. `http.Server.close` would also close the idle connections at once, and with them
 * the requests that their clients have just sent; so they get `GRACE_MS`, in which every answer, that of `/readyz` included, tells the client to leave.
 */
async function drain(server: Server, requests: Requests): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    NetServer.prototype.close.call(server, () => resolve());
  });
  requests.sayGoodbye();
  const finished = delay(GRACE_MS).then(() => requests.done());
  await Promise.race([closed, finished, delay(DRAIN_MS)]);
  server.closeAllConnections();
  await closed;
}

if (import.meta.main) await runUntilSignal(() => startApi(loadConfig(process.env)));
