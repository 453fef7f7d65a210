// A key, or the secret of a webhook, is handed over by a link, from the admin page to the browser
// of somebody else.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { de } from '../../src/admin-ui/i18n/de.ts';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { HANDOVER_TEXTS } from '../../src/admin-ui/i18n/handover.ts';
import { TEAM_LIMITS } from '../../src/core/team-limits.ts';
import { openAdminPage } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { findFaults, launchBrowser, openPage, photograph, SKIPPED } from '../support/browser.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const TEAM = 'hands';
const { en: t } = HANDOVER_TEXTS;
const OVERFLOW = 'document.documentElement.scrollWidth - innerWidth';

interface HandedOver {
  readonly page: Page;
  readonly secret: string;
  readonly link: string;
  /** What the page of the admin has sent: addresses, headers and bodies. */
  readonly sent: readonly string[];
}

/** Everything that the page sends from now on. The answers of the service are not in it. */
function listenTo(page: Page): string[] {
  const sent: string[] = [];
  page.on('request', (request) => {
    const headers = JSON.stringify(request.headers());
    sent.push(`${request.method()} ${request.url()} ${headers} ${request.postData() ?? ''}`);
  });
  return sent;
}

describe.skipIf(SKIPPED !== '')(`handing a key over${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  let keys = 0;

  beforeAll(async () => {
    api = await startTestApi({
      allowPrivateTargets: true,
      seed: makeSeed([makeTeam(TEAM), makeTeam('full')]),
    });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  async function handOver(): Promise<HandedOver> {
    const { page } = await openAdminPage(browser, api, {
      path: '/keys/new',
      team: TEAM,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.getByLabel('Name').fill(`Key <b> ${(keys += 1)}`);
    await page.getByLabel(/^Read only/).check();
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    const secret = await dialog.locator('code').first().innerText();
    const sent = listenTo(page);
    await dialog.getByRole('button', { name: 'Make a link' }).click();
    const link = await dialog.locator('code', { hasText: '/handover#' }).innerText();
    return { page, secret, link, sent };
  }

  /** Creates a webhook endpoint in the page, and a link to its secret. */
  async function handEndpointOver(
    url: string,
    options: Partial<Parameters<typeof openAdminPage>[2]> = {},
  ): Promise<HandedOver> {
    const texts = options.locale === 'de-DE' ? de : en;
    const { page } = await openAdminPage(browser, api, {
      path: '/webhooks/new',
      team: TEAM,
      permissions: ['clipboard-read', 'clipboard-write'],
      ...options,
    });
    await page.getByLabel(texts.webhooks.url).fill(url);
    await page.getByLabel(texts.webhooks.eventNames['member.joined']).check();
    await page.getByRole('button', { name: texts.webhooks.create }).click();
    const dialog = page.getByRole('dialog', { name: texts.webhooks.secretTitle });
    const secret = await dialog.locator('code').first().innerText();
    const sent = listenTo(page);
    await dialog.getByRole('button', { name: texts.handover.make }).click();
    const link = await dialog.locator('code', { hasText: '/handover#' }).innerText();
    return { page, secret, link, sent };
  }

  /** Opens the link in a browser of somebody else, who is not signed in. */
  async function follow(link: string, options: Parameters<typeof openPage>[2] = {}) {
    const permissions = ['clipboard-read', 'clipboard-write'];
    const opened = await openPage(browser, api.url, { locale: 'en-GB', permissions, ...options });
    const sent = listenTo(opened.page);
    await opened.page.goto(link);
    return { ...opened, sent };
  }

  /** Takes the link to the secret of a webhook, and closes the dialog that made it. */
  async function closeWithLink(page: Page) {
    const dialog = page.getByRole('dialog', { name: en.webhooks.secretTitle });
    await dialog.getByRole('button', { name: 'Copy: Link that opens once' }).click();
    await dialog.getByRole('button', { name: 'Done' }).click();
    const links = page.locator('section').filter({ hasText: en.handover.of.endpoint.links });
    return { dialog, links };
  }

  /** Follows a link that has ended. Returns what the page shows as its secret. */
  async function followEnded(link: string): Promise<string | null> {
    const { page } = await follow(link);
    await page.getByRole('button', { name: t.show }).click();
    await page.getByText(t.goneHint).waitFor();
    const shown = await page.locator('#secret').textContent();
    await page.context().close();
    return shown;
  }

  const copied = (page: Page): Promise<string> =>
    page.evaluate(() => navigator.clipboard.readText());

  it('shows the key once to whoever has the link, and tells the admin', async () => {
    const { page: admin, secret, link } = await handOver();
    const dialog = admin.getByRole('dialog', { name: 'Your new key' });
    expect(await findFaults(admin)).toEqual([]);
    await photograph(admin, 'handover-made');
    await dialog.getByRole('button', { name: 'Copy: Link that opens once' }).click();
    await expect.poll(() => copied(admin)).toBe(link);

    const { page, complaints, sent } = await follow(link);
    await page.getByRole('heading', { name: t.title }).waitFor();
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, 'handover-ask');
    // It opens once, so it is asked once.
    await page.getByRole('button', { name: t.show }).dblclick();
    await page.getByText(t.shown).waitFor();
    expect(sent.filter((one) => one.startsWith('POST '))).toHaveLength(1);
    expect(await page.locator('#secret').innerText()).toBe(secret);
    // A name is a text, never HTML.
    expect(await page.locator('#name').innerText()).toBe(`Key <b> ${keys}`);
    expect(await page.getByText(t.testKey).isVisible()).toBe(false);
    expect(page.url()).toBe(`${api.url}/handover`);
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, 'handover-shown');
    await page.getByRole('button', { name: t.copy }).click();
    await page.getByText(t.copied, { exact: true }).waitFor();
    expect(await copied(page)).toBe(secret);
    expect((await api.call(secret, 'GET', '/me')).status).toBe(200);

    await dialog.getByText(/^The link was opened/).waitFor();
    expect(await findFaults(admin)).toEqual([]);
    // Nothing was confirmed: the admin has not stored the key.
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { rows } = await api.db.pool.query(
      `select stored_at from api_key where team_id = 'team_hands' and name = $1`,
      [`Key <b> ${keys}`],
    );
    expect(rows).toEqual([{ stored_at: null }]);
    expect(complaints).toEqual([]);

    const again = await follow(link);
    await again.page.getByRole('button', { name: t.show }).click();
    await again.page.getByRole('heading', { name: t.gone }).waitFor();
    expect(await findFaults(again.page)).toEqual([]);
    await photograph(again.page, 'handover-gone');
    await Promise.all([page, again.page, admin].map((one) => one.context().close()));
  });

  it('sends neither the key nor what opens it, before and after', async () => {
    const { page: admin, secret, link, sent: made } = await handOver();
    const [, fragment = ''] = link.split('#');
    const ofLink = fragment.split('.').at(-1) ?? '';
    const { page, sent: asked } = await follow(link);
    await page.getByRole('button', { name: t.show }).click();
    await page.getByText(t.shown).waitFor();
    expect(made.filter((one) => one.includes('admin.handovers.create'))).toHaveLength(1);
    expect(asked.filter((one) => one.startsWith('POST'))).toHaveLength(1);
    for (const line of [...made, ...asked])
      for (const text of [secret, secret.split('_').at(-1) ?? '', ofLink, 'Key <b>'])
        expect(line).not.toContain(text);
    await Promise.all([page, admin].map((one) => one.context().close()));
  });

  it('uses nothing up by opening the page, whatever opens it', async () => {
    const { page: admin, secret, link } = await handOver();
    for (const method of ['GET', 'HEAD']) expect((await fetch(link, { method })).status).toBe(200);
    const { page, sent } = await follow(link);
    await page.reload();
    await page.getByRole('heading', { name: t.title }).waitFor();
    expect(sent.filter((one) => !one.startsWith('GET'))).toEqual([]);
    await page.getByRole('button', { name: t.show }).click();
    await expect.poll(() => page.locator('#secret').innerText()).toBe(secret);
    await Promise.all([page, admin].map((one) => one.context().close()));
  });

  it('works by the keyboard alone, and says each step to screen readers', async () => {
    const { page: admin, secret, link } = await handOver();
    const { page } = await follow(link);
    await page.getByRole('button', { name: t.show }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await expect.poll(() => page.locator('#secret').innerText()).toBe(secret);
    const heading = page.getByRole('heading', { name: t.titleOfKey, exact: true });
    await expect.poll(() => heading.evaluate((one) => one === document.activeElement)).toBe(true);
    await page.keyboard.press('Tab');
    expect(await focused()).toBe(t.copy);
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText(t.copied).waitFor();
    await Promise.all([page, admin].map((one) => one.context().close()));
  });

  it('does not lose a key that was shown and not copied by leaving the page', async () => {
    const { page: admin, link } = await handOver();
    const { page } = await follow(link);
    await page.getByRole('button', { name: t.show }).click();
    await page.getByText(t.shown).waitFor();
    const asked = page.waitForEvent('dialog');
    const closing = page.close({ runBeforeUnload: true });
    const question = await asked;
    expect(question.type()).toBe('beforeunload');
    await question.dismiss();
    await closing;
    await page.getByRole('button', { name: t.copy }).click();
    await page.getByText(t.copied, { exact: true }).waitFor();
    await page.close({ runBeforeUnload: true });
    await admin.context().close();
  });

  it('says what to do when the answer is lost, and when the service is away', async () => {
    const { page: admin, link } = await handOver();
    const { page } = await follow(link);
    let times = 0;
    await page.route('**/handover/open', async (route) => {
      times += 1;
      if (times === 1) return route.abort('connectionreset');
      if (times === 2) return route.fulfill({ status: 429, body: '{}' });
      if (times > 3) return route.continue();
      // The service has answered, and the answer is lost.
      await route.fetch();
      return route.abort('connectionreset');
    });
    await page.getByRole('button', { name: t.show }).click();
    await page.getByText(t.failedHint).waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('button', { name: t.again }).click();
    await page.getByText(t.busy).waitFor();
    await page.getByRole('button', { name: t.again }).click();
    await page.getByText(t.failedHint).waitFor();
    await page.getByRole('button', { name: t.again }).click();
    await page.getByText(t.goneHint).waitFor();
    await Promise.all([page, admin].map((one) => one.context().close()));
  });

  it('says what is wrong with a link that is not complete, without asking for it', async () => {
    const { page: admin, secret, link } = await handOver();
    const { page, sent } = await follow(link.slice(0, -1));
    await page.getByRole('heading', { name: t.broken }).waitFor();
    expect(await findFaults(page)).toEqual([]);
    // The whole link is pasted into the address bar of the same tab.
    await page.goto(link);
    await page.getByRole('button', { name: t.show }).click();
    await expect.poll(() => page.locator('#secret').innerText()).toBe(secret);
    expect(sent.filter((one) => one.startsWith('POST'))).toHaveLength(1);
    await Promise.all([page, admin].map((one) => one.context().close()));
  });

  it('opens nothing with the secret of another link', async () => {
    const [one, other] = [await handOver(), await handOver()];
    const { page } = await follow(one.link);
    // The service is deceived, and answers with what another link holds.
    const answer = await api.db.pool.query<{ sealed: Buffer }>(
      `select sealed from handover order by created_at desc limit 1`,
    );
    const sealed = answer.rows[0]?.sealed.toString('base64url');
    await page.route('**/handover/open', (route) => route.fulfill({ json: { sealed } }));
    await page.getByRole('button', { name: t.show }).click();
    await page.getByText(t.goneHint).waitFor();
    expect(await page.locator('#secret').textContent()).toBe('');
    await Promise.all([page, one.page, other.page].map((each) => each.context().close()));
  });

  it('can be withdrawn while nobody has opened it, and made again', async () => {
    const { page: admin, link } = await handOver();
    const dialog = admin.getByRole('dialog', { name: 'Your new key' });
    await dialog.getByRole('button', { name: 'Copy: Link that opens once' }).click();
    await dialog.getByRole('button', { name: 'Withdraw the link' }).click();
    await dialog.getByText(/^The link opens nothing any more/).waitFor();
    // Nobody has the key now, so the dialog does not close.
    await admin.keyboard.press('Escape');
    expect(await dialog.isVisible()).toBe(true);
    const { page } = await follow(link);
    await page.getByRole('button', { name: t.show }).click();
    await page.getByText(t.goneHint).waitFor();
    await dialog.getByRole('button', { name: 'Make another link' }).click();
    await dialog.getByRole('button', { name: 'Make a link' }).click();
    const next = await dialog.locator('code', { hasText: '/handover#' }).innerText();
    expect(next).not.toBe(link);
    await Promise.all([page, admin].map((one) => one.context().close()));
  });

  it('closes no dialog over a key once its link has ended by itself', async () => {
    const { page: admin } = await handOver();
    const dialog = admin.getByRole('dialog', { name: 'Your new key' });
    await dialog.getByRole('button', { name: 'Copy: Link that opens once' }).click();
    await dialog.getByRole('button', { name: 'Done', disabled: false }).waitFor();
    await api.db.pool.query(
      `update handover h set expires_at = now()
       from api_key k
       where k.team_id = h.team_id and k.id = h.key_id and k.name = $1`,
      [`Key <b> ${keys}`],
    );
    await dialog.getByText(/^The link opens nothing any more/).waitFor();
    await admin.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Done' }).click({ force: true });
    expect(await dialog.isVisible()).toBe(true);
    await dialog.getByRole('button', { name: 'Make another link' }).click();
    await dialog.getByRole('button', { name: 'Make a link' }).click();
    await dialog.getByRole('button', { name: 'Copy: Link that opens once' }).click();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    await admin.context().close();
  });

  it('is listed beside the keys, where it can be withdrawn, too', async () => {
    const { page: admin, link } = await handOver();
    const name = `Key <b> ${keys}`;
    const { page } = await openAdminPage(browser, api, { path: '/keys', team: TEAM });
    const section = page.locator('section').filter({ hasText: 'Links that hand keys over' });
    const row = section.locator('tr').filter({ has: page.getByText(name, { exact: true }) });
    await row.getByText('Not opened yet').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, 'handover-links');
    await row.getByRole('button', { name: `Withdraw the link: ${name}` }).click();
    await row.getByText('Never opened').waitFor();
    const { page: late } = await follow(link);
    await late.getByRole('button', { name: t.show }).click();
    await late.getByText(t.goneHint).waitFor();
    await Promise.all([page, late, admin].map((one) => one.context().close()));
  });

  it('makes the same link when the answer to its creation was lost', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/keys/new', team: TEAM });
    const bodies: (string | null)[] = [];
    await page.route('**/trpc/admin.handovers.create', async (route) => {
      bodies.push(route.request().postData());
      if (bodies.length > 1) return route.continue();
      await route.fetch();
      return route.abort('connectionreset');
    });
    await page.getByLabel('Name').fill('Lost');
    await page.getByLabel(/^Read only/).check();
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    await dialog.getByRole('button', { name: 'Make a link' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByRole('button', { name: 'Make a link' }).click();
    await dialog.locator('code', { hasText: '/handover#' }).waitFor();
    expect(new Set(bodies).size).toBe(1);
    const { rows } = await api.db.pool.query(
      `select from handover h
       join api_key k on k.team_id = h.team_id and k.id = h.key_id
       where k.name = 'Lost'`,
    );
    expect(rows).toHaveLength(1);
    await page.context().close();
  });

  it.each([
    ['light', 'de-DE', 1280],
    ['dark', 'de-DE', 320],
    ['dark', 'en-GB', 1280],
    ['light', 'en-GB', 320],
  ] as const)('is accessible in %s, %s, at %i pixels', async (colorScheme, locale, width) => {
    const texts = HANDOVER_TEXTS[locale === 'de-DE' ? 'de' : 'en'];
    const { page: admin, secret, link } = await handOver();
    const viewport = { width, height: 800 };
    const { page } = await follow(link, { colorScheme, locale, viewport });
    await page.getByRole('heading', { name: texts.title }).waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('button', { name: texts.show }).click();
    await expect.poll(() => page.locator('#secret').innerText()).toBe(secret);
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, `handover-${colorScheme}-${locale}`);
    const language = await page.evaluate(() => document.documentElement.lang);
    expect(language).toBe(locale.slice(0, 2));
    await Promise.all([page, admin].map((one) => one.context().close()));
  });

  it('says in a browser without scripts what it needs', async () => {
    const { page: admin, link } = await handOver();
    const { page } = await follow(link, { javaScriptEnabled: false });
    // Playwright finds no text in a noscript.
    const lines = page.locator('noscript > *');
    expect(await lines.allTextContents()).toEqual([t.title, t.noScript]);
    for (const line of await lines.all()) expect(await line.isVisible()).toBe(true);
    expect(await page.getByRole('button').count()).toBe(0);
    await Promise.all([page, admin].map((one) => one.context().close()));
  });

  it('says in the language of the admin that there are too many', async () => {
    await api.db.pool.query(
      `insert into handover
         (team_id, id, key_id, created_by, created_at, expires_at, sealed)
       select k.team_id, lpad(n::text, 43, '0'), k.id, k.created_by, now(),
         now() + interval '1 hour', '\\x00'
       from api_key k, generate_series(1, $1::int) n
       where k.team_id = 'team_full' and k.name = 'full'`,
      [TEAM_LIMITS.openHandovers.live],
    );
    const { page } = await openAdminPage(browser, api, {
      path: '/keys/new',
      team: 'full',
      locale: 'de-DE',
    });
    await page.getByLabel('Name').fill('Zu viel');
    await page.getByLabel(/^Nur lesen/).check();
    await page.getByRole('button', { name: de.keys.create }).click();
    await page.getByRole('button', { name: de.handover.make }).click();
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toContain(de.reasons['too_many_links']);
    await page.context().close();
  });

  it('shows the secret of a webhook once, what it is for, and how to check with it', async () => {
    const url = 'http://127.0.0.1:9/hook?a=<b>&c=1';
    const { page: admin, secret, link, sent } = await handEndpointOver(url);
    const dialog = admin.getByRole('dialog', { name: en.webhooks.secretTitle });
    expect(await findFaults(admin)).toEqual([]);
    await photograph(admin, 'handover-endpoint-made');
    await dialog.getByRole('button', { name: 'Copy: Link that opens once' }).click();
    const { page, complaints, sent: asked } = await follow(link);
    await page.getByRole('button', { name: t.show }).click();
    await page.getByRole('heading', { name: t.titleOfEndpoint, exact: true }).waitFor();
    expect(await page.locator('#secret').innerText()).toBe(secret);
    expect(await page.locator('#name').innerText()).toBe(url);
    for (const text of [t.shownOfEndpoint, t.url, t.verify])
      expect(await page.getByText(text).isVisible()).toBe(true);
    for (const text of [t.shown, t.name, t.docs, t.testKey, t.testEndpoint])
      expect(await page.getByText(text, { exact: true }).isVisible()).toBe(false);
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, 'handover-endpoint-shown');
    const guide = page.getByRole('link', { name: t.howToVerify });
    const [, anchor = ''] = ((await guide.getAttribute('href')) ?? '').split('#');
    const html = await (
      await fetch(new URL((await guide.getAttribute('href')) ?? '', api.url))
    ).text();
    expect(html).toContain(`id="${anchor}"`);
    await page.getByRole('button', { name: t.copy }).click();
    await page.getByText(t.copied, { exact: true }).waitFor();
    expect(await copied(page)).toBe(secret);
    for (const line of [...sent, ...asked])
      for (const text of [secret, secret.slice('whsec_'.length), link.split('.').at(-1) ?? ''])
        expect(line).not.toContain(text);

    // The admin is told, and has confirmed nothing.
    await dialog.getByText(/^The link was opened/).waitFor();
    expect(await findFaults(admin)).toEqual([]);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    await admin.getByText(en.webhooks.unstoredHint).waitFor();
    const links = admin.locator('section').filter({ hasText: en.handover.of.endpoint.links });
    await links.getByText(en.handover.states.opened, { exact: true }).waitFor();
    expect(await findFaults(admin)).toEqual([]);
    await photograph(admin, 'handover-endpoint-links');
    expect(complaints).toEqual([]);
    await Promise.all([page, admin].map((one) => one.context().close()));
  });

  it('opens nothing once somebody has replaced the secret of the webhook', async () => {
    const { page: admin, link } = await handEndpointOver('http://127.0.0.1:9/replaced');
    const { dialog, links } = await closeWithLink(admin);
    await links.getByText(en.handover.states.open, { exact: true }).waitFor();
    await admin.getByRole('button', { name: en.webhooks.replaceUnstored }).click();
    await admin
      .getByRole('dialog')
      .getByRole('button', { name: en.webhooks.rotate, exact: true })
      .click();
    await dialog.getByLabel(en.webhooks.secretStored).check();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await links.getByText(en.handover.states.ended, { exact: true }).waitFor();
    expect(await followEnded(link)).toBe('');
    await admin.context().close();
  });

  it('of a webhook can be withdrawn in the page of the endpoint', async () => {
    // It needs no right to manage keys.
    const { page: admin, link } = await handEndpointOver('http://127.0.0.1:9/withdrawn', {
      member: 'admin',
    });
    const { links } = await closeWithLink(admin);
    await links.getByRole('button', { name: /^Withdraw the link: / }).click();
    await links.getByText(en.handover.states.ended, { exact: true }).waitFor();
    expect(await followEnded(link)).toBe('');
    await admin.context().close();
  });

  it.each([
    ['light', 'de-DE', 320],
    ['dark', 'en-GB', 320],
    ['light', 'en-GB', 2560],
  ] as const)(
    'of a webhook is accessible in %s, %s, at %i pixels',
    async (scheme, locale, width) => {
      const texts = HANDOVER_TEXTS[locale === 'de-DE' ? 'de' : 'en'];
      const look = { colorScheme: scheme, locale, viewport: { width, height: 800 } };
      const url = `http://127.0.0.1:9/${'long-path-'.repeat(20)}`;
      const { page: admin, secret, link } = await handEndpointOver(url, look);
      expect(await findFaults(admin)).toEqual([]);
      const { page } = await follow(link, look);
      await page.getByRole('button', { name: texts.show }).click();
      await expect.poll(() => page.locator('#secret').innerText()).toBe(secret);
      expect(await page.locator('#name').innerText()).toMatch(
        /^http:\/\/127\.0\.0\.1:9\/long-.*…$/,
      );
      expect(await findFaults(page)).toEqual([]);
      for (const shown of [admin, page])
        for (const each of [320, 390, 768, 1024, 1280, 1920, 2560]) {
          await shown.setViewportSize({ width: each, height: 800 });
          expect(await shown.evaluate<number>(OVERFLOW), `${locale} ${each}`).toBeLessThanOrEqual(
            0,
          );
        }
      await photograph(page, `handover-endpoint-${scheme}-${locale}-${width}`);
      await Promise.all([page, admin].map((one) => one.context().close()));
    },
  );

  it('is told to a German admin in German', async () => {
    const { page } = await openAdminPage(browser, api, {
      path: '/keys/new',
      team: TEAM,
      locale: 'de-DE',
    });
    await page.getByLabel('Name').fill('Übergabe');
    await page.getByLabel(/^Nur lesen/).check();
    await page.getByRole('button', { name: de.keys.create }).click();
    await page.getByRole('button', { name: de.handover.make }).click();
    await page.getByText(/^Schicken Sie den Link einer Person/).waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.context().close();
  });
});
