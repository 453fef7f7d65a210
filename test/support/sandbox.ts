import type { TRPCClient } from '@trpc/client';
import type { Scenario } from '../../src/features/sandbox/rules.ts';
import type { AppRouter } from '../../src/routers/routers.ts';
import type { TestApi } from './api.ts';
import { appAs, appWith, tokenOf } from './app.ts';
import { userId } from './seed.ts';

/** Returns a client of the tRPC API that acts in the sandbox of `team_<team>`, valid from `now`. */
export async function appInSandbox(
  api: Pick<TestApi, 'url'>,
  team: string,
  name = 'owner',
  now = new Date(),
): Promise<TRPCClient<AppRouter>> {
  const identity = { kind: 'user', userId: userId(team, name), teamId: `team_${team}` } as const;
  return appWith(api, {
    authorization: `Bearer ${await tokenOf(identity, now)}`,
    'svc-mode': 'test',
  });
}

/** Creates the sandbox of `team_<team>`, and resolves with a test key that has every scope. */
export async function openSandbox(
  api: Pick<TestApi, 'url'>,
  team: string,
  scenario: Scenario = 'typical',
  now = new Date(),
): Promise<string> {
  const platform = appAs(api, await tokenOf({ kind: 'platform', service: 'training' }, now));
  await platform.platform.teams.createSandbox.mutate({ team_id: `team_${team}`, scenario });
  const app = await appInSandbox(api, team, 'owner', now);
  const { templates } = await app.admin.apiKeys.templates.query({});
  const scopes = templates.find(({ id }) => id === 'everything')?.scopes ?? [];
  const { key } = await app.admin.apiKeys.create.mutate({ name: 'test', scopes: scopes as never });
  if (key === undefined) throw new Error('the key was not shown');
  return key;
}
