/**
 * The token in the link that ends the alerts of one member. It needs no row and has no end of its
 * own: who has the mail may stop the mails. It is signed with a key of its own that is made of
 * APP_SECRET. A rotation of the secret ends the links of older mails when APP_SECRET_PREVIOUS goes.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { AppSecrets } from './encryption.ts';

/** Where the link leads, below the public URL. The token follows. */
export const UNSUBSCRIBE_PATH = '/unsubscribe';

/** Whose alerts a token ends. */
export interface Subscriber {
  readonly teamId: string;
  readonly memberId: string;
}

/** Returns the token of a member. It is fit for a path. */
export function unsubscribeToken({ teamId, memberId }: Subscriber, secret: string): string {
  const text = Buffer.from(JSON.stringify([teamId, memberId])).toString('base64url');
  return `${text}.${signatureOf(text, secret).toString('base64url')}`;
}

/** Returns whose token it is; null if it is not ours. */
export function readUnsubscribeToken(
  token: string,
  { current, previous }: AppSecrets,
): Subscriber | null {
  const [text = '', signature = '', ...rest] = token.split('.');
  const given = Buffer.from(signature, 'base64url');
  const isOurs = [current, previous].some(
    (secret) => secret !== null && isEqual(given, signatureOf(text, secret)),
  );
  if (!isOurs || rest.length > 0) return null;
  const [teamId, memberId] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [
    string,
    string,
  ];
  return { teamId, memberId };
}

function signatureOf(text: string, secret: string): Buffer {
  const key = createHmac('sha256', secret).update('unsubscribe').digest();
  return createHmac('sha256', key).update(text).digest();
}

function isEqual(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
