/**
 * The way to the admin page by a link of the host application: its page sends a form to
 * `/trpc-session/link` with a token that is valid for a minute at most and can be used once. The
 * answer opens a session and leads to the admin page. Unlike a URL, a form is in no history and no
 * log. What the page says when the token is refused, it says itself: the answer leads there without
 * a session.
 */
import type { Request, Router } from 'express';
import { ProblemError } from '../../core/problem.ts';
import {
  admit,
  beginExchange,
  beginRefusal,
  describeProblem,
  present,
  type AppExchange,
} from './admission.ts';
import { readForm } from './form.ts';
import { cookieOf, cookieOptions, SESSION_MAX_AGE_MS } from './session-cookie.ts';
import { logSession } from './session-log.ts';
import { issueSessionToken } from './session-token.ts';
import { spendToken } from './spent-token-store.ts';

export const LINK_PATH = '/trpc-session/link';
/**
 * The answer leads to no longer address: it stands in a header, and nginx takes a process for
 * broken that sends 4 KB of headers.
 */
const PLACE_MAX_CHARACTERS = 1000;
/** Tells the page that the reader has just come from this host application. */
const fromHost = (origin: string): string => `#from-host=${encodeURIComponent(origin)}`;

/** How far a link has come. It tells the log why one was refused. */
interface Opening {
  /** Why nobody is signed in, if nobody is. */
  reason: 'not_valid' | 'not_a_member' | 'used';
  team?: string;
  member?: string;
}

/** `hostOrigins`: whose pages may send the form. */
export function addLinkRoute(
  router: Router,
  given: Pick<AppExchange, 'options' | 'verify'>,
  hostOrigins: readonly string[],
): void {
  const { publicUrl } = given.options;
  router.post(LINK_PATH, async (request, response) => {
    const exchange = beginExchange({ ...given, request, response });
    const opening: Opening = { reason: 'not_valid' };
    let place: unknown;
    let origin = '';
    try {
      origin = requireHost(request, hostOrigins);
      const form = await readForm(exchange);
      place = form['return'];
      const session = await openByLink(exchange, form['token'], opening);
      const cookie = { ...cookieOptions(publicUrl), maxAge: SESSION_MAX_AGE_MS };
      response.cookie(cookieOf(publicUrl), session, cookie);
      const { team, member } = opening;
      logSession(exchange, 'signed in', { team, member, way: 'link' });
    } catch (error) {
      const problem = await beginRefusal(exchange, error);
      const isNobody = problem.code === 'unauthorized';
      const reason = isNobody ? opening.reason : problem.code;
      logSession(exchange, 'link refused', { ...opening, reason });
      if (!isNobody) {
        const { title, detail = title, request_id } = describeProblem(exchange, problem);
        response.type('text/plain').send(`${String(detail)}\n${request_id}\n`);
        return;
      }
      // An older session may be another person's.
      response.clearCookie(cookieOf(publicUrl), cookieOptions(publicUrl));
    }
    response.redirect(303, placeOf(publicUrl, place) + fromHost(origin));
  });
}

/**
 * Returns the origin of the form. Refuses those of other sites: they could sign somebody in as
 * another person, who then reads what is entered.
 */
function requireHost({ headers }: Request, hostOrigins: readonly string[]): string {
  const { origin = 'null' } = headers;
  if (hostOrigins.includes(origin)) return origin;
  throw new ProblemError('forbidden', {
    detail:
      `Forms of the origin ${origin} are refused: ADMIN_HOST_ORIGINS does not list it. ` +
      'If it is null, the Referrer-Policy of the page hides it; let that be strict-origin.',
  });
}

/** Returns the token of a new session. Throws `unauthorized`, `rate_limited`, `api_disabled`. */
async function openByLink(
  exchange: AppExchange,
  given: unknown,
  opening: Opening,
): Promise<string> {
  const { options } = exchange;
  const { clock, secrets } = options.services;
  const token = await present(exchange, typeof given === 'string' ? given : '', 'link');
  const { verified } = token;
  if (verified?.identity.kind === 'user') {
    opening.reason = 'not_a_member';
    opening.team = verified.identity.teamId;
  }
  const caller = await admit(exchange, token, 1);
  if (verified?.identity.kind !== 'user') throw new ProblemError('unauthorized');
  opening.reason = 'used';
  opening.member = caller.actor.id;
  if (!caller.enabled) throw new ProblemError('api_disabled');
  const { identity } = verified;
  const db = options.db.forCaller({ share: identity.teamId });
  if (!(await spendToken(db, identity.teamId, verified))) throw new ProblemError('unauthorized');
  return issueSessionToken(identity, {
    secret: secrets.current,
    now: clock.now(),
    lifetimeS: SESSION_MAX_AGE_MS / 1000,
  });
}

/** The address in the admin page that the form names, or its first page. */
function placeOf(publicUrl: string, wanted: unknown): string {
  const base = new URL(`${publicUrl}/admin`);
  const url = typeof wanted === 'string' ? URL.parse(wanted, base) : null;
  const isOfPage = url?.pathname === base.pathname || url?.pathname.startsWith(`${base.pathname}/`);
  if (!url || url.origin !== base.origin || !isOfPage) return base.pathname;
  const place = url.pathname + url.search;
  return place.length > PLACE_MAX_CHARACTERS ? base.pathname : place;
}
