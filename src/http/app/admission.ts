/** What all routes of the app have in common: request id, headers, caller and count. */
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import type { Actor } from '../../core/actor.ts';
import { newRequestId } from '../../core/ids.ts';
import type { Language } from '../../core/language.ts';
import type { ClientAddress } from '../../core/network.ts';
import type { Limit, ObserveOutcome, ObserveRefusal } from '../../core/limits.ts';
import { overLimit, ProblemError } from '../../core/problem.ts';
import { sandboxIdOf, type Mode } from '../../core/sandbox.ts';
import type { RequestTrace, Tracing } from '../../core/trace.ts';
import type { Db } from '../../db/client.ts';
import type { Database } from '../../db/connections/database.ts';
import type { Services } from '../../trpc/context.ts';
import type { RateLimits, RateState } from '../api/authentication/rate-limits.ts';
import type { Bodies } from '../api/bodies.ts';
import type { CallerLimits } from '../api/caller-limits.ts';
import { hasHungUp } from '../api/hang-up.ts';
import { negotiateLanguage } from '../api/language.ts';
import {
  isOurFault,
  isTeamBusy,
  problemBody,
  retryAfterOf,
  toProblem,
  type ProblemBody,
} from '../api/problem-response.ts';
import type { FailedCall } from './calls-log.ts';
import { enterSandbox, findCaller, type Caller, type CallerAuthentication } from './caller.ts';
import type { Opens, TokenKey, VerifiedToken, VerifyToken } from './token.ts';

export interface TrpcOptions {
  readonly db: Database;
  readonly services: Services;
  readonly limits: RateLimits;
  readonly publicUrl: string;
  readonly logger: Logger;
  readonly addressOf: (request: Request) => ClientAddress;
  readonly callerLimits: CallerLimits;
  readonly bodies: Bodies;
  /** Called for each call, with the name of its procedure or `unknown`. */
  readonly observeCall: ObserveOutcome;
  readonly observeRefusal: ObserveRefusal;
  /** null: nobody can sign in. */
  readonly tokenKey: TokenKey | null;
  /** null: requests are not traced. */
  readonly tracing?: Tracing | null;
  /** Development only: allows a login as any member of this team, without a password. */
  readonly developmentTeamId: string | null;
}

/** A request of the app with its response. */
export interface AppExchange {
  readonly options: TrpcOptions;
  readonly verify: VerifyToken;
  readonly request: Request;
  readonly response: Response;
  readonly requestId: string;
  readonly language: Language;
  /** null: the request is not traced. */
  readonly trace: RequestTrace | null;
  /** When the request came; a time of performance.now(). */
  readonly startedAt: number;
  /** What the trace and the log have to tell of the request so far. */
  readonly told: {
    /** The procedures that it names, whether or not there are such. */
    calls: readonly string[];
    code: string | null;
    teamId: string | null;
    /** Who calls. null: nobody is signed in. */
    kind: Actor['kind'] | null;
    /** Why none of its calls was made. */
    refusal: ProblemError | null;
    readonly failures: FailedCall[];
  };
}

/** Gives the request an id and sets the headers that every response has. */
export function beginExchange(
  given: Pick<AppExchange, 'options' | 'verify' | 'request' | 'response'>,
  trace: RequestTrace | null = null,
): AppExchange {
  const requestId = newRequestId();
  given.response.setHeader('X-Request-Id', requestId);
  given.response.setHeader('Cache-Control', 'no-store');
  const language = negotiateLanguage(given.request.headers['accept-language']);
  const told = { calls: [], code: null, teamId: null, kind: null, refusal: null, failures: [] };
  return { ...given, requestId, language, trace, told, startedAt: performance.now() };
}

/** The token of a request. */
export interface Presented {
  /** As it came; null: there is none. */
  readonly text: string | null;
  /** null: it does not open what it was shown for. */
  readonly verified: VerifiedToken | null;
}

/**
 * Reads the token of a request, which must open what is wanted. Throws `unavailable` if it cannot
 * be verified now. Its key may be invented, so that counts as a stranger's (`rate_limited`).
 */
export async function present(
  exchange: AppExchange,
  text: string | null,
  wanted: Opens,
): Promise<Presented> {
  if (text === null) return { text, verified: null };
  try {
    return { text, verified: await exchange.verify(text, wanted) };
  } catch (error) {
    await countStranger(exchange);
    throw error;
  }
}

/**
 * Finds the caller of a token and counts the calls of the request. Throws `rate_limited`, and
 * `unauthorized` if nobody is signed in. Nothing of the body has been read yet.
 */
export async function admit(
  exchange: AppExchange,
  presented: Presented,
  calls: number,
): Promise<Caller> {
  const found = await identify(exchange, presented, calls);
  requireCounted(exchange, found);
  if (!found.caller) throw new ProblemError('unauthorized', { detail: refusalOf(presented.text) });
  return found.caller;
}

/** Like {@link admit}, but refuses nobody: that is for `requireCounted`. */
export async function identify(
  exchange: AppExchange,
  { verified }: Presented,
  calls: number,
): Promise<CallerAuthentication> {
  const { options, request } = exchange;
  const identity = verified?.identity;
  const askedAt = performance.now();
  const db = options.db.forTeam(identity?.kind === 'user' ? identity.teamId : null);
  const found = await findCaller(db, {
    token: verified,
    ip: options.addressOf(request).counted,
    calls,
    limits: options.limits,
    clock: options.services.clock,
  });
  const { caller } = found;
  // A service is known by its token alone.
  if (identity?.kind !== 'platform') exchange.trace?.step('http.authenticateCaller', askedAt, null);
  if (caller) exchange.trace?.known();
  exchange.told.teamId = caller?.team?.id ?? null;
  exchange.told.kind = caller?.actor.kind ?? null;
  options.callerLimits.authenticated(request);
  showRate(exchange, found);
  return found;
}

