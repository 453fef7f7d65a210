import './node-version.ts';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadConfig, type Config } from './config.ts';
import { systemClock } from './core/clock.ts';
import { openDatabase, type Database } from './db/client.ts';
import { expectedMigrations, isMigrated, type Migration } from './db/migrate.ts';
import { createApp } from './http/app.ts';
import { IP_RATE_LIMIT_PER_MINUTE } from './http/authenticate.ts';
import { openApiDocument } from './http/openapi.ts';
import { answerBrokenRequest } from './http/broken-request.ts';
import { createLogger } from './log.ts';
import { createMetrics, serveMetrics } from './metrics.ts';
import { runUntilSignal } from './process.ts';

const DRAIN_MS = 15_000;

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
  let draining = false;
  const server = createServer();
  try {
    const port = await listen(server, config);
    const publicUrl = config.port === 0 ? config.publicUrl.replace(/:0$/, `:${port}`) : config.publicUrl;
    const app = createApp({
      db,
      logger,
      publicUrl,
      services: {
        clock: systemClock,
        secrets: { current: config.appSecret, previous: config.appSecretPrevious ?? null },
        webhookAllowPrivateTargets: config.webhookAllowPrivateTargets,
      },
      limits: { keyPerMinute: config.apiKeyRateLimitPerMinute, ipPerMinute: IP_RATE_LIMIT_PER_MINUTE },
      document: JSON.stringify(openApiDocument(publicUrl)),
      observe: metrics.observeRequest,
      trustProxy: config.trustProxy,
      isReady: async () => !draining && (await isReady(db, migrations)),
    });
    server.on('request', app);
    server.on('clientError', answerBrokenRequest(publicUrl));
    const metricsServer = config.metricsPort === undefined ? null : await serveMetrics(metrics.registry, config.host, config.metricsPort);
    logger.info({ port }, 'api listens');
    const stop = async (): Promise<void> => {
      draining = true;
      await drain(server);
      metricsServer?.close();
      await db.close();
      logger.info('api stopped');
      logger.flushNow();
    };
    return { port, stop };
  } catch (error) {
    await db.close();
    throw error;
  }
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

/** Stops listening and lets requests in flight finish, `DRAIN_MS` at most. */
async function drain(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const late = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(late);
}

if (import.meta.main) await runUntilSignal(() => startApi(loadConfig(process.env)));
