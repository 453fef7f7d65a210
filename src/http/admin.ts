/**
 * Serves the admin page at `/admin` from memory. `scripts/build-admin.ts` has built and compressed
 * its files. It loads nothing from another host.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Router, type Request } from 'express';
import type { Language } from '../core/language.ts';
import { once } from '../core/once.ts';
import type { Mode } from '../core/sandbox.ts';
import { pageHeaders } from './api/page-headers.ts';
import { negotiateLanguage } from './api/language.ts';
import { createResource, type Resource } from './api/resource.ts';
import { sendResource } from './api/send-resource.ts';

export interface AdminOptions {
  /** The service's public URL. Its path, if it has one, precedes every address of the page. */
  readonly publicUrl: string;
  /** Whether the page offers the development login. */
  readonly hasDevelopmentLogin: boolean;
  /** The origins of the host application, which may show the page in a frame. */
  readonly hostOrigins: readonly string[];
  /** Where the page sends people who are not signed in: one URL for each host application. */
  readonly refreshUrls: readonly string[];
}

const NOT_BUILT = 'Build the page first: npm run build:admin';
const BUILD = join(import.meta.dirname, '../../build/admin');

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The admin page, to be mounted at `/`. */
export function adminRouter(options: AdminOptions): Router {
  const router = Router({ caseSensitive: true });
  const { hostOrigins, refreshUrls } = options;
  const asked = refreshUrls.map((url) => new URL(url).origin);
  const headers = pageHeaders({ formAction: "'none'", hostOrigins, asked });
  const files = once(() => readFiles(options));
  router.get('/admin{/*path}', headers, async (request, response, next) => {
    const { shells, assets } = files();
    const name = /^\/admin\/assets\/([\w.-]+)$/.exec(request.path)?.[1];
    if (shells === null) return response.status(503).type('text/plain').send(`${NOT_BUILT}\n`);
    if (name === undefined) {
      response.vary('Accept-Language');
      return sendResource(request, response, shells[modeOf(request)][languageOf(request)]);
    }
    const asset = assets.get(name);
    return asset ? sendResource(request, response, asset) : next();
  });
  return router;
}

/** As the page chooses its language, unless the reader has chosen another one there. */
function languageOf(request: Request): Language {
  return negotiateLanguage(request.headers['accept-language'], 'en');
}

/**
 * The page of the sandbox is a document of its own below the other one's address
 * (`admin-ui/lib/mode.ts`).
 */
function modeOf({ path }: Request): Mode {
  return /^\/admin\/sandbox(?:\/|$)/.test(path) ? 'test' : 'live';
}

/** The documents are null if the page was not built. */
interface Files {
  readonly shells: Readonly<Record<Mode, Readonly<Record<Language, Resource>>>> | null;
  readonly assets: ReadonlyMap<string, Resource>;
}

function readFiles(options: AdminOptions): Files {
  if (!existsSync(join(BUILD, 'index.live.de.html'))) return { shells: null, assets: new Map() };
  const folder = join(BUILD, 'assets');
  const names = readdirSync(folder).filter((name) => extname(name) in TYPES);
  return {
    shells: { live: readShells(options, 'live'), test: readShells(options, 'test') },
    assets: new Map(names.map((name) => [name, readAsset(folder, name)])),
  };
}

/** The same document for every address of a mode. Addresses in it begin with the public path. */
function readShells(options: AdminOptions, mode: Mode): Record<Language, Resource> {
  return { de: readShell(options, mode, 'de'), en: readShell(options, mode, 'en') };
}

function readShell(options: AdminOptions, mode: Mode, language: Language): Resource {
  const { hasDevelopmentLogin, hostOrigins, refreshUrls } = options;
  const base = `${servicePathOf(options)}/admin`;
  const html = readFileSync(join(BUILD, `index.${mode}.${language}.html`), 'utf8')
    .replaceAll('"./', `"${base}/`)
    .replaceAll('__BASE__', base)
    .replace('__HOST_ORIGINS__', hostOrigins.join(' '))
    .replace('__REFRESH_URLS__', () => attributeOf(refreshUrls))
    .replace('__DEVELOPMENT_LOGIN__', hasDevelopmentLogin ? 'yes' : 'no');
  return createResource('text/html; charset=utf-8', html);
}

/** What precedes every address, without a slash at its end. */
function servicePathOf({ publicUrl }: AdminOptions): string {
  return new URL(publicUrl).pathname.replace(/\/+$/, '');
}

/** The URLs as they stand in an attribute: `URL` writes no quotation marks and no spaces. */
function attributeOf(urls: readonly string[]): string {
  return urls
    .map((url) => new URL(url).href)
    .join(' ')
    .replaceAll('&', '&amp;');
}

/** A file that the build has compressed, and whose name holds a hash of its content. */
function readAsset(folder: string, name: string): Resource {
  const bodies = {
    identity: readFileSync(join(folder, name)),
    gzip: readFileSync(join(folder, `${name}.gz`)),
    br: readFileSync(join(folder, `${name}.br`)),
  };
  return {
    type: TYPES[extname(name)] ?? 'application/octet-stream',
    bytes: bodies.identity.length,
    version: name,
    bodyAs: async (encoding) => bodies[encoding],
    isShared: true,
    isImmutable: true,
  };
}
