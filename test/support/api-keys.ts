// API keys that members make in the app.
import { appAs, tokenOf, type appAsMember } from './app.ts';
import type { TestApi } from './api.ts';
import { userId } from './seed.ts';

/** A client of the tRPC API. */
export type App = Awaited<ReturnType<typeof appAsMember>>;

/** The fields of an admin who may make keys. */
export const KEY_HOLDER = { role: 'admin' as const, rights: ['schnittstellen'] };

let names = 0;
/** Returns a name that no other key of this file has. */
export const newKeyName = (): string => `key ${(names += 1)}`;

/** Creates a key in the app, by default with one scope. */
export async function createKey(
  app: App,
  fields: Partial<Parameters<App['admin']['apiKeys']['create']['mutate']>[0]> = {},
) {
  return withKey(
    await app.admin.apiKeys.create.mutate({
      name: newKeyName(),
      scopes: ['users:read'],
      ...fields,
    }),
  );
}

/** The issued key, which the response to its creation shows. Throws if it does not. */
export function withKey<T extends { readonly key?: string | undefined }>(
  issued: T,
): T & { readonly key: string } {
  const { key } = issued;
  if (key === undefined) throw new Error('the response shows no key');
  return { ...issued, key };
}

/** Returns a client for the member `name` of `team_<team>`, whose token is valid from `now`. */
export async function appAt(
  api: Pick<TestApi, 'url'>,
  now: Date,
  team: string,
  name: string,
): Promise<App> {
  const identity = { kind: 'user', userId: userId(team, name), teamId: `team_${team}` } as const;
  return appAs(api, await tokenOf(identity, now));
}
