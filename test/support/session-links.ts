// The way to the admin page by a link of the host application.
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { TOKEN_AUDIENCE, TOKEN_ISSUER } from '../../src/http/app/token.ts';
import { TEST_APP_AUTH_SECRET, type TestApi } from './api.ts';
import { userId } from './seed.ts';

/** The origin whose pages may send the form. */
export const HOST = 'https://app.example.com';

/**
 * A token as the host application makes it for a link of the owner of `team_<team>`, with other
 * claims where a test needs them.
 */
export function linkToken(claims: Record<string, unknown> = {}, team = 'a'): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({
    kind: 'user',
    iss: TOKEN_ISSUER,
    aud: TOKEN_AUDIENCE,
    sub: userId(team, 'owner'),
    team_id: `team_${team}`,
    jti: randomUUID(),
    iat: now,
    exp: now + 60,
    ...claims,
  })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(TEST_APP_AUTH_SECRET));
}

/** What a form with a token leads to. */
export interface Followed {
  readonly status: number;
  readonly to: string | null;
  readonly cookie: string;
  readonly text: string;
}

/** Sends the form of a link. */
export async function followLink(
  api: Pick<TestApi, 'url'>,
  token: string,
  { back = '', origin = HOST } = {},
): Promise<Followed> {
  const response = await fetch(`${api.url}/trpc-session/link`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin },
    body: new URLSearchParams({ token, return: back }),
  });
  const [cookie = ''] = response.headers.getSetCookie();
  const text = await response.text();
  return { status: response.status, to: response.headers.get('location'), cookie, text };
}

/** The cookie as a browser sends it. */
export function sent(cookie: string): { readonly cookie: string } {
  return { cookie: cookie.split(';')[0] ?? '' };
}
