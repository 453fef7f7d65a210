// The admin page in a browser, signed in as a member of a seeded team.
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { userId } from './seed.ts';
import type { TestApi } from './api.ts';
import { tokenOf } from './app.ts';
import { loadUndisturbed, openPage } from './browser.ts';

/**
 * How much later each answer comes. With SLOW_TRPC_MS=400, a test that is red meets a race, of its
 * own or of the page. Tests that measure time are red anyway.
 */
const SLOW_MS = Number(process.env['SLOW_TRPC_MS'] ?? 0);

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
  const opened = await openPage(browser, api.url, locale);
  const { page } = opened;
  await signIn(page, api, { team, member });
  if (SLOW_MS > 0)
    await page.route('**/trpc/**', async (route) => {
      await delay(SLOW_MS);
      // The page may be gone.
      await route.continue().catch(() => undefined);
    });
  await loadUndisturbed(opened, async () => {
    await page.goto(`${api.url}/admin${path}`);
    await page.locator('h1').first().waitFor();
  });
  return opened;
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

/** Resolves when nothing on the page is loading, and no rows of before stand. */
export async function settle(page: Page): Promise<void> {
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}

/** Lets the next calls of a procedure wait on their way, until the function returned is called. */
export async function holdBack(page: Page, procedure: string): Promise<() => void> {
  let release = (): void => undefined;
  const released = new Promise<void>((done) => (release = done));
  await page.route(
    (url) => url.pathname.endsWith(procedure),
    async (route) => {
      await released;
      await route.continue();
    },
  );
  return release;
}

/** Lets the service fail at the calls of a procedure. The page reads none of them again. */
export async function refuse(page: Page, procedure: string): Promise<void> {
  const problem = { code: 'internal', request_id: 'of_the_test' };
  await page.route(
    (url) => url.pathname.endsWith(procedure),
    (route) =>
      route.fulfill({
        status: 500,
        json: { error: { message: 'refused', code: -32_603, data: { problem } } },
      }),
  );
}

/** The next call of a procedure is made, and its answer is lost. */
export async function loseAnswer(page: Page, procedure: string): Promise<void> {
  await page.route(
    (url) => url.pathname.endsWith(procedure),
    async (route) => {
      await route.fetch();
      await route.abort('connectionreset');
    },
    { times: 1 },
  );
}

/** Browsers without a screen do not tell that a tab has come to the front. */
export async function comeBack(page: Page): Promise<void> {
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
  await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`);
}
