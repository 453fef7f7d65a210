import { createHash, randomUUID } from 'node:crypto';
import { jwtVerify, SignJWT, type JWTPayload, type JWTVerifyOptions } from 'jose';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import { findJsonFault } from '../../core/json.ts';
import { ProblemError } from '../../core/problem.ts';
import { createPublishedKeys, type PublishedKeysOptions } from './published-keys.ts';

/**
 * The caller, as the host application names them. Rights never come from the token: they are read
 * from the database at each call.
 */
export type Identity =
  | { readonly kind: 'user'; readonly userId: string; readonly teamId: string }
  | { readonly kind: 'platform'; readonly service: string };

/**
 * What a token opens: the app, or one session by a link, once. A token of the host application for
 * a user is one for a link if it has a `jti` and a life of a minute at most. That is what the route
 * of links has always demanded of it, so host applications need not mark it in another way.
 */
export type Opens = 'app' | 'link';

/** A token that is valid now. */
export interface VerifiedToken {
  readonly identity: Identity;
  readonly opens: Opens;
  /** A hash that stands for the token in its team: it is marked when the token is spent. */
  readonly id: string;
  /** When it is refused at last, even if it says that it lives longer. */
  readonly expiresAt: Date;
}

/**
 * Reads a token. Resolves with null for one that is not valid now or opens something else than what
 * is wanted, whatever the reason.
 */
export type VerifyToken = (token: string, wanted: Opens) => Promise<VerifiedToken | null>;

/** How tokens of the host application are verified: a shared secret, or its published keys. */
export type TokenKey =
  | { readonly kind: 'secret'; readonly secret: string }
  | ({ readonly kind: 'jwks' } & PublishedKeysOptions);

export const TOKEN_ISSUER = 'sales-training-platform';
export const TOKEN_AUDIENCE = 'team-customer-api';

/** Tokens must be short-lived. An older one is refused, whatever its `exp` says. */
const MAX_AGE_S = 3600;
/** For clocks that go wrong. */
const CLOCK_TOLERANCE_S = 5;
const LINK_MAX_AGE_S = 60;
const JTI_MAX_LENGTH = 200;
/** Without HMAC, because a published key must never count as a shared secret. */
const ASYMMETRIC = ['RS256', 'PS256', 'ES256', 'EdDSA'];

const claims = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('user'), sub: z.string().min(1), team_id: z.string().min(1) }),
  z.object({ kind: z.literal('platform'), sub: z.string().min(1) }),
]);

/**
 * Returns the function that reads a token of the host application, whatever it opens. It throws
 * `unavailable` when the published keys cannot be fetched.
 */
export function createTokenVerifier(
  key: TokenKey,
  clock: Clock,
  logger: Pick<Logger, 'warn'>,
): (token: string) => Promise<VerifiedToken | null> {
  const options: JWTVerifyOptions = {
    issuer: TOKEN_ISSUER,
    audience: TOKEN_AUDIENCE,
    requiredClaims: ['exp', 'iat', 'sub'],
    maxTokenAge: MAX_AGE_S,
    clockTolerance: CLOCK_TOLERANCE_S,
  };
  const verify = verifierOf(key, clock, logger);
  return async (token) => {
    const now = clock.now();
    try {
      const payload = await verify(token, { ...options, currentDate: now });
      const verified = toVerified(token, payload);
      return verified && isInTime(verified, now) ? verified : null;
    } catch (error) {
      if (error instanceof ProblemError) throw error;
      // jose throws many errors for an invalid token. The caller need not tell them apart.
      return null;
    }
  };
}

/**
 * Issues a token as the host application does. For the development login and for tests. No two are
 * the same, so the end of one is not that of another of the same second.
 */
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
    .setJti(randomUUID())
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + lifetimeS)
    .sign(new TextEncoder().encode(secret));
}

function verifierOf(
  key: TokenKey,
  clock: Clock,
  logger: Pick<Logger, 'warn'>,
): (token: string, options: JWTVerifyOptions) => Promise<JWTPayload> {
  if (key.kind === 'secret') {
    const secret = new TextEncoder().encode(key.secret);
    return async (token, options) =>
      (await jwtVerify(token, secret, { ...options, algorithms: ['HS256'] })).payload;
  }
  const keys = createPublishedKeys(key, clock, logger);
  return async (token, options) =>
    (await jwtVerify(token, keys, { ...options, algorithms: ASYMMETRIC })).payload;
}

function toVerified(token: string, payload: JWTPayload): VerifiedToken | null {
  const identity = toIdentity(payload);
  if (identity === null) return null;
  const { jti, iat = 0, exp = 0 } = payload;
  const isForLink = identity.kind === 'user' && jti !== undefined && exp - iat <= LINK_MAX_AGE_S;
  const id = isForLink ? idOfLink(jti) : idOfToken(token);
  if (id === null) return null;
  const opens = isForLink ? 'link' : 'app';
  const expiresAt = new Date(Math.min(exp, iat + MAX_AGE_S) * 1000);
  return { identity, opens, id, expiresAt };
}

/** A minute is a minute: the tolerance for clocks does not make the life of a link longer. */
function isInTime({ opens, expiresAt }: VerifiedToken, now: Date): boolean {
  return opens === 'app' || now < expiresAt;
}

/** Tokens with the same `jti` are one. null: it is no id. */
function idOfLink(jti: unknown): string | null {
  if (typeof jti !== 'string' || jti === '' || jti.length > JTI_MAX_LENGTH) return null;
  return digest(`link ${JSON.stringify(jti)}`);
}

/**
 * Of what is signed. A signature has several spellings: the last character has bits that count for
 * nothing, and of one with ECDSA anybody can make a second one.
 */
export function idOfToken(token: string): string {
  return digest(`token ${token.slice(0, token.lastIndexOf('.'))}`);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function toIdentity(payload: JWTPayload): Identity | null {
  const { data } = claims.safeParse(payload);
  // Text that Postgres cannot store names nobody.
  if (!data || findJsonFault(data)) return null;
  if (data.kind === 'platform') return { kind: 'platform', service: data.sub };
  return { kind: 'user', userId: data.sub, teamId: data.team_id };
}
