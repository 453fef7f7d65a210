/**
 * The session of the admin page: `POST /trpc-session` keeps a token of the host application in a
 * cookie (httpOnly, SameSite=strict). With the cookie, a request that changes something also needs
 * the session's CSRF token, in a header that no other site can send.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler, Response, Router } from 'express';
import { isLoopbackHost } from '../../core/loopback.ts';
import { ProblemError } from '../../core/problem.ts';
import { isSandbox, sandboxIdOf } from '../../core/sandbox.ts';
import type { Db } from '../../db/client.ts';
import { bearerTokenOf } from '../api/authentication/credential.ts';
import {
  admit,
  beginExchange,
  beginRefusal,
  describeProblem,
  enterMode,
  identify,
  present,
  requireCounted,
  type AppExchange,
  type TrpcOptions,
} from './admission.ts';
import { findSandboxFacts, findTeamName, listDevelopmentPeople } from './caller-store.ts';
import { cookieOf, cookieOptions, SESSION_MAX_AGE_MS } from './session-cookie.ts';
import { logSession } from './session-log.ts';
import { spendToken } from './spent-token-store.ts';
import { issueToken } from './token.ts';

const CSRF_HEADER = 'x-csrf-token';

/** Adds the routes that open, describe and close a session. */
export function addSessionRoutes(
  router: Router,
  given: Pick<AppExchange, 'options' | 'verify'>,
): void {
  const { options } = given;
  router.post('/trpc-session', handle(given, openSession));
  router.get('/trpc-session', handle(given, describeSession));
  router.delete('/trpc-session', handle(given, closeSession));
  if (options.developmentTeamId === null) return;
  const teamId = options.developmentTeamId;
  router.get(
    '/trpc-session/development',
    handle(given, (exchange) => listPeople(exchange, teamId)),
  );
  router.post(
    '/trpc-session/development/:userId',
    handle(given, (exchange) => logIn(exchange, teamId)),
  );
}

/** The bearer token, or the token of the cookie if the request may use it. */
export function tokenOf(options: TrpcOptions, request: Request): string | null {
  const bearer = bearerTokenOf(request.headers.authorization);
  if (bearer !== null) return bearer;
  const cookie = sessionOf(options, request);
  if (cookie === null) return null;
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  return isRead || isCsrfToken(options, request.headers[CSRF_HEADER], cookie) ? cookie : null;
}

/** The token of the cookie. */
function sessionOf({ publicUrl }: TrpcOptions, { headers }: Request): string | null {
  return readCookie(cookieOf(publicUrl), headers.cookie ?? '');
}

async function openSession(exchange: AppExchange): Promise<void> {
  const { options, request, response } = exchange;
  const token = bearerTokenOf(request.headers.authorization);
  const caller = await admit(exchange, await present(exchange, token, 'app'), 1);
  if (token === null || caller.actor.kind !== 'user') throw new ProblemError('unauthorized');
  if (!caller.enabled) throw new ProblemError('api_disabled');
  const cookie = { ...cookieOptions(options.publicUrl), maxAge: SESSION_MAX_AGE_MS };
  response.cookie(cookieOf(options.publicUrl), token, cookie);
  logSession(exchange, 'signed in', {
    team: caller.team?.id,
    member: caller.actor.id,
    way: 'token',
  });
  response.status(200).json({ csrf_token: csrfTokenOf(options.services.secrets.current, token) });
}

/**
 * Ends the token of the cookie, on all processes. It needs no CSRF token: browsers ask before they
 * send DELETE to another origin, and are refused. Whoever has no session gets the same answer.
 *
 * A limit that the person or the team has used up holds nobody in a session: that would be one that
 * somebody wants to end because of what is done with it. It works once, for a spent token is
 * nobody's.
 */
async function closeSession(exchange: AppExchange): Promise<void> {
  const { options, request, response } = exchange;
  const token = await present(exchange, sessionOf(options, request), 'app');
  const found = await identify(exchange, token, 1);
  const { caller } = found;
  if (!caller) {
    requireCounted(exchange, found);
    // It is a refusal for everybody but the caller.
    await options.callerLimits.refused(request);
  }
  const { verified } = token;
  if (caller && verified?.identity.kind === 'user') {
    const { teamId } = verified.identity;
    const isNew = await spendToken(options.db.forCaller({ share: teamId }), teamId, verified);
    if (isNew) logSession(exchange, 'signed out', { team: teamId, member: caller.actor.id });
  }
  response
    .clearCookie(cookieOf(options.publicUrl), cookieOptions(options.publicUrl))
    .status(204)
    .end();
}

/**
 * Says who is signed in, for the admin page, and as whom and in which team its calls are made.
 * Throws `not_found` for the sandbox of a team that has none. Pages of other origins cannot read
 * the response, so it may hold the session's CSRF token. That is null for a bearer token, which
 * needs none.
 */
