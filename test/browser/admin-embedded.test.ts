// The admin page in the host application, which is another site, in a frame and by a link. The
// browser blocks cookies of third parties.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Frame, FrameLocator, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { de } from '../../src/admin-ui/i18n/de.ts';
import { readColor, type ColorChange } from '../../src/admin-ui/lib/colors.ts';
import { createHostApp } from '../../scripts/host-app/app.ts';
import { startTestApi, TEST_APP_AUTH_SECRET, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { findFaults, launchBrowser, refuseThirdPartyCookies, SKIPPED } from '../support/browser.ts';
import { findFreePort } from '../support/ports.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';

const person = { userId: userId('framed', 'owner'), teamId: 'team_framed' };

/** What the page has told the host application, by the name of the callback. */
type Said = readonly [name: string, value: unknown];

/** The problems with a field. */
function problemsOf(said: readonly Said[], field: string): string[] {
  return said
    .filter(([name]) => name === 'problem')
    .map(([, value]) => value as { field: string; message: string })
    .filter((problem) => problem.field === field)
    .map(({ message }) => message);
}

/** The frame with the admin page. */
function innerOf(page: Page): Frame {
  const [, frame] = page.frames();
  if (!frame) throw new Error('the page has no frame');
  return frame;
}

describe.skipIf(SKIPPED !== '')(`the admin page in the host application${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  let host: Server;
  let hostUrl: string;

  beforeAll(async () => {
    const port = await findFreePort();
    // Another site than 127.0.0.1, so cookies of the frame would be those of a third party.
    hostUrl = `http://localhost:${port}`;
    api = await startTestApi({
      seed: makeSeed([makeTeam('framed'), makeTeam('other')]),
      app: { adminHostOrigins: [hostUrl], adminRefreshUrls: [`${hostUrl}/link?from=admin`] },
    });
    host = createHostApp({
      serviceUrl: api.url,
      authSecret: TEST_APP_AUTH_SECRET,
      ...person,
      look: {
        theme: 'dark',
        language: 'de',
        colors: {
          // Nobody can read it on white, and nobody the text on such a ground.
          light: { accent: '#ffd400', ground: '#777777', text: '#888888' },
          dark: { accent: '#5fd39b' },
        },
      },
    });
    await new Promise<void>((done) => host.listen(port, '127.0.0.1', done));
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    host?.close();
  });

  const open = async (path: string): Promise<{ page: Page; frame: FrameLocator; said: Said[] }> => {
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    await refuseThirdPartyCookies(page);
    // From before the page is there, which says some things once.
    const said: Said[] = [];
    page.on('console', (message) => {
      const [, name, json] = /^(event|problem) (.*)$/s.exec(message.text()) ?? [];
      if (name !== undefined) said.push([name, JSON.parse(json ?? '') as unknown]);
    });
    await page.goto(hostUrl + path);
    return { page, frame: page.frameLocator('iframe'), said };
  };

  it('gets token, language and theme over a port in a frame, and keeps nothing', async () => {
    const { page, frame, said } = await open('/frame#/keys');
    await frame.getByRole('heading', { name: 'API-Schlüssel' }).waitFor();
    expect(await frame.locator('html').getAttribute('data-theme')).toBe('dark');
    // The browser really refuses cookies there.
    const keeps = `document.cookie = 'probe=1; SameSite=None; Secure'; document.cookie`;
    expect(await innerOf(page).evaluate(keeps)).toBe('');
    await frame.getByRole('link', { name: 'Schlüssel anlegen' }).click();
    await frame.getByLabel('Name').fill('Aus dem Rahmen');
    await frame.getByLabel(/^Nur lesen/).check();
    await frame.getByRole('button', { name: 'Schlüssel anlegen' }).click();
    await frame.getByRole('dialog', { name: 'Ihr neuer Schlüssel' }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
    expect(said.filter(([name]) => name === 'event')).toEqual([['event', 'key_created']]);
  });

  it('goes where the host application leads it, and tells how high it is', async () => {
    const { page, frame } = await open('/frame');
    await frame.getByRole('heading', { name: 'Übersicht' }).waitFor();
    await page.getByRole('button', { name: 'API keys' }).click();
    await frame.getByRole('heading', { name: 'API-Schlüssel' }).waitFor();
    await page.waitForURL(`${hostUrl}/frame#/keys`);
    const heights = () =>
      Promise.all([
        page.evaluate(`Number(document.querySelector('iframe').height)`),
        innerOf(page).evaluate(`document.querySelector('main').offsetHeight`),
      ]);
    await expect.poll(async () => new Set(await heights()).size).toBe(1);
    const [keys] = await heights();
    await page.getByRole('button', { name: 'Webhooks' }).click();
    await frame.getByRole('heading', { name: 'Webhooks' }).waitFor();
    await expect.poll(async () => (await heights())[0]).not.toBe(keys);
  });

  it('hears what it was told before it was there, and while it loaded anew', async () => {
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    await refuseThirdPartyCookies(page);
    await page.route('**/frame.js', async (route) => {
      const response = await route.fetch();
      const early = `admin.set({ theme: 'light' }); admin.go('/keys');`;
      await route.fulfill({ response, body: `${await response.text()}\n${early}` });
    });
    await page.goto(`${hostUrl}/frame`);
    const frame = page.frameLocator('iframe');
    await frame.getByRole('heading', { name: 'API-Schlüssel' }).waitFor();
    // The host application's settings say that it is dark.
    await frame.locator('html[data-theme=light]').waitFor();
    // When the script of the new document comes, nobody hears the old one's port any more.
    await page.route(`${api.url}/admin/**/*.js`, async (route) => {
      await page.unroute(`${api.url}/admin/**/*.js`);
      await page.evaluate(`admin.go('/webhooks')`);
      await route.continue();
    });
    await innerOf(page).evaluate('location.reload()');
    await frame.getByRole('heading', { name: 'Webhooks' }).waitFor();
    expect(await frame.locator('html').getAttribute('data-theme')).toBe('light');
    await context.close();
  });

  it('keeps messages and dialogs in sight over a long list', async () => {
    await api.db.pool.query(
      `insert into api_key (team_id, id, name, prefix, secret_hash, scopes, created_by, created_at)
       select 'team_framed', 'key_long_' || n, 'Lang ' || n, lpad(n::text, 12, '0'),
         decode(repeat('00', 32), 'hex'), '{}', 'mem_framed_owner', now()
       from generate_series(1, 40) n`,
    );
    const { page, frame } = await open('/frame#/keys');
    const isInSight = async (what: Locator): Promise<boolean> => {
      await what.waitFor();
      const { y, height } = (await what.boundingBox()) ?? { y: -1, height: 0 };
      return y >= 0 && y + height <= (page.viewportSize()?.height ?? 0);
    };
    await frame.getByRole('button', { name: 'Widerrufen: Lang 9' }).click();
    const contentHeight = () =>
      page.evaluate<number>(`Number(document.querySelector('iframe').height)`);
    await expect.poll(contentHeight).toBeGreaterThan(2_000);
    const dialog = frame.getByRole('dialog');
    await expect.poll(() => isInSight(dialog)).toBe(true);
    await dialog.getByRole('button', { name: de.keys.revokeNow }).click();
    await expect.poll(() => isInSight(frame.locator('.toast[data-shown]'))).toBe(true);
    await api.db.pool.query(`delete from api_key where id like 'key_long_%'`);
  });

  it('hides its navigation, or pages of it, and says what it cannot take', async () => {
    const { page, frame, said } = await open('/frame');
    await frame.getByRole('heading', { name: 'Übersicht' }).waitFor();
    const set = (look: object) => page.evaluate(`admin.set(${JSON.stringify(look)})`);
    const links = frame.getByRole('navigation').getByRole('link');
    await set({ navigation: ['keys', 'webhooks'] });
    await expect.poll(() => links.allTextContents()).toEqual(['API-Schlüssel', 'Webhooks']);
    await set({ navigation: false });
    await frame.getByRole('navigation').waitFor({ state: 'hidden' });
    expect(await findFaults(innerOf(page))).toEqual([]);
    await set({ navigation: true });
    await expect.poll(() => links.count()).toBe(14);
    await set({ theme: 'green', navigation: ['nothing'], size: 3 });
    await page.evaluate(`admin.go('//elsewhere.test')`);
    await expect.poll(() => problemsOf(said, 'path')).toHaveLength(1);
    expect(problemsOf(said, 'theme')).toEqual(['must be light, dark or system']);
    expect(problemsOf(said, 'size')).toEqual([
      'is not one of token, theme, language, colors, navigation',
    ]);
    expect(problemsOf(said, 'navigation')).toEqual([
      expect.stringContaining('must be true, false or a list of pages: overview, sandbox, keys'),
    ]);
    expect(new URL(innerOf(page).url()).pathname).toBe('/admin');
  });

  it('looks like the host application, as far as everybody can read it', async () => {
    const { page, frame, said } = await open('/frame');
    await frame.getByRole('heading', { name: 'Übersicht' }).waitFor();
    await expect.poll(() => problemsOf(said, 'colors')).toHaveLength(3);
    const changes = problemsOf(said, 'colors').map((text) => JSON.parse(text) as ColorChange);
    const [accent] = changes.filter(({ name }) => name === 'accent');
    expect(changes.map(({ scheme, name, used }) => [scheme, name, used])).toEqual([
      ['light', 'accent', accent?.used],
      ['light', 'ground', null],
      ['light', 'text', null],
    ]);
    const colorOf = () =>
      innerOf(page).evaluate<string>(`getComputedStyle(document.querySelector('nav a')).color`);
    expect(await colorOf()).toBe('rgb(95, 211, 155)');
    // The host application goes over to its light theme; the page follows and offers no choice.
    await page.getByLabel('Appearance').selectOption('light');
    await frame.locator('html[data-theme=light]').waitFor();
    const [red, green, blue] = readColor(accent?.used) ?? [];
    expect(await colorOf()).toBe(`rgb(${red}, ${green}, ${blue})`);
    expect(await frame.getByRole('combobox').count()).toBe(0);
    expect(await frame.getByRole('button', { name: 'Abmelden' }).count()).toBe(0);
    expect(await findFaults(innerOf(page))).toEqual([]);
  });

  it('begins anew when the host application sends a token of another team', async () => {
    const { page, frame } = await open('/frame#/keys/new');
    await frame.getByLabel('Name').fill('Entwurf');
    const other = { userId: userId('other', 'owner'), teamId: 'team_other' };
    const token = await tokenOf({ kind: 'user', ...other });
    await page.route('**/settings', (route) => route.fulfill({ json: { token, language: 'de' } }));
    await page.evaluate(`admin.set(${JSON.stringify({ token })})`);
    await frame.locator('.side .team', { hasText: 'other' }).waitFor();
    await frame.getByRole('heading', { name: 'Schlüssel anlegen' }).waitFor();
    expect(await frame.getByLabel('Name').inputValue()).toBe('');
  });

  it('comes back to the same place when the host application is loaded again', async () => {
    const { page, frame } = await open('/frame');
    await frame.getByRole('link', { name: 'Zustellungen' }).click();
    await frame.getByLabel('Status').selectOption('failed');
    await page.waitForURL(`${hostUrl}/frame#/deliveries?status=failed`);
    await page.reload();
    await frame.getByRole('heading', { name: 'Zustellungen' }).waitFor();
    expect(await frame.getByLabel('Status').inputValue()).toBe('failed');
  });

  it('asks for a new token before the old one expires, even after a sleep', async () => {
    const context = await browser.newContext({ locale: 'en-GB' });
    await context.clock.install();
    const page = await context.newPage();
    await refuseThirdPartyCookies(page);
    const tokens: (string | undefined)[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/trpc/')) tokens.push(request.headers()['authorization']);
    });
    const settings = () => page.waitForResponse((response) => response.url().endsWith('/settings'));
    await page.goto(`${hostUrl}/frame`);
    const frame = page.frameLocator('iframe');
    await frame.getByRole('heading', { name: 'Übersicht' }).waitFor();
    const renewed = settings();
    await context.clock.fastForward('04:01');
    await renewed;
    await frame.getByRole('link', { name: 'Mitglieder' }).click();
    await frame.getByText('owner@framed.test').waitFor();
    // Six minutes without timers: the call that comes first waits for the token.
    tokens.length = 0;
    const again = settings();
    await context.clock.setSystemTime(Date.now() + 900_000);
    await frame.getByRole('link', { name: 'Webhooks' }).click();
    await again;
    await frame.getByText('Noch keine Endpunkte').waitFor();
    expect(tokens.length).toBeGreaterThan(0);
    expect(await frame.getByRole('dialog').count()).toBe(0);
  });

  it.each<[string, (page: Page) => Promise<() => Promise<void>>]>([
    [
      'is not responding',
      async (page) => {
        await page.route('**/admin-frame.js', async (route) => {
          const response = await route.fetch();
          const script = (await response.text()).replace("'svc:port'", "window.answer ?? 'none'");
          await route.fulfill({ response, body: script });
        });
        return () => page.evaluate(`window.answer = 'svc:port'`);
      },
    ],
    [
      'has no token',
      async (page) => {
        await page.route('**/settings', (route) => route.abort());
        return () => page.unroute('**/settings');
      },
    ],
  ])('says so when the host application %s, and tries again', async (_, silence) => {
    const context = await browser.newContext({ locale: 'en-GB' });
    await context.clock.install();
    const page = await context.newPage();
    await refuseThirdPartyCookies(page);
    const speak = await silence(page);
    await page.goto(`${hostUrl}/frame#/keys`);
    const frame = page.frameLocator('iframe');
    await frame.locator('.loading').waitFor();
    const said = frame.getByRole('heading', { name: 'is not responding' });
    // What is loading at first is the document alone: its script begins to wait later.
    await expect
      .poll(async () => {
        await context.clock.fastForward(11_000);
        return said.count();
      })
      .toBe(1);
    expect(await findFaults(innerOf(page))).toEqual([]);
    await speak();
    await frame.getByRole('button', { name: 'Try again' }).click();
    await frame.getByRole('heading', { name: 'API-Schlüssel' }).waitFor();
  });

  it('is refused to every other origin', async () => {
    const page = await browser.newPage();
    await page.goto(`${hostUrl.replace('localhost', '127.0.0.1')}/frame`);
    await page.waitForLoadState('networkidle');
    expect(await page.frameLocator('iframe').locator('nav').count()).toBe(0);
  });

  it('opens by a link, without a token in any address', async () => {
    const context = await browser.newContext({ locale: 'en-GB' });
    const addresses: string[] = [];
    context.on('request', (request) => addresses.push(request.url()));
    const page = await context.newPage();
    await page.goto(hostUrl);
    await page.getByRole('link', { name: 'by a link' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/admin');
    expect(addresses.filter((address) => /token|eyJ[\w-]{9}/.test(address))).toEqual([]);
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ name: 'svc_session', httpOnly: true, sameSite: 'Strict' });
    // "Back" leads to the host application, not through the link again.
    await page.goBack();
    await page.getByRole('heading', { name: 'Host application' }).waitFor();
  });

  it('sends a stranger to the host application, and back to the same place', async () => {
    const page = await browser.newPage({ locale: 'en-GB' });
    await page.goto(`${api.url}/admin/deliveries?status=failed`);
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    expect(page.url()).toBe(`${api.url}/admin/deliveries?status=failed`);
  });

  it('comes back to the same place after the session has ended', async () => {
    const { page, context } = await openByLink('/admin/keys/new');
    await context.clearCookies();
    await page.getByLabel('Name').fill('Kept text');
    await page.getByLabel(/^Read only/).check();
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    expect(await findFaults(page)).toEqual([]);
    await dialog.getByRole('link', { name: 'Sign in', exact: true }).click();
    // The page behind the dialog has the same heading, and the same choice is made there.
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Create a key' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/admin/keys/new');
    await page.getByLabel('Name').fill('After the sign-in');
    await page.getByLabel(/^Read only/).check();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
  });

  it('keeps what was entered when the reader signs in in a new tab', async () => {
    const { page, context } = await openByLink('/admin/keys/new');
    await context.clearCookies();
    await page.getByLabel('Name').fill('Kept over two tabs');
    await page.getByLabel(/^Read only/).check();
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    const opening = context.waitForEvent('page');
    await dialog.getByRole('link', { name: 'Sign in in a new tab' }).click();
    const beside = await opening;
    await beside.getByRole('heading', { name: 'Create a key' }).waitFor();
    await beside.close();
    await page.bringToFront();
    // Browsers without a screen do not tell that a tab has come to the front.
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await dialog.waitFor({ state: 'detached' });
    expect(await page.getByLabel('Name').inputValue()).toBe('Kept over two tabs');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
  });

  it('fills what was refused while the session had ended', async () => {
    const { page, context } = await openByLink('/admin/webhooks');
    await context.clearCookies();
    await page.getByRole('link', { name: 'Members' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    const beside = await context.newPage();
    await beside.goto(`${hostUrl}/link`);
    await beside.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('owner@framed.test').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('opens at an address whose end is spoilt', async () => {
    const { page } = await openByLink('/admin/keys');
    await page.goto('about:blank');
    await page.goto(`${api.url}/admin/keys#from-host=%`);
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    expect(page.url()).toBe(`${api.url}/admin/keys`);
  });

  it('does not go round in circles when the token is refused', async () => {
    const { port } = host.address() as AddressInfo;
    const wrong = createHostApp({ ...person, serviceUrl: api.url, authSecret: 'another secret' });
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    // The same origin, so that the form is taken, but not the token in it.
    host.close();
    host.closeAllConnections();
    await new Promise<void>((done) => wrong.listen(port, '127.0.0.1', done));
    await page.goto(`${hostUrl}/link?return=/admin/keys`);
    await page.getByRole('heading', { name: 'Please sign in' }).waitFor();
    expect(await findFaults(page)).toEqual([]);
    const link = page.getByRole('link', { name: 'Sign in', exact: true });
    const address = `${hostUrl}/link?from=admin&return=%2Fadmin%2Fkeys`;
    expect(await link.getAttribute('href')).toBe(address);
    wrong.close();
    wrong.closeAllConnections();
    await new Promise<void>((done) => host.listen(port, '127.0.0.1', done));
    await link.click();
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
  });

  async function openByLink(path: string): Promise<{ page: Page; context: BrowserContext }> {
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    await page.goto(`${hostUrl}/link?return=${encodeURIComponent(path)}`);
    await page.locator('h1').first().waitFor();
    // What it still asks for would be refused if the session ended now.
    await page.waitForLoadState('networkidle');
    return { page, context };
  }
});

describe.skipIf(SKIPPED !== '')(`the admin page of several host applications${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  const hosts: { server: Server; port: number; url: string }[] = [];

  const start = ({ server, port }: { server: Server; port: number }) =>
    new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  const stop = ({ server }: { server: Server }) => {
    server.close();
    server.closeAllConnections();
  };

  beforeAll(async () => {
    const ports = [await findFreePort(), await findFreePort()];
    const urls = ports.map((port) => `http://localhost:${port}`);
    api = await startTestApi({
      seed: makeSeed([makeTeam('framed')]),
      app: { adminHostOrigins: urls, adminRefreshUrls: urls.map((url) => `${url}/link`) },
    });
    for (const [n, port] of ports.entries()) {
      const given = { serviceUrl: api.url, authSecret: TEST_APP_AUTH_SECRET, ...person };
      const host = { server: createHostApp(given), port, url: urls[n] ?? '' };
      hosts.push(host);
      await start(host);
    }
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    hosts.forEach(stop);
  });

  it('asks where to sign in, and knows it afterwards; says when nobody is there', async () => {
    const [, second] = hosts;
    if (!second) throw new Error('there is no second host');
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    await page.goto(`${api.url}/admin/keys`);
    await page.getByRole('heading', { name: 'Please sign in' }).waitFor();
    const links = page.getByRole('link');
    expect(await links.allInnerTexts()).toEqual(
      hosts.map(({ port }) => `Sign in at localhost:${port}`),
    );
    expect(await findFaults(page)).toEqual([]);
    await links.last().click();
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    expect(page.url()).toBe(`${api.url}/admin/keys`);

    await context.clearCookies();
    const visited: string[] = [];
    page.on('request', (request) => visited.push(new URL(request.url()).origin));
    await page.goto(`${api.url}/admin/members`);
    await page.getByRole('heading', { name: 'Members' }).waitFor();
    expect(visited).toContain(second.url);
    expect(visited).not.toContain(hosts[0]?.url);

    stop(second);
    await context.clearCookies();
    await page.goto(`${api.url}/admin/usage`);
    await page.getByRole('heading', { name: 'Your application is not responding' }).waitFor();
    expect(page.url()).toBe(`${api.url}/admin/usage`);
    expect(await findFaults(page)).toEqual([]);
    const signIn = page.getByRole('link', { name: 'Sign in' });
    await signIn.click();
    await page.getByRole('alert').waitFor();
    await start(second);
    await signIn.click();
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    expect(page.url()).toBe(`${api.url}/admin/usage`);
  });

  it('goes to a host application whose first page leads to another site', async () => {
    const [first] = hosts;
    if (!first) throw new Error('there is no host');
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    await page.goto(`${first.url}/link?return=/admin/keys`);
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    const answer = first.server.listeners('request')[0] as (...given: unknown[]) => void;
    first.server.removeAllListeners('request');
    first.server.on('request', (request, response) => {
      if (request.method !== 'HEAD') answer(request, response);
      else response.writeHead(302, { location: 'http://sign-in.invalid/' }).end();
    });
    await context.clearCookies();
    await page.goto(`${api.url}/admin/members`);
    await page.getByRole('heading', { name: 'Members' }).waitFor();
    expect(page.url()).toBe(`${api.url}/admin/members`);
  });
});
