import { createTRPCClient, httpLink, TRPCClientError, type TRPCClient } from '@trpc/client';
import { issueToken, type Identity } from '../../src/http/app-token.ts';
import type { AppRouter } from '../../src/trpc/routers.ts';
import { TEST_APP_AUTH_SECRET, type TestApi } from './api.ts';
import { userId } from './seed.ts';

/** The app's door as somebody: the member `name` of `team_<team>`, a platform service, or whoever the token says. */
export function appAs(api: Pick<TestApi, 'url'>, token: string | null): TRPCClient<AppRouter> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  return createTRPCClient<AppRouter>({ links: [httpLink({ url: `${api.url}/trpc`, headers })] });
}

export function tokenOf(identity: Identity, now = new Date(), lifetimeS?: number): Promise<string> {
  return issueToken(identity, TEST_APP_AUTH_SECRET, now, lifetimeS);
}

export async function appAsMember(
  api: Pick<TestApi, 'url'>,
  team: string,
  name: string,
): Promise<TRPCClient<AppRouter>> {
  return appAs(api, await tokenOf({ kind: 'user', userId: userId(team, name), teamId: `team_${team}` }));
}

export async function appAsPlatform(api: Pick<TestApi, 'url'>, service = 'training'): Promise<TRPCClient<AppRouter>> {
  return appAs(api, await tokenOf({ kind: 'platform', service }));
}

/** The problem code that a call was refused with; `ok` when it was not. */
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
