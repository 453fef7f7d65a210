import {
  createRemoteJWKSet,
  errors,
  jwtVerify,
  SignJWT,
  type JWTPayload,
  type JWTVerifyOptions,
} from 'jose';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import { ProblemError } from '../../core/problem.ts';
import { unavailable } from '../../db/errors.ts';

/** Who the host application says is calling. What they may is read from the database at each call, never from the token. */
export type Identity =
  | { readonly kind: 'user'; readonly userId: string; readonly teamId: string }
  | { readonly kind: 'platform'; readonly service: string };

/** How tokens of the host application are verified: a shared secret, or its published keys. */
export type TokenKey =
  | { readonly kind: 'secret'; readonly secret: string }
  | {
      readonly kind: 'jwks';
      readonly url: string;
      /** How long a published set of keys is not asked for again because a token names a key that is not in it. */
      readonly cooldownMs?: number;
      /** How long the keys may be on their way. */
      readonly timeoutMs?: number;
    };

export const TOKEN_ISSUER = 'sales-training-platform';
export const TOKEN_AUDIENCE = 'team-customer-api';

/** A token must be short-lived: an older one is refused, whatever its `exp` says. */
const MAX_AGE_S = 3600;
const CLOCK_TOLERANCE_S = 5;
const JWKS_TIMEOUT_MS = 3_000;
/** A new key is used a moment after it is published, at the latest; whoever invents key ids causes one request in that time. */
const JWKS_COOLDOWN_MS = 5_000;
/** Of HMAC there is none, so that a published key is never taken for a shared secret. */
const ASYMMETRIC = ['RS256', 'PS256', 'ES256', 'EdDSA'];

const claims = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('user'), sub: z.string().min(1), team_id: z.string().min(1) }),
  z.object({ kind: z.literal('platform'), sub: z.string().min(1) }),
]);

/** Reads tokens; null for one that is not valid now, whatever the reason. Throws `unavailable` when that cannot be told, for lack of the published keys. */
export function createTokenVerifier(
  key: TokenKey,
  clock: Clock,
): (token: string) => Promise<Identity | null> {
  const options: JWTVerifyOptions = {
    issuer: TOKEN_ISSUER,
    audience: TOKEN_AUDIENCE,
    requiredClaims: ['exp', 'iat', 'sub'],
    maxTokenAge: MAX_AGE_S,
    clockTolerance: CLOCK_TOLERANCE_S,
  };
  const verify = verifierOf(key);
  return async (token) => {
    try {
      return toIdentity(await verify(token, { ...options, currentDate: clock.now() }));
    } catch (error) {
      if (error instanceof ProblemError) throw error;
      // jose says in many ways that a token is not valid; to the caller they are all one.
      return null;
    }
  };
}

/** A token as the host application issues it; for the development login and for tests. */
export function issueToken(
  identity: Identity,
  secret: string,
  now: Date,
  lifetimeS = 900,
): Promise<string> {
  const subject = identity.kind === 'user' ? identity.userId : identity.service;
  const payload =
    identity.kind === 'user' ? { kind: 'user', team_id: identity.teamId } : { kind: 'platform' };
  const issuedAt = Math.floor(now.getTime() / 1000);
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(subject)
    .setIssuer(TOKEN_ISSUER)
    .setAudience(TOKEN_AUDIENCE)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + lifetimeS)
    .sign(new TextEncoder().encode(secret));
}

function verifierOf(
  key: TokenKey,
): (token: string, options: JWTVerifyOptions) => Promise<JWTPayload> {
  if (key.kind === 'secret') {
    const secret = new TextEncoder().encode(key.secret);
    return async (token, options) =>
      (await jwtVerify(token, secret, { ...options, algorithms: ['HS256'] })).payload;
  }
  const remote = createRemoteJWKSet(new URL(key.url), {
    timeoutDuration: key.timeoutMs ?? JWKS_TIMEOUT_MS,
    cooldownDuration: key.cooldownMs ?? JWKS_COOLDOWN_MS,
  });
  const keys: typeof remote = Object.assign(async (...header: Parameters<typeof remote>) => {
    try {
      return await remote(...header);
    } catch (error) {
      if (isTokensFault(error)) throw error;
      throw unavailable(error);
    }
  }, remote);
  return async (token, options) =>
    (await jwtVerify(token, keys, { ...options, algorithms: ASYMMETRIC })).payload;
}

/** Whether no published key fits the token. Everything else that goes wrong in finding its key is the fault of whoever publishes, or of the network. */
function isTokensFault(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

function toIdentity(payload: JWTPayload): Identity | null {
  const { data } = claims.safeParse(payload);
  if (!data) return null;
  if (data.kind === 'platform') return { kind: 'platform', service: data.sub };
  return { kind: 'user', userId: data.sub, teamId: data.team_id };
}
