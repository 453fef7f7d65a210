/**
 * The service's own token for the session of a person who came by a link. The host application's
 * token for that is valid for a minute, so it cannot be the session.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { decodeJwt, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../../core/clock.ts';
import type { AppSecrets } from '../../core/encryption.ts';
import { idOfToken, type Identity, type VerifiedToken } from './token.ts';

const ISSUER = 'team-customer-api';
const AUDIENCE = 'admin-session';

type User = Extract<Identity, { readonly kind: 'user' }>;

/** Issues the token of a session of `lifetimeS` seconds. */
export function issueSessionToken(
  { userId, teamId }: User,
  {
    secret,
    now,
    lifetimeS,
  }: { readonly secret: string; readonly now: Date; readonly lifetimeS: number },
): Promise<string> {
  const issuedAt = Math.floor(now.getTime() / 1000);
  return (
    new SignJWT({ team_id: teamId })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject(userId)
      // Signing out of one session ends no other that was opened in the same second.
      .setJti(randomUUID())
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + lifetimeS)
      .sign(keyOf(secret))
  );
}

/** Whether the token says that the service has issued it. Nothing has been verified yet. */
export function isSessionToken(token: string): boolean {
  try {
    return decodeJwt(token).iss === ISSUER;
  } catch {
    // It is no JWT.
    return false;
  }
}

/**
 * Resolves with null for a token that is not valid now. Also accepts tokens made with
 * APP_SECRET_PREVIOUS, so that a rotation signs nobody out.
 */
export async function verifySessionToken(
  token: string,
  { secrets, clock }: { readonly secrets: AppSecrets; readonly clock: Clock },
): Promise<VerifiedToken | null> {
  for (const secret of [secrets.current, secrets.previous]) {
    const verified = secret === null ? null : await verifyWith(token, secret, clock.now());
    if (verified) return verified;
  }
  return null;
}

async function verifyWith(token: string, secret: string, now: Date): Promise<VerifiedToken | null> {
  try {
    const { payload } = await jwtVerify<{ readonly team_id: string }>(token, keyOf(secret), {
      issuer: ISSUER,
      audience: AUDIENCE,
      algorithms: ['HS256'],
      requiredClaims: ['exp', 'sub', 'team_id'],
      currentDate: now,
    });
    return {
      identity: { kind: 'user', userId: String(payload.sub), teamId: payload.team_id },
      opens: 'app',
      id: idOfToken(token),
      expiresAt: new Date(Number(payload.exp) * 1000),
    };
  } catch {
    // jose throws many errors for an invalid token. The caller need not tell them apart.
    return null;
  }
}

/** Another key than that of the CSRF tokens, made of the same secret. */
function keyOf(secret: string): Buffer {
  return createHmac('sha256', secret).update('admin session').digest();
}
