import type { TRPCClient } from '@trpc/client';
import type { Scenario } from '../../src/features/sandbox/rules.ts';
import type { AppRouter } from '../../src/routers/routers.ts';
import type { TestApi } from './api.ts';
import { appAsPlatform, appWith, tokenOf } from './app.ts';
import { DEMO_TEAM_ID } from '../../src/seed/demo-team.ts';
import type { SeedFileInput } from '../../src/seed/schema.ts';
import { sandboxIdOf } from '../../src/core/sandbox.ts';
import { makeTeam, userId } from './seed.ts';

/** Returns a client of the tRPC API that acts in the sandbox of `team_<team>`. */
export async function appInSandbox(
  api: Pick<TestApi, 'url'>,
  team: string,
  name = 'owner',
): Promise<TRPCClient<AppRouter>> {
  const identity = { kind: 'user', userId: userId(team, name), teamId: `team_${team}` } as const;
  return appWith(api, { authorization: `Bearer ${await tokenOf(identity)}`, 'svc-mode': 'test' });
}

/** Creates the sandbox of `team_<team>`, and resolves with a test key that has every scope. */
export async function openSandbox(
  api: Pick<TestApi, 'url'>,
  team: string,
  scenario: Scenario = 'typical',
): Promise<string> {
  const platform = await appAsPlatform(api);
  await platform.platform.teams.createSandbox.mutate({ team_id: `team_${team}`, scenario });
  const app = await appInSandbox(api, team);
  const { templates } = await app.admin.apiKeys.templates.query({});
  const scopes = templates.find(({ id }) => id === 'everything')?.scopes ?? [];
  const { key } = await app.admin.apiKeys.create.mutate({ name: 'test', scopes: scopes as never });
  if (key === undefined) throw new Error('the key was not shown');
  return key;
}

/** The sandbox that `withSandbox` adds to the demo team. */
export const DEMO_SANDBOX = sandboxIdOf(DEMO_TEAM_ID);

/** The seed of the demo team, with its sandbox, which has a test key. */
export function withSandbox({ teams = [], ...seed }: SeedFileInput): SeedFileInput {
  return { ...seed, teams: [...teams, makeTeam(DEMO_SANDBOX.slice('team_'.length))] };
}