async function describeSession(exchange: AppExchange): Promise<void> {
  const { options, request, response } = exchange;
  const token = tokenOf(options, request);
  const presented = await present(exchange, token, 'app');
  const dbFor = (teamId: string) => options.db.forCaller({ share: teamId });
  const admitted = await admit(exchange, presented, 1);
  const { actor, team, enabled } = await enterMode(exchange, admitted, dbFor);
  const { verified } = presented;
  if (token === null || !verified || actor.kind !== 'user' || !team)
    throw new ProblemError('unauthorized');
  if (!enabled) throw new ProblemError('api_disabled');
  const isBearer = bearerTokenOf(request.headers.authorization) !== null;
  response.json({
    has_sandbox: await hasSandbox(dbFor, team.id),
    csrf_token: isBearer ? null : csrfTokenOf(options.services.secrets.current, token),
    expires_at: verified.expiresAt.toISOString(),
    member_id: actor.id,
    role: actor.role,
    rights: actor.rights,
    team: {
      id: team.id,
      name: await findTeamName(dbFor(team.id), team.id),
      language: team.language,
    },
  });
}

/** Whether a team has a sandbox, or is one. */
async function hasSandbox(dbFor: (teamId: string) => Db, teamId: string): Promise<boolean> {
  if (isSandbox(teamId)) return true;
  const sandboxId = sandboxIdOf(teamId);
  return (await findSandboxFacts(dbFor(sandboxId), sandboxId)) !== null;
}

/** Lists whom the development login can sign in. */
async function listPeople(exchange: AppExchange, teamId: string): Promise<void> {
  requireThisMachine(exchange);
  const db = exchange.options.db.forCaller({ share: teamId });
  exchange.response.json({ people: await listDevelopmentPeople(db, teamId) });
}

/** Issues the same token as the host application, for a member of the demo team. */
async function logIn(exchange: AppExchange, teamId: string): Promise<void> {
  const { options, request, response } = exchange;
  const { tokenKey, services } = options;
  requireThisMachine(exchange);
  if (tokenKey?.kind !== 'secret') throw new ProblemError('not_found');
  const identity = { kind: 'user', userId: String(request.params['userId']), teamId } as const;
  const token = await issueToken(identity, tokenKey.secret, services.clock.now());
  const presented = await present(exchange, token, 'app');
  await admit(exchange, presented, 1).catch((error: unknown) => {
    const isUnknown = error instanceof ProblemError && error.code === 'unauthorized';
    throw isUnknown ? new ProblemError('not_found') : error;
  });
  response.json({ token });
}

/**
 * Throws `forbidden` unless the request was sent to a name of this machine, or to the public URL. A
 * page of another site can point its own name at this machine, and then read the answers.
 */
function requireThisMachine({ options, request }: AppExchange): void {
  const { host } = request.headers;
  const name = host?.replace(/:\d+$/, '') ?? '';
  if (isLoopbackHost(name) || host === new URL(options.publicUrl).host) return;
  throw new ProblemError('forbidden', {
    detail: 'The development login works only at localhost and at PUBLIC_URL.',
  });
}

function handle(
  given: Pick<AppExchange, 'options' | 'verify'>,
  work: (exchange: AppExchange) => Promise<void>,
): RequestHandler {
  return async (request: Request, response: Response) => {
    const exchange = beginExchange({ ...given, request, response });
    try {
      await work(exchange);
    } catch (error) {
      const problem = await beginRefusal(exchange, error);
      const body = JSON.stringify(describeProblem(exchange, problem));
      response.type('application/problem+json').send(body);
    }
  };
}

function readCookie(name: string, header: string): string | null {
  const pair = header.split(';').find((text) => text.trim().startsWith(`${name}=`));
  return pair?.split('=')[1]?.trim() ?? null;
}

/** The CSRF token is bound to the session, so it is useless for another one. */
function csrfTokenOf(appSecret: string, session: string): string {
  return createHmac('sha256', appSecret).update(`csrf ${session}`).digest('base64url');
}

/** Also accepts tokens made with APP_SECRET_PREVIOUS, so that a rotation signs nobody out. */
function isCsrfToken(
  { services }: TrpcOptions,
  given: string | string[] | undefined,
  session: string,
): boolean {
  const { current, previous } = services.secrets;
  const made = previous === null ? [current] : [current, previous];
  return made.some((secret) => isSame(given, csrfTokenOf(secret, session)));
}

function isSame(given: string | string[] | undefined, expected: string): boolean {
  // Compare the lengths in bytes: a character may have several.
  const [a, b] = [Buffer.from(String(given ?? '')), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
