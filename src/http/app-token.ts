import { createRemoteJWKSet, jwtVerify, SignJWT, type JWTPayload, type JWTVerifyOptions } from 'jose';
import { z } from 'zod';
import type { Clock } from '../core/clock.ts';

/** Who the host application says is calling. What they may is read from the database at each call, never from the token. */
export type Identity =
  | { readonly kind: 'user'; readonly userId: string; readonly teamId: string }
  | { readonly kind: 'platform'; readonly service: string };

/** How tokens of the host application are verified: a shared secret, or its published keys. */
export type TokenKey =
  | { readonly kind: 'secret'; readonly secret: string }
  | { readonly kind: 'jwks'; readonly url: string };

export const TOKEN_ISSUER = 'sales-training-platform';
export const TOKEN_AUDIENCE = 'team-customer-api';

/** A token must be short-lived: an older one is refused, whatever its `exp` says. */
const MAX_AGE_S = 3600;
const CLOCK_TOLERANCE_S = 5;
const ASYMMETRIC = ['RS256', 'PS256', 'ES256', 'EdDSA'];

const claims = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('user'), sub: z.string().min(1), team_id: z.string().min(1) }),
  z.object({ kind: z.literal('platform'), sub: z.string().min(1) }),
]);

/** Reads tokens; null for one that is not valid now, whatever the reason. */
export function createTokenVerifier(key: TokenKey, clock: Clock): (token: string) => Promise<Identity | null> {
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
    } catch {
      // jose says in many ways that a token is not valid; to the caller they are all one.
      return null;
    }
  };
}

/** A token as the host application issues it; for the development login and for tests. */
export function issueToken(identity: Identity, secret: string, now: Date, lifetimeS = 900): Promise<string> {
  const subject = identity.kind === 'user' ? identity.userId : identity.service;
  const payload = identity.kind === 'user' ? { kind: 'user', team_id: identity.teamId } : { kind: 'platform' };
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

function verifierOf(key: TokenKey): (token: string, options: JWTVerifyOptions) => Promise<JWTPayload> {
  if (key.kind === 'secret') {
    const secret = new TextEncoder().encode(key.secret);
    return async (token, options) => (await jwtVerify(token, secret, { ...options, algorithms: ['HS256'] })).payload;
  }
  const keys = createRemoteJWKSet(new URL(key.url), { timeoutDuration: 3_000 });
  return async (token, options) => (await jwtVerify(token, keys, { ...options, algorithms: ASYMMETRIC })).payload;
}

function toIdentity(payload: JWTPayload): Identity | null {
  const { data } = claims.safeParse(payload);
  if (!data) return null;
  if (data.kind === 'platform') return { kind: 'platform', service: data.sub };
  return { kind: 'user', userId: data.sub, teamId: data.team_id };
}
