import type { IncomingMessage } from 'node:http';
import express, { type Express, type Request } from 'express';
import type { Config } from '../runtime/config.ts';
import type { NotReady } from '../runtime/readiness.ts';
import { normalizeIp } from './api/authenticate.ts';
import type { RestOptions } from './api/exchange.ts';
import { BASE_PATH, createRest } from './api/rest.ts';
import { trpcRouter, type TrpcOptions } from './app/trpc.ts';
import { docsRouter } from './docs/docs.ts';

export interface AppOptions
  extends Omit<RestOptions, 'ipOf'>, Pick<TrpcOptions, 'tokenKey' | 'developmentTeamId'> {
  readonly trustProxy: Config['trustProxy'];
  /** Returns why the process should get no requests at the moment. null: it is ready. */
  readonly whyNotReady: () => Promise<NotReady | null>;
}

/** Everything that the API process serves. The routes are tried in this order. */
export function createApp(options: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('trust proxy', trusted(options.trustProxy));
  const ipOf = (request: IncomingMessage): string | null => normalizeIp((request as Request).ip);
  const rest = createRest({ ...options, ipOf });
  app.use(BASE_PATH, (request, response) => rest(request, response));
  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  app.get('/readyz', async (_request, response) => {
    const reason = await options.whyNotReady();
    if (reason === null) response.json({ status: 'ready' });
    else response.status(503).json({ status: 'not_ready', reason });
  });
  app.use(trpcRouter({ ...options, ipOf }));
  app.use(
    docsRouter({
      publicUrl: options.publicUrl,
      document: options.document,
      allowsLocalReceivers: options.services.webhookAllowPrivateTargets,
    }),
  );
  app.use((_request, response) => {
    response.status(404).type('text/plain').send('Not found\n');
  });
  return app;
}

function trusted(setting: Config['trustProxy']): boolean | number | string[] {
  switch (setting.kind) {
    case 'none':
      return false;
    case 'hops':
      return setting.hops;
    case 'cidrs':
      return [...setting.cidrs];
  }
}
