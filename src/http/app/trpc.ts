/**
 * The tRPC API at `/trpc`: the same procedures for the team's admins and for the services of the
 * host application.
 *
 * A token of the host application comes as a bearer token or, for the admin page, in a cookie that
 * `POST /trpc-session` sets (httpOnly, SameSite=strict). With the cookie, a request that changes
 * something also needs the session's CSRF token, in a header that no other site can send.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createExpressMiddleware } from '@trpc/server/adapters/express';
import { Router, type Request, type Response } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { newRequestId } from '../../core/ids.ts';
import { ProblemError } from '../../core/problem.ts';
import type { Db } from '../../db/client.ts';
import type { CallerContext, Services } from '../../trpc/context.ts';
import { appRouter } from '../../routers/routers.ts';
import { findCaller, type Caller } from './caller.ts';
import { createTokenVerifier, issueToken, type TokenKey } from './token.ts';
import { negotiateLanguage } from '../api/language.ts';
import { BODY_MAX_BYTES } from '../api/request-body.ts';
import { problemBody, toProblem, type ProblemBody } from '../api/problem-response.ts';

export interface TrpcOptions {
  readonly db: Db;
  readonly services: Services;
  readonly publicUrl: string;
  readonly logger: Logger;
  /** null: nobody can sign in. */
  readonly tokenKey: TokenKey | null;
  /** Development only: allows a login as any member of this team, without a password. */
  readonly developmentTeamId: string | null;
}

const COOKIE = 'svc_session';
const CSRF_HEADER = 'x-csrf-token';
const SESSION_MAX_AGE_MS = 3_600_000;

export function trpcRouter(options: TrpcOptions): Router {
  const router = Router();
  const verify = options.tokenKey
    ? createTokenVerifier(options.tokenKey, options.services.clock)
    : async () => null;
  const callerOf = async (token: string | null): Promise<Caller | null> => {
    const identity = token === null ? null : await verify(token);
    return identity && findCaller(options.db, identity);
  };
  router.use(['/trpc', '/trpc-session'], helmet());
  router.post('/trpc-session', (request, response) =>
    answer(options, { request, response }, () => openSession(options, request, response, callerOf)),
  );
  router.delete('/trpc-session', (_request, response) => {
    response.clearCookie(COOKIE, cookieOptions(options)).status(204).end();
  });
  if (options.developmentTeamId !== null)
    addDevelopmentLogin(router, options, options.developmentTeamId);
  router.use(
    '/trpc',
    createExpressMiddleware({
      router: appRouter,
      createContext: ({ req, res }) =>
        createContext(options, { request: req, response: res }, callerOf),
      onError: ({ error, ctx, path }) => {
        if (toProblem(error, null).status >= 500)
          options.logger.error({ err: error, requestId: ctx?.requestId, path }, 'trpc');
      },
      // The status of the first error is the status that the REST API responds with.
      responseMeta: ({ errors: [error] }) =>
        error ? { status: toProblem(error, null).status } : {},
      maxBodySize: BODY_MAX_BYTES,
    }),
  );
  return router;
}

type CallerOf = (token: string | null) => Promise<Caller | null>;

async function createContext(
  options: TrpcOptions,
  { request, response }: ExpressExchange,
  callerOf: CallerOf,
): Promise<CallerContext> {
  const requestId = newRequestId();
  const language = negotiateLanguage(request.headers['accept-language']);
  response.setHeader('X-Request-Id', requestId);
  response.setHeader('Cache-Control', 'no-store');
  const describeError = (error: unknown): ProblemBody =>
    problemBody(toProblem(error, null), { publicUrl: options.publicUrl, language, requestId });
  const { db, services } = options;
  const shared = { requestId, language, db, services, describeError, fault: null };
  const nobody = { actor: null, team: null, privacy: null, enabled: false };
  try {
    return { ...shared, ...((await callerOf(tokenOf(options, request))) ?? nobody) };
  } catch (error) {
    // tRPC formats an error with the context. So return one, and let the procedure throw the error.
    return { ...shared, ...nobody, fault: error as Error };
  }
}

interface ExpressExchange {
  readonly request: Request;
  readonly response: Response;
}

/** The bearer token, or the token of the cookie if the request may use it. */
function tokenOf(options: TrpcOptions, request: Request): string | null {
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (bearer !== undefined) return bearer;
  const cookie = readCookie(request.headers.cookie ?? '');
  if (cookie === null) return null;
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  return isRead || isCsrfToken(options, request.headers[CSRF_HEADER], cookie) ? cookie : null;
}

async function openSession(
  options: TrpcOptions,
  request: Request,
  response: Response,
  callerOf: CallerOf,
): Promise<void> {
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null;
  const caller = await callerOf(token);
  if (token === null || caller?.actor.kind !== 'user') throw new ProblemError('unauthorized');
  if (!caller.enabled) throw new ProblemError('api_disabled');
  response.cookie(COOKIE, token, { ...cookieOptions(options), maxAge: SESSION_MAX_AGE_MS });
  response.status(200).json({ csrf_token: csrfTokenOf(options.services.secrets.current, token) });
}

/** Issues the same token as the host application, for a member of the demo team. */
function addDevelopmentLogin(router: Router, options: TrpcOptions, teamId: string): void {
  router.post('/trpc-session/development/:userId', (request, response) =>
    answer(options, { request, response }, async () => {
      if (options.tokenKey?.kind !== 'secret') throw new ProblemError('not_found');
      const identity = { kind: 'user', userId: request.params.userId, teamId } as const;
      if (!(await findCaller(options.db, identity))) throw new ProblemError('not_found');
      response.json({
        token: await issueToken(identity, options.tokenKey.secret, options.services.clock.now()),
      });
    }),
  );
}

async function answer(
  options: TrpcOptions,
  { request, response }: ExpressExchange,
  work: () => Promise<void>,
): Promise<void> {
  const requestId = newRequestId();
  response.setHeader('X-Request-Id', requestId);
  response.setHeader('Cache-Control', 'no-store');
  try {
    await work();
  } catch (error) {
    const problem = toProblem(error, null);
    if (problem.status >= 500) options.logger.error({ err: error, requestId }, problem.code);
    const language = negotiateLanguage(request.headers['accept-language']);
    const body = problemBody(problem, { publicUrl: options.publicUrl, language, requestId });
    response.status(problem.status).type('application/problem+json').send(JSON.stringify(body));
  }
}

function cookieOptions({ publicUrl }: TrpcOptions) {
  return {
    httpOnly: true,
    sameSite: 'strict',
    secure: publicUrl.startsWith('https:'),
    path: '/',
  } as const;
}

function readCookie(header: string): string | null {
  const pair = header.split(';').find((text) => text.trim().startsWith(`${COOKIE}=`));
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
  if (typeof given !== 'string' || given.length !== expected.length) return false;
  return timingSafeEqual(Buffer.from(given), Buffer.from(expected));
}
