/**
 * The way to the admin page by a link of the host application: its page sends a form to
 * `/trpc-session/link` with a token that is valid for a minute at most and can be used once. The
 * answer opens a session and leads to the admin page. Unlike a URL, a form is in no history and no
 * log. What the page says when the token is refused, it says itself: the answer leads there without
 * a session.
 */
import { createHash } from 'node:crypto';
import { urlencoded, type RequestHandler, type Router } from 'express';
import { decodeJwt } from 'jose';
import { ProblemError } from '../../core/problem.ts';
import {
  admit,
  beginExchange,
  beginRefusal,
  describeProblem,
  type AppExchange,
} from './admission.ts';
import { useLink } from './link-store.ts';
import { cookieOf, cookieOptions, SESSION_MAX_AGE_MS } from './session-cookie.ts';
import { issueSessionToken } from './session-token.ts';
import type { Identity } from './token.ts';

export const LINK_PATH = '/trpc-session/link';
/** Tells the page that the reader has just come from the host application. */
const FROM_HOST = '#from-host';
/** A token has less than a kilobyte, and a path of the page not much more. */
const FORM_MAX = '16kb';
const FORM_MAX_FIELDS = 10;
const TOKEN_MAX_AGE_S = 60;
const JTI_MAX_LENGTH = 200;

/** `hostOrigins`: whose pages may send the form. */
export function addLinkRoute(
  router: Router,
  given: Pick<AppExchange, 'options' | 'verify'>,
  hostOrigins: readonly string[],
): void {
  const form = urlencoded({ extended: false, limit: FORM_MAX, parameterLimit: FORM_MAX_FIELDS });
  router.post(LINK_PATH, requireHost(hostOrigins), form, async (request, response) => {
    const exchange = beginExchange({ ...given, request, response });
    const { publicUrl } = given.options;
    const { token, return: wanted } = (request.body ?? {}) as Record<string, unknown>;
    try {
      await openByLink(exchange, typeof token === 'string' ? token : '');
    } catch (error) {
      const problem = await beginRefusal(exchange, error);
      if (problem.code !== 'unauthorized') {
        const { title, request_id } = describeProblem(exchange, problem);
        response.type('text/plain').send(`${title}\n${request_id}\n`);
        return;
      }
      // An older session may be another person's.
      response.clearCookie(cookieOf(publicUrl), cookieOptions(publicUrl));
    }
    response.redirect(303, placeOf(publicUrl, wanted) + FROM_HOST);
  });
}

/**
 * Refuses forms of other sites: they could sign somebody in as another person, who then reads what
 * is entered.
 */
function requireHost(hostOrigins: readonly string[]): RequestHandler {
  return (request, response, next) => {
    const { origin = 'null' } = request.headers;
    if (hostOrigins.includes(origin)) next();
    else
      response
        .status(403)
        .type('text/plain')
        .send(
          `Forms of the origin ${origin} are refused: ADMIN_HOST_ORIGINS does not list it. ` +
            'If it is null, the Referrer-Policy of the page hides it; let that be ' +
            'strict-origin.\n',
        );
  };
}

/** Opens a session. Throws `unauthorized`, `rate_limited`. */
async function openByLink(exchange: AppExchange, token: string): Promise<void> {
  const { options, verify, response } = exchange;
  const { clock, secrets } = options.services;
  const identity = await verify(token);
  await admit({ ...exchange, verify: async () => identity }, token, 1);
  if (identity?.kind !== 'user') throw new ProblemError('unauthorized');
  const hash = hashOfUse(identity, token);
  const db = options.db.forCaller({ share: identity.teamId });
  if (hash === null || !(await useLink(db, hash, clock.now())))
    throw new ProblemError('unauthorized');
  const session = await issueSessionToken(identity, {
    secret: secrets.current,
    now: clock.now(),
    lifetimeS: SESSION_MAX_AGE_MS / 1000,
  });
  const { publicUrl } = options;
  const cookie = { ...cookieOptions(publicUrl), maxAge: SESSION_MAX_AGE_MS };
  response.cookie(cookieOf(publicUrl), session, cookie);
}

/** Stands for the one use of a verified token; null: it is none for a link. */
function hashOfUse({ teamId }: Extract<Identity, { kind: 'user' }>, token: string): string | null {
  const { jti, iat = 0, exp = Infinity } = decodeJwt(token);
  if (typeof jti !== 'string' || jti === '' || jti.length > JTI_MAX_LENGTH) return null;
  if (exp - iat > TOKEN_MAX_AGE_S) return null;
  return createHash('sha256')
    .update(JSON.stringify([teamId, jti]))
    .digest('base64url');
}

/** The address in the admin page that the form names, or its first page. */
function placeOf(publicUrl: string, wanted: unknown): string {
  const base = new URL(`${publicUrl}/admin`);
  const url = typeof wanted === 'string' ? URL.parse(wanted, base) : null;
  const isOfPage = url?.pathname === base.pathname || url?.pathname.startsWith(`${base.pathname}/`);
  if (!url || url.origin !== base.origin || !isOfPage) return base.pathname;
  return url.pathname + url.search;
}
