// The admin page in a browser, signed in as a member of a seeded team.
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { userId } from './seed.ts';
import type { TestApi } from './api.ts';
import { tokenOf } from './app.ts';
import { openPage } from './browser.ts';

/** Opens `path` of the admin page with a session of `<member>` of `team_<team>`. */
export async function openAdminPage(
  browser: Browser,
  api: Pick<TestApi, 'url'>,
  {
    path,
    team,
    member = 'owner',
    ...options
  }: {
    readonly path: string;
    readonly team: string;
    readonly member?: string;
  } & BrowserContextOptions,
): Promise<{ page: Page; complaints: string[] }> {
  const locale = { locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options };
  const { page, complaints } = await openPage(browser, api.url, locale);
  await signIn(page, api, { team, member });
  await page.goto(`${api.url}/admin${path}`);
  await page.locator('h1').first().waitFor();
  return { page, complaints };
}

/** Gives the page a session. Its cookie is set by the service's own response. */
export async function signIn(
  page: Page,
  api: Pick<TestApi, 'url'>,
  { team, member }: { readonly team: string; readonly member: string },
): Promise<void> {
  const identity = { kind: 'user', userId: userId(team, member), teamId: `team_${team}` } as const;
  const authorization = `Bearer ${await tokenOf(identity)}`;
  const opened = await page.request.post(`${api.url}/trpc-session`, { headers: { authorization } });
  if (!opened.ok()) throw new Error(`the session was refused: ${opened.status()}`);
}

/** Resolves when nothing on the page is loading. */
export async function settle(page: Page): Promise<void> {
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}
