import './runtime/node-version.ts';
import type { RequestListener } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { systemClock, type Clock } from './core/clock.ts';
import type { Tracing } from './core/trace.ts';
import type { Database } from './db/connections/database.ts';
import { followingClock } from './db/database-clock.ts';
import { expectedMigrations } from './db/operator/migrations.ts';
import { startRequestLog, type RequestLog } from './features/requests/log.ts';
import { startUsageCounter, type UsageCounter } from './features/usage/counter.ts';
import { IP_RATE_LIMIT_PER_MINUTE } from './http/api/authentication/rate-limits.ts';
import { answerBrokenRequest } from './http/api/broken-request.ts';
import type { TokenKey } from './http/app/token.ts';
import { openApiDocument } from './http/openapi/document.ts';
import { createApp } from './http/server.ts';
import { appSecretsOf, loadConfig, type Config } from './runtime/config.ts';
import { createGuardedServer, type GuardedServer } from './runtime/connections.ts';
import { openDatabaseOf } from './runtime/database.ts';
import { drain, trackRequests } from './runtime/drain.ts';
import { listen } from './runtime/listening.ts';
import { createLogger } from './runtime/log.ts';
import { createMetrics, serveMetrics, type Metrics } from './runtime/metrics.ts';
import { fail, runUntilSignal, type Part } from './runtime/process.ts';
import { startReadiness, type Readiness } from './runtime/readiness.ts';
import { startTracing } from './runtime/tracing.ts';
import { DEMO_TEAM_ID } from './seed/demo-team.ts';

/**
 * Starts the API process. The database need not be reachable yet. Rejects if APP_SECRET is not the
 * database's, and with the error of the port (`EADDRINUSE`).
 */
export async function startApi(config: Config): Promise<Required<Part> & { port: number }> {
  const logger = createLogger(config.logLevel);
  const clock = followingClock(systemClock);
  const metrics = createMetrics(() => db);
  const { observeRefusal, observeWait } = metrics;
  const db = openDatabaseOf(config, logger, { observeRefusal, observeWait });
  const usage = startUsageCounter({
    db: db.forCaller({ share: null }),
    clock,
    onError: (error) => logger.warn({ err: error }, 'could not write the usage of keys yet'),
  });
  const requestLog = startRequestLog({
    db: db.forCaller({ share: null }),
    sample: config.requestLogSample,
    onError: (error) => logger.warn({ err: error }, 'could not write the request log yet'),
    onLeftOut: (leftOut) => {
      metrics.countUnlogged(leftOut);
      logger.warn({ leftOut }, 'calls had no room in the request log');
    },
    onRefused: ({ requestId: request_id, teamId: team }, error) => {
      metrics.countUnlogged(1);
      logger.error({ err: error, request_id, team }, 'the database refused a call for the log');
    },
  });
  const { server, onBroken, turnAway, ...connections } = createGuardedServer({
    observeRefusal,
    onFull: () => logger.warn('there is no room for more connections'),
  });
  const requests = trackRequests(server);
  let readiness: Readiness | undefined;
  try {
    const tracing = await startTracing(config, 'api', logger);
    await db.loadPrisma();
    readiness = await startReadiness({
      db,
      migrations: await expectedMigrations(),
      secrets: appSecretsOf(config),
      logger,
      onFault: fail,
      following: clock,
    });
    metrics.watch(readiness);
    const parts = { config, clock, db, logger, metrics, usage, requestLog, readiness, tracing };
    const { port: wanted, host } = config;
    const listening = await listen(server, { port: wanted, host, turnAway }, (port) => {
      const publicUrl =
        config.port === 0 ? config.publicUrl.replace(/:0$/, `:${port}`) : config.publicUrl;
      server.on('request', appOf({ ...parts, publicUrl, connections }));
      onBroken(answerBrokenRequest(publicUrl));
      server.on('error', (error) => logger.error({ err: error }, 'could not accept a connection'));
    });
    const { port } = listening;
    const metricsServer = await serveMetrics(config, metrics.registry);
    logger.info({ port }, 'api listens');
    // A load balancer notices at its next check, and sends requests until then.
    const announceStop = async (): Promise<void> => {
      readiness?.drain();
      await delay(config.drainDelayMs);
    };
    const stop = async (): Promise<void> => {
      readiness?.drain();
      await drain(server, listening, requests);
      metricsServer?.close();
      await Promise.all([usage.stop(), requestLog.stop()]);
      readiness?.stop();
      await Promise.all([db.close(), tracing?.stop()]);
      logger.info('api stopped');
      logger.flushNow();
    };
    return { port, announceStop, stop };
  } catch (error) {
    readiness?.stop();
    await Promise.all([usage.stop(), requestLog.stop()]);
    await db.close();
    throw error;
  }
}

/** Builds the app from the configuration and the parts of the process. */
function appOf(options: {
  readonly config: Config;
  readonly publicUrl: string;
  readonly clock: Clock;
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly usage: UsageCounter;
  readonly requestLog: RequestLog;
  readonly readiness: Readiness;
  readonly tracing: Tracing | null;
  readonly connections: Pick<GuardedServer, 'suspect' | 'closeAfterLast'>;
}): RequestListener {
  const { config, clock, publicUrl, db, logger, metrics, readiness } = options;
  return createApp({
    db,
    logger,
    publicUrl,
    services: {
      clock,
      secrets: appSecretsOf(config),
      webhookAllowPrivateTargets: config.webhookAllowPrivateTargets,
    },
    limits: {
      keyPerMinute: config.apiKeyRateLimitPerMinute,
      personPerMinute: config.personRateLimitPerMinute,
      ipPerMinute: IP_RATE_LIMIT_PER_MINUTE,
    },
    document: JSON.stringify(openApiDocument(publicUrl, config)),
    deprecations: config.deprecations,
    observe: (route, outcome, seconds, mode) => {
      metrics.observeRequest(route, outcome, seconds, mode);
      if (outcome.status === 503) readiness.suspect();
    },
    observeCall: (procedure, outcome, seconds, mode) => {
      metrics.observeCall(procedure, outcome, seconds, mode);
      if (outcome.status === 503) readiness.suspect();
    },
    observeRefusal: metrics.observeRefusal,
    countUse: options.usage.count,
    logRequest: options.requestLog.add,
    tracing: options.tracing,
    trustProxy: config.trustProxy,
    adminHostOrigins: config.adminHostOrigins,
    adminRefreshUrls: config.adminRefreshUrls,
    tokenKey: tokenKeyOf(config),
    developmentTeamId: config.developmentLogin ? DEMO_TEAM_ID : null,
    whyNotReady: () => readiness.check(),
    connections: options.connections,
  });
}

/** Returns the key that verifies the app's tokens. null: nobody can sign in. */
function tokenKeyOf({ appAuthSecret, appAuthJwksUrl }: Config): TokenKey | null {
  if (appAuthJwksUrl !== undefined) return { kind: 'jwks', url: appAuthJwksUrl };
  return appAuthSecret === undefined ? null : { kind: 'secret', secret: appAuthSecret };
}

if (import.meta.main) await runUntilSignal(() => startApi(loadConfig(process.env, { port: true })));
