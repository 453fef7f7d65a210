import { createTRPCClient, httpLink, TRPCClientError, type TRPCClient } from '@trpc/client';
import { issueToken, type Identity } from '../../src/http/app/token.ts';
import type { AppRouter } from '../../src/routers/routers.ts';
import { TEST_APP_AUTH_SECRET, type TestApi } from './api.ts';
import { userId } from './seed.ts';

/** Returns a client of the tRPC API that sends this token; null sends none. */
export function appAs(api: Pick<TestApi, 'url'>, token: string | null): TRPCClient<AppRouter> {
  return appWith(api, token === null ? {} : { authorization: `Bearer ${token}` });
}

/** Returns a client of the tRPC API that sends these headers, such as those of a session. */
export function appWith(
  api: Pick<TestApi, 'url'>,
  headers: Record<string, string>,
): TRPCClient<AppRouter> {
  return createTRPCClient<AppRouter>({ links: [httpLink({ url: `${api.url}/trpc`, headers })] });
}

/** Issues a token for the identity, signed with the secret of tests and valid from `now`. */
export function tokenOf(identity: Identity, now = new Date(), lifetimeS?: number): Promise<string> {
  return issueToken(identity, TEST_APP_AUTH_SECRET, now, lifetimeS);
}

/** Returns a client of the tRPC API for the member `name` of `team_<team>`. */
export async function appAsMember(
  api: Pick<TestApi, 'url'>,
  team: string,
  name: string,
): Promise<TRPCClient<AppRouter>> {
  return appAs(api, await tokenOfMember(team, name));
}

/** Like `appAsMember`, but with a session, as the admin page has one. */
export async function appInSession(
  api: Pick<TestApi, 'url'>,
  team: string,
  name: string,
): Promise<TRPCClient<AppRouter>> {
  return appWith(api, (await openSession(api, await tokenOfMember(team, name))).headers);
}

function tokenOfMember(team: string, name: string): Promise<string> {
  return tokenOf({ kind: 'user', userId: userId(team, name), teamId: `team_${team}` });
}

/** Returns a client of the tRPC API for a service of the host application. */
export async function appAsPlatform(
  api: Pick<TestApi, 'url'>,
  service = 'training',
): Promise<TRPCClient<AppRouter>> {
  return appAs(api, await tokenOf({ kind: 'platform', service }));
}

/** Opens a session of the admin page with this token. `headers` are those that its calls send. */
export async function openSession(
  api: Pick<TestApi, 'url'>,
  token: string,
): Promise<{ status: number; code: string; headers: Record<string, string> }> {
  const authorization = `Bearer ${token}`;
  const opened = await fetch(`${api.url}/trpc-session`, {
    method: 'POST',
    headers: { authorization },
  });
  const { code = 'ok', csrf_token } = (await opened.json()) as Record<string, string>;
  const [cookie] = opened.headers.getSetCookie();
  const headers = {
    ...(cookie !== undefined && { cookie: cookie.split(';')[0] ?? '' }),
    ...(csrf_token !== undefined && { 'x-csrf-token': csrf_token }),
  };
  return { status: opened.status, code, headers };
}

/** Resolves with the problem code of a refused call, or with `ok`. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    if (!(error instanceof TRPCClientError)) throw error;
    const data = error.data as { problem?: { code?: string } } | undefined;
    return data?.problem?.code ?? error.message;
  }
}