/**
 * The caller in the team that the request is about: the admin page says with each of them which of
 * the two it shows. Throws `unauthorized` if the page shows another team than that of the session,
 * and `not_found` for the sandbox of a team that has none.
 */
export async function enterMode(
  { request }: AppExchange,
  caller: Caller,
  dbFor: (teamId: string) => Db,
): Promise<Caller> {
  const isTest = request.headers['svc-mode'] === ('test' satisfies Mode);
  requireShownTeam(request, caller, isTest);
  return isTest ? enterSandbox(caller, dbFor) : caller;
}

/**
 * The cookie is shared by all tabs of a browser, so another tab may have signed in to another team.
 * A page that was opened before must neither show what is that team's nor change it. Callers with a
 * token of their own need not name a team.
 */
function requireShownTeam(request: Request, { team }: Caller, isTest: boolean): void {
  const shown = request.headers['svc-team'];
  if (shown === undefined) return;
  // Ids of teams may have characters that no header has.
  const id = team && encodeURIComponent(isTest ? sandboxIdOf(team.id) : team.id);
  if (shown === id) return;
  throw new ProblemError('unauthorized', {
    detail: 'You are signed in to another team than the one that "Svc-Team" names.',
  });
}

/**
 * Counts a request that needs no token for its address, as one without a valid token. Throws
 * `rate_limited`.
 */
async function countStranger(exchange: AppExchange): Promise<void> {
  const { options, request } = exchange;
  const found = await findCaller(options.db.forTeam(null), {
    token: null,
    ip: options.addressOf(request).counted,
    calls: 1,
    limits: options.limits,
    clock: options.services.clock,
  });
  options.callerLimits.authenticated(request);
  showRate(exchange, found);
  requireCounted(exchange, found);
}

/** Sets the headers of the limit. */
function showRate({ response }: AppExchange, { rate }: CallerAuthentication): void {
  if (!rate) return;
  response.setHeader('RateLimit-Limit', rate.limit);
  response.setHeader('RateLimit-Remaining', rate.remaining);
  response.setHeader('RateLimit-Reset', rate.resetS);
}

/** Throws `rate_limited` for calls that were not counted. */
export function requireCounted(
  { options }: AppExchange,
  { caller, rate, counted }: CallerAuthentication,
): void {
  if (!rate || counted) return;
  const limit = limitOf(rate, caller, options.limits);
  options.observeRefusal(limit, caller?.team?.id ?? null);
  throw overLimit(limit, new ProblemError('rate_limited', { retry_after: rate.resetS }));
}

/** The limit that refused calls have reached. */
function limitOf({ limit }: RateState, caller: Caller | null, limits: RateLimits): Limit {
  if (!caller) return 'address_rate';
  return limits.personPerMinute === limit ? 'person_rate' : 'team_rate';
}

/** Says what is missing. It tells nothing about the person or the team of a token. */
function refusalOf(token: string | null): string {
  if (token === null) {
    return (
      'There is no token. Send it as "Authorization: Bearer", or open a session; ' +
      'changes in a session need its CSRF token, too.'
    );
  }
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token)
    ? 'The token is not valid, or not for an active member.'
    : 'The token is malformed. It must be a JWT.';
}

/**
 * Sets the status and the headers of a refusal that comes before the work, and logs it if the fault
 * is ours. Resolves when the refusal may be sent.
 */
export async function beginRefusal(exchange: AppExchange, error: unknown): Promise<ProblemError> {
  const { options, request, response, requestId } = exchange;
  const problem = toProblem(error, null);
  exchange.told.code = problem.code;
  exchange.told.refusal = problem;
  if (problem.status < 500) await options.callerLimits.refused(request);
  else if (isTeamBusy(problem)) await holdBackBusy(exchange, 1);
  if (isOurFault(error, problem) && !hasHungUp(response))
    options.logger.error({ err: error, request_id: requestId }, problem.code);
  response.status(problem.status);
  setProblemHeaders(response, problem);
  // The rest of the body is not read, so the connection cannot be reused.
  if (!request.complete) response.setHeader('Connection', 'close');
  return problem;
}

/**
 * Resolves when the refusal of so many calls may be sent, whose team has too much in progress. That
 * of the host application's services is not held back: one address of theirs calls for all teams.
 */
export async function holdBackBusy(
  { options, request, told }: AppExchange,
  calls: number,
): Promise<void> {
  if (told.kind !== 'platform') await options.callerLimits.refused(request, calls);
}

/** Sets the headers that belong to a problem. */
export function setProblemHeaders(response: Response, problem: ProblemError): void {
  if (problem.code === 'unauthorized') response.setHeader('WWW-Authenticate', 'Bearer');
  const retryAfterS = retryAfterOf(problem);
  if (retryAfterS !== null) response.setHeader('Retry-After', String(retryAfterS));
}

/** Makes the body of a problem, or what tRPC calls its data. */
export function describeProblem(
  { options, language, requestId }: AppExchange,
  problem: ProblemError,
): ProblemBody {
  return problemBody(problem, {
    publicUrl: options.publicUrl,
    language,
    requestId,
    route: null,
  });
}
