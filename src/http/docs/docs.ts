import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Router, type Request, type RequestHandler, type Response } from 'express';
import helmet from 'helmet';
import { errorsPage, explorerPage, webhooksPage, type PageLinks } from './pages.ts';

export interface DocsOptions {
  /** The service's public URL. Its path, if it has one, precedes every link. */
  readonly publicUrl: string;
}

interface Asset {
  readonly folder: string;
  /** A hash of the content, so that browsers may cache the file forever. */
  readonly version: string;
}

const OWN_FOLDER = join(import.meta.dirname, 'assets');
// swagger-ui-dist's own entry would tell its folder too, but it loads the whole bundle into this
// process.
const SWAGGER_FOLDER = dirname(
  createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'),
);

const FOLDERS: Readonly<Record<string, string>> = {
  'docs.css': OWN_FOLDER,
  'explorer.js': OWN_FOLDER,
  'icon.svg': OWN_FOLDER,
  'swagger-ui.css': SWAGGER_FOLDER,
  'swagger-ui-bundle.js': SWAGGER_FOLDER,
};

/**
 * The developer pages, to be mounted at `/docs`. This process serves everything that they need: no
 * page loads anything from another host.
 */
export function docsRouter({ publicUrl }: DocsOptions): Router {
  const router = Router();
  const assets = new Map(
    Object.entries(FOLDERS).map(([name, folder]) => [name, readAsset(name, folder)]),
  );
  const prefix = new URL(publicUrl).pathname.replace(/\/+$/, '');
  const links: PageLinks = {
    prefix,
    asset: (name) => `${prefix}/docs/assets/${name}?v=${assets.get(name)?.version}`,
  };
  const sample = (name: string): string => readFileSync(join(OWN_FOLDER, name), 'utf8');
  const samples = {
    receive: sample('receive-webhook.js'),
    verify: sample('verify-signature.js'),
    verifyInShell: sample('verify-delivery.sh'),
    sendInShell: sample('send-delivery.sh'),
  };
  router.use(securityHeaders(READING));
  router.get('/', securityHeaders(TRYING), servePage(explorerPage(links)));
  router.get('/errors', servePage(errorsPage(links)));
  router.get('/webhooks', servePage(webhooksPage(links, samples)));
  router.get('/assets/:name', serveAsset(assets));
  router.use((_request, response) => {
    response.status(404).type('text/plain').send('Not found\n');
  });
  return router;
}

type Directives = Record<string, readonly string[]>;

/** The policy of a page to read: only a stylesheet and an icon. */
const READING: Directives = {
  'default-src': ["'none'"],
  'style-src': ["'self'"],
  'img-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

/**
 * The policy of the page with Swagger UI. It also needs its script, requests to the API, and icons
 * that its stylesheet holds as data.
 */
const TRYING: Directives = {
  ...READING,
  'script-src': ["'self'"],
  'connect-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
};

function securityHeaders(directives: Directives): RequestHandler {
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives },
    // It would cover the whole host with its subdomains, so the owner of the host decides about it.
    strictTransportSecurity: false,
  });
}

function servePage(page: string): RequestHandler {
  return (_request, response) => {
    response.set('Cache-Control', 'no-cache').type('text/html').send(page);
  };
}

function serveAsset(assets: ReadonlyMap<string, Asset>): RequestHandler {
  return (request: Request, response: Response, next) => {
    const name = String(request.params['name']);
    const asset = assets.get(name);
    if (asset === undefined) {
      next();
      return;
    }
    const isVersioned = request.query['v'] === asset.version;
    const caching = isVersioned
      ? ({ immutable: true, maxAge: '1y' } as const)
      : ({ maxAge: 0 } as const);
    // The path of the folder may contain a name that begins with a dot.
    response.sendFile(
      name,
      { root: asset.folder, dotfiles: 'allow', ...caching },
      (error: unknown) => {
        if (error && !response.headersSent) next(error);
      },
    );
  };
}

function readAsset(name: string, folder: string): Asset {
  const content = readFileSync(join(folder, name));
  return { folder, version: createHash('sha256').update(content).digest('hex').slice(0, 12) };
}
