/**
 * A host application in miniature: how it shows the admin page to a person whom it has signed in.
 * A real one would look for its own session in each request; here everybody is the same person.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { SignJWT } from 'jose';

export interface HostAppOptions {
  /** The URL of the service, such as `http://127.0.0.1:3000`. */
  readonly serviceUrl: string;
  /** The service's APP_AUTH_SECRET. */
  readonly authSecret: string;
  readonly userId: string;
  readonly teamId: string;
  /** What the page in the frame looks like; see `src/admin-ui/lib/host-port.ts`. */
  readonly look?: Readonly<Record<string, unknown>>;
}

/** A token of the frame is sent with each request, so it lives longer than that of a link. */
const FRAME_TOKEN_S = 300;
const LINK_TOKEN_S = 60;

/** The helper comes with the client package; here it is read from its source. */
const HELPER = join(import.meta.dirname, '../../src/client/admin-frame.ts');
const SCRIPTS: ReadonlyMap<string, string> = new Map([
  ['/frame.js', readFileSync(join(import.meta.dirname, 'frame.js'), 'utf8')],
  ['/admin-frame.js', stripTypeScriptTypes(readFileSync(HELPER, 'utf8'))],
]);

/** Serves `/frame`, and `/link`, which is the service's ADMIN_REFRESH_URL. */
export function createHostApp(options: HostAppOptions): Server {
  return createServer((request, response) => {
    const url = URL.parse(request.url ?? '', 'http://host') ?? new URL('http://host');
    response.setHeader('Cache-Control', 'no-store');
    // Not stricter: the service must see from which origin a form comes.
    response.setHeader('Referrer-Policy', 'strict-origin');
    const html = (page: string) =>
      response.setHeader('Content-Type', 'text/html; charset=utf-8').end(page);
    if (url.pathname === '/') html(START_PAGE);
    else if (url.pathname === '/frame') html(framePage(options));
    else if (SCRIPTS.has(url.pathname))
      response.setHeader('Content-Type', 'text/javascript').end(SCRIPTS.get(url.pathname));
    else if (url.pathname === '/settings' && request.method === 'POST')
      void issueToken(options, FRAME_TOKEN_S).then((token) =>
        response
          .setHeader('Content-Type', 'application/json')
          .end(JSON.stringify({ token, ...options.look })),
      );
    else if (url.pathname === '/link')
      void issueToken(options, LINK_TOKEN_S).then((token) =>
        html(linkPage(options, token, url.searchParams.get('return') ?? '/admin')),
      );
    else response.writeHead(404).end();
  });
}

/**
 * A token with a `jti` that lives for a minute at most is one for a link, and opens nothing else.
 * That of the frame lives longer.
 */
function issueToken({ authSecret, userId, teamId }: HostAppOptions, lifetimeS: number) {
  return new SignJWT({ kind: 'user', team_id: teamId })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer('sales-training-platform')
    .setAudience('team-customer-api')
    .setSubject(userId)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime(`${lifetimeS}s`)
    .sign(new TextEncoder().encode(authSecret));
}

const START_PAGE = `<!doctype html><html lang="en"><title>Host application</title>
<h1>Host application</h1>
<p><a href="/frame">The admin page in a frame</a></p>
<p><a href="/link">The admin page by a link</a></p>`;

// Without allow="clipboard-write" the page's copy buttons say that the text must be selected. In a
// frame that is higher than the window, dialogs and messages would be outside of it.
function framePage({ serviceUrl }: HostAppOptions): string {
  return `<!doctype html><html lang="en"><title>Admin page in a frame</title>
<style>iframe { display: block; max-height: calc(100vh - 4rem) }</style>
<label>Appearance
  <select><option>system</option><option>light</option><option>dark</option></select>
</label>
<button value="/keys">API keys</button> <button value="/webhooks">Webhooks</button>
<iframe title="Admin" data-service="${escape(serviceUrl)}" allow="clipboard-write"
  width="1100" height="800"></iframe>
<script type="module" src="/frame.js"></script>`;
}

// The form is sent while the page loads, so that "back" leads to the page before it.
function linkPage({ serviceUrl }: HostAppOptions, token: string, place: string): string {
  return `<!doctype html><html lang="en"><title>To the admin page</title>
<form method="post" action="${escape(serviceUrl)}/trpc-session/link">
  <input type="hidden" name="token" value="${escape(token)}">
  <input type="hidden" name="return" value="${escape(place)}">
  <noscript><button>To the admin page</button></noscript>
</form>
<script>document.forms[0].submit()</script>`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
