// The sandbox in the admin page: nobody can take it for the live team, and nothing of one is ever
// shown in the other.
import type { Server } from 'node:http';
import type { Browser, BrowserContextOptions, Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHostApp } from '../../scripts/host-app/app.ts';
import { de } from '../../src/admin-ui/i18n/de.ts';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { SCENARIOS } from '../../src/core/vocabularies.ts';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { PATHS } from '../support/admin-paths.ts';
import { startTestApi, TEST_APP_AUTH_SECRET, type TestApi } from '../support/api.ts';
import {
  findFaults,
  launchBrowser,
  photograph,
  refuseThirdPartyCookies,
  SKIPPED,
} from '../support/browser.ts';
import { findFreePort } from '../support/ports.ts';
import { logCall } from '../support/request-log.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeFullTeam, makeSeed, makeTeam, userId } from '../support/seed.ts';

const TEXTS = { 'de-DE': de, 'en-GB': en } as const;
const DELIVERY = {
  id: 'whd_1',
  endpoint_id: 'whe_rehearsed',
  event_type: 'training.completed' as const,
  status: 'gave_up' as const,
  attempt: 8,
  created_at: new Date(Date.now() - 3_600_000).toISOString(),
};
const NARROW = { width: 320, height: 640 };
const LIVE_MEMBER = 'owner@rehearsed.test';
const SANDBOX_MEMBER = 'clara@sandbox.example';

/** The contrast of the band, from 1 to 21, as WCAG 2.2 defines it. */
const CONTRAST = `(() => {
  const element = document.querySelector('.band');
  const light = (name) => {
    const parts = getComputedStyle(element)[name].match(/[\\d.]+/g).slice(0, 3);
    const [r, g, b] = parts.map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const [one, other] = [light('color'), light('backgroundColor')];
  return Math.max(one, other) / Math.min(one, other);
})()`;

describe.skipIf(SKIPPED !== '')(`the admin page: the sandbox${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  let host: Server;
  let hostUrl: string;
  /** What the parameters of the addresses stand for. */
  let ids: Readonly<Record<string, string>>;

  beforeAll(async () => {
    const port = await findFreePort();
    hostUrl = `http://localhost:${port}`;
    const teams = ['new', 'first', 'played', 'gone'].map((name) => makeTeam(name));
    api = await startTestApi({
      allowPrivateTargets: true,
      seed: makeSeed([makeFullTeam('rehearsed', { webhook_deliveries: [DELIVERY] }), ...teams]),
      app: { adminHostOrigins: [hostUrl], adminRefreshUrls: [`${hostUrl}/link?from=admin`] },
    });
    for (const team of ['rehearsed', 'played', 'gone']) await openSandbox(api, team);
    ids = await copyDelivery();
    host = createHostApp({
      serviceUrl: api.url,
      authSecret: TEST_APP_AUTH_SECRET,
      userId: userId('rehearsed', 'owner'),
      teamId: 'team_rehearsed',
      look: {
        theme: 'dark',
        language: 'de',
        colors: { light: { accent: '#ffd400' }, dark: { accent: '#6b21a8', ground: '#d8b4fe' } },
      },
    });
    await new Promise<void>((done) => host.listen(port, '127.0.0.1', done));
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    host?.close();
  });

  /** What can be opened by its id: an endpoint, a delivery to it and a request. */
  const copyDelivery = async () => {
    const app = await appInSandbox(api, 'rehearsed');
    const url = 'http://127.0.0.1:9/hooks';
    const endpoint = await app.v1.webhooks.createEndpoint.mutate({
      url,
      events: ['training.completed'],
    });
    await api.db.pool.query(
      `insert into event
       select (jsonb_populate_record(e, jsonb_build_object('team_id', team_id || ':sandbox'))).*
       from event e
       where team_id = 'team_rehearsed'`,
    );
    await api.db.pool.query(
      `insert into webhook_delivery
         (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at)
       select team_id || ':sandbox', id, $1, event_id, event_type, status, attempt, created_at
       from webhook_delivery
       where team_id = 'team_rehearsed'`,
      [endpoint.id],
    );
    const call = { teamId: 'team_rehearsed:sandbox', keyName: 'test', route: '/me', status: 200 };
    return {
      endpointId: endpoint.id,
      deliveryId: DELIVERY.id,
      requestId: await logCall(api, call),
    };
  };

  const addressOf = (path: string): string =>
    `${api.url}/admin/sandbox${path}`.replace(/\$(\w+)/, (_, name: string) => {
      const id = ids[name];
      if (id === undefined) throw new Error(`the test has no ${name}`);
      return id;
    });
  const open = (path: string, team = 'rehearsed', options: BrowserContextOptions = {}) =>
    openAdminPage(browser, api, { path, team, ...options });
  const bandOf = (page: Page | Frame) => page.locator('.band');
  const switchOf = (page: Page) =>
    page.getByRole('group', { name: en.sandbox.modes }).filter({ visible: true });
  const leave = async (page: Page, mode: 'live' | 'test'): Promise<void> => {
    await switchOf(page).getByRole('link', { name: en.sandbox.modeNames[mode] }).click();
    await page.waitForURL(mode === 'test' ? /\/admin\/sandbox\// : /\/admin\/(?!sandbox)/);
    await page.locator('h1').first().waitFor();
    await settle(page);
  };

  it.each([
    { locale: 'de-DE', colorScheme: 'dark', viewport: NARROW },
    { locale: 'en-GB', colorScheme: 'light', viewport: { width: 1280, height: 900 } },
  ] as const)(
    'says on every page what it is, in $locale at $viewport.width pixels',
    async ({ locale, ...look }) => {
      const { page, complaints } = await open('/sandbox', 'rehearsed', { locale, ...look });
      const { sandbox } = TEXTS[locale];
      const found: Record<string, unknown> = {};
      const good: Record<string, unknown> = {};
      for (const path of PATHS) {
        await page.goto(addressOf(path));
        await page.locator('h1').first().waitFor();
        await settle(page);
        found[path] = {
          band: await bandOf(page).innerText(),
          isSeen: await bandOf(page).isVisible(),
          contrast: (await page.evaluate<number>(CONTRAST)) >= 4.5,
          title: (await page.title()).startsWith(`${sandbox.name}: `),
          current: await page.locator('.mode[aria-current]').filter({ visible: true }).innerText(),
          faults: await findFaults(page),
        };
        good[path] = {
          band: `${sandbox.name}: ${sandbox.band}`,
          isSeen: true,
          contrast: true,
          title: true,
          current: sandbox.modeNames.test,
          faults: [],
        };
      }
      expect(found).toEqual(good);
      // Nothing is called so there.
      expect(complaints.filter((one) => !/404/.test(one))).toEqual([]);
      await page.goto(`${api.url}/admin/keys`);
      await page.locator('h1').first().waitFor();
      expect(await bandOf(page).count()).toBe(0);
      expect(await page.title()).not.toContain(sandbox.name);
      expect(await page.locator('.mode[aria-current]').filter({ visible: true }).innerText()).toBe(
        sandbox.modeNames.live,
      );
    },
  );

  it('stays at the top of a long page, and is there before the scripts are', async () => {
    const { page } = await open('/sandbox/members', 'rehearsed', { viewport: NARROW });
    await settle(page);
    await page.evaluate('window.scrollTo(0, 10_000)');
    expect((await bandOf(page).boundingBox())?.y).toBe(0);
    await page.route('**/*.js', (route) => route.abort());
    await page.reload();
    expect(await bandOf(page).innerText()).toBe('Sandbox: no real data here');
    const links = await page
      .locator('nav a')
      .evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    expect(links.filter((href) => !href?.startsWith('/admin/sandbox/'))).toEqual([]);
    expect(await findFaults(page)).toEqual([]);
  });

  it('switches to the same page of the other team, and keeps it in the address', async () => {
    const { page } = await open('/members');
    await page.getByText(LIVE_MEMBER).first().waitFor();
    await leave(page, 'test');
    expect(new URL(page.url()).pathname).toBe('/admin/sandbox/members');
    await page.getByText(SANDBOX_MEMBER).first().waitFor();
    expect(await page.getByText(LIVE_MEMBER).count()).toBe(0);
    await page.reload();
    await page.getByText(SANDBOX_MEMBER).first().waitFor();
    await page.goBack();
    await page.getByText(LIVE_MEMBER).first().waitFor();
    expect([await bandOf(page).count(), await page.getByText(SANDBOX_MEMBER).count()]).toEqual([
      0, 0,
    ]);
    await page.goForward();
    await page.getByText(SANDBOX_MEMBER).first().waitFor();
    expect([await bandOf(page).count(), await page.getByText(LIVE_MEMBER).count()]).toEqual([1, 0]);
    await page.goto(`${api.url}/admin/sandbox/webhooks/whe_1`);
    await leave(page, 'live');
    expect(new URL(page.url()).pathname).toBe('/admin/webhooks');
  });

  it('shows no late answer of the other team, and asks each for its own', async () => {
    const { page } = await open('/keys');
    const asked: (readonly [string, string | undefined])[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.startsWith('/trpc')) asked.push([page.url(), request.headers()['svc-mode']]);
    });
    let answer = () => undefined as void;
    const held = new Promise<void>((done) => {
      answer = done;
    });
    let isHeld = false;
    await page.route(/trpc\/admin\.members\.search/, async (route) => {
      if (!isHeld) {
        isHeld = true;
        await held;
      }
      // The document that has asked may be gone.
      await route.continue().catch(() => undefined);
    });
    await page.getByRole('link', { name: 'Members' }).click();
    await expect.poll(() => isHeld).toBe(true);
    await switchOf(page).getByRole('link', { name: 'Sandbox' }).click();
    await page.getByText(SANDBOX_MEMBER).first().waitFor();
    answer();
    await page.waitForTimeout(500);
    expect(await page.getByText(LIVE_MEMBER).count()).toBe(0);
    await page.getByText(SANDBOX_MEMBER).first().waitFor();
    const wrong = asked.filter(
      ([url, mode]) => (mode === 'test') !== new URL(url).pathname.startsWith('/admin/sandbox'),
    );
    expect(asked.length).toBeGreaterThan(3);
    expect(wrong).toEqual([]);
  });

  it('does not switch while a change is being made', async () => {
    const { page } = await open('/sandbox/alerts');
    await settle(page);
    let answer = () => undefined as void;
    const held = new Promise<void>((done) => {
      answer = done;
    });
    await page.route(/trpc\/admin\.alerts\.set/, async (route) => {
      await held;
      await route.continue();
    });
    await page.getByLabel('an API key expires soon').click();
    const live = switchOf(page).getByText('Live');
    await expect.poll(() => live.getAttribute('aria-disabled')).toBe('true');
    await live.click({ force: true });
    await page.waitForTimeout(300);
    expect(new URL(page.url()).pathname).toBe('/admin/sandbox/alerts');
    answer();
    await page.getByText('Saved').first().waitFor();
    await leave(page, 'live');
  });

  it('is created by the switch, with a choice of what it holds', async () => {
    const { page, complaints } = await open('/members', 'new', { viewport: NARROW });
    await switchOf(page).getByRole('button', { name: 'Sandbox' }).click();
    const dialog = page.getByRole('dialog', { name: en.sandbox.create });
    await dialog.waitFor();
    const choices = await dialog.getByRole('radio').count();
    expect(choices).toBe(SCENARIOS.length);
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, 'sandbox-create');
    await dialog.getByLabel(/^An empty team/).check();
    await dialog.getByRole('button', { name: en.sandbox.create }).click();
    await page.waitForURL(`${api.url}/admin/sandbox/members`);
    await bandOf(page).waitFor();
    expect(complaints).toEqual([]);
    const { sandbox } = await (await appInSandbox(api, 'new')).admin.sandbox.get.query({});
    expect(sandbox?.scenario).toBe('empty');
  });

  it('is what a new team is offered first, and is opened by what creates it', async () => {
    const { page } = await open('', 'first');
    const steps = page.locator('.steps');
    expect(await steps.getByRole('link').first().innerText()).toBe(en.steps.rehearse);
    await steps.getByRole('link').first().click();
    await page.getByText(en.sandbox.none).waitFor();
    await page.getByRole('button', { name: en.sandbox.create }).click();
    await page.getByRole('dialog').getByRole('button', { name: en.sandbox.create }).click();
    await page.waitForURL(`${api.url}/admin/sandbox/play`);
    await bandOf(page).waitFor();
    // A sandbox has no sandbox, and its admins come from the live team.
    await page.getByRole('link', { name: 'Overview' }).click();
    await steps.waitFor();
    expect(await steps.getByText(en.steps.rehearse).count()).toBe(0);
    expect(await steps.getByText(en.steps.colleague).count()).toBe(0);
    await leave(page, 'live');
    expect(await steps.locator('[data-done]').getByText(en.steps.rehearse).count()).toBe(1);
  });

  it('leads back to the live team when it is gone, even while it is shown', async () => {
    const { page } = await open('/sandbox/keys', 'gone');
    await page.getByText('svck_test_').first().waitFor();
    await api.db.pool.query(`update team set status = 'ended', erasing_since = now()
       where id = 'team_gone:sandbox'`);
    // In one step: the page may notice it meanwhile.
    await page.evaluate(`document.querySelector('nav a[href$="/members"]')?.click()`);
    await page.getByRole('heading', { name: en.sandbox.none }).waitFor();
    expect(await bandOf(page).innerText()).toContain('Sandbox');
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('link', { name: en.sandbox.toMode.live }).click();
    await page.waitForURL(`${api.url}/admin/play`);
    await page.getByRole('button', { name: en.sandbox.create }).waitFor();
  });

  it('names test keys wherever a key is named', async () => {
    const { page } = await open('/sandbox/keys/new', 'rehearsed', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.getByLabel('Name', { exact: true }).fill('Planner');
    await page.getByLabel(/^Try everything/).check();
    await page.getByText(en.keys.scopeNames['sandbox:write'] ?? '').waitFor();
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog', { name: en.keys.secretTitle });
    const secret = await dialog.locator('code').first().innerText();
    expect(secret).toMatch(/^svck_test_t/);
    await dialog.getByText(en.sandbox.keysNote).waitFor();
    await dialog.locator('.mode-mark').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, 'sandbox-key');

    expect((await api.call(secret, 'GET', '/me')).status).toBe(200);
    await dialog.getByLabel('I have stored the key').check();
    await dialog.getByRole('button', { name: 'Done' }).click();
    const row = page.getByRole('row', { name: /Planner \(test\)/ });
    expect(await row.locator('code').innerText()).toMatch(/^svck_test_t/);
    await row.getByRole('button', { name: 'Rotate: Planner' }).click();
    await page.getByRole('dialog', { name: /Planner \(test\)/ }).waitFor();
    await page.keyboard.press('Escape');
    for (const path of ['/requests', '/usage', '/audit']) {
      await page.goto(`${api.url}/admin/sandbox${path}`);
      await page.getByRole('option', { name: 'Planner (test)' }).waitFor({ state: 'attached' });
    }
    await page.keyboard.press('/');
    // A pasted key goes nowhere, but it is known whose it is.
    await page.getByRole('combobox', { name: en.finder.label }).fill(secret);
    await page.getByRole('option', { name: `Planner (test) ${en.finder.key}` }).waitFor();
    await page.getByText(en.finder.secret).waitFor();
  });

  it('plays what happens in life, shows what goes on, and ends it', async () => {
    const { page, complaints } = await open('/sandbox/play', 'played');
    const card = (play: keyof typeof en.sandbox.plays) =>
      page.getByRole('form', { name: en.sandbox.plays[play] });
    const playNow = (play: keyof typeof en.sandbox.plays) =>
      card(play)
        .getByRole('button', { name: /^Simulate/ })
        .click();
    await card('training_completed').getByLabel('Member').fill(SANDBOX_MEMBER);
    await card('training_completed').getByLabel(en.sandbox.score).fill('88');
    await playNow('training_completed');
    await card('training_completed')
      .getByText(/Events: Training completed and/)
      .waitFor();
    const app = await appInSandbox(api, 'played');
    const members = await app.admin.members.search.query({ text: SANDBOX_MEMBER });
    const trainings = await api.db.pool.query(
      `select user_id from training where team_id = 'team_played:sandbox' order by created_at desc`,
    );
    expect(trainings.rows[0]).toEqual({ user_id: members.data[0]?.user_id });

    await card('evaluation_corrected').getByLabel(en.sandbox.score).fill('101');
    await playNow('evaluation_corrected');
    await card('evaluation_corrected').locator('[aria-invalid]').waitFor();

    await card('team_suspended').getByLabel(en.sandbox.lasts).selectOption('3600');
    await playNow('team_suspended');
    const notice = page.locator('.notice', { hasText: en.sandbox.suspendedUntil });
    await notice.waitFor();
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, 'sandbox-plays');
    // The page stays open: its admins end it.
    await page.reload();
    await notice.getByRole('button', { name: /^End now/ }).click();
    await notice.waitFor({ state: 'detached' });
    await page.getByLabel(en.sandbox.speed).selectOption('60');
    await page.getByText(en.sandbox.speedSaved).waitFor();
    expect((await app.admin.sandbox.get.query({})).sandbox).toMatchObject({
      speed: 60,
      suspended_until: null,
    });
    // What ends elsewhere ends here, too.
    await app.v1.sandbox.simulate.mutate({ play: 'team_suspended', for_s: 3600 });
    await page.reload();
    await notice.waitFor();
    await app.v1.sandbox.simulate.mutate({ play: 'team_suspended', for_s: 0 });
    await notice.waitFor({ state: 'detached' });
    expect(complaints.filter((one) => !/422/.test(one))).toEqual([]);
  });

  it('shows what it would have sent, and is reset to another scenario', async () => {
    await api.db.pool.query(
      `insert into sandbox_mail (team_id, id, recipient, subject, body, created_at)
       select 'team_played:sandbox', 'mail_' || n, 'kim@example.com', 'Subject ' || n,
         'Dear Kim ' || n, now() - n * interval '1 minute'
       from generate_series(1, 25) n`,
    );
    const { page } = await open('/sandbox/play', 'played');
    const mails = page.getByRole('table', { name: en.sandbox.mails });
    await mails.getByText('Subject 20').waitFor();
    await page.getByRole('button', { name: en.common.more }).click();
    await mails.getByText('Subject 25').waitFor();
    await mails.getByText('Text', { exact: true }).first().click();
    await mails.getByText('Dear Kim 1', { exact: true }).waitFor();
    expect(await findFaults(page)).toEqual([]);

    await page.getByRole('button', { name: en.sandbox.reset, exact: true }).click();
    const dialog = page.getByRole('dialog', { name: en.sandbox.resetTitle });
    expect(await dialog.getByLabel(/^A typical team/).isChecked()).toBe(true);
    await dialog.getByLabel(/^An empty team/).check();
    await dialog.getByRole('button', { name: en.sandbox.resetNow }).click();
    await page.getByText(en.sandbox.resetDone).waitFor();
    await page.getByText(en.sandbox.noMails).waitFor();
    await page.getByText('An empty team').waitFor();
    await page
      .getByRole('form', { name: en.sandbox.plays.invitation_accepted })
      .getByRole('button')
      .click();
    await page.getByText(en.sandbox.nothingFits['invitation_accepted'] ?? '').waitFor();
  });

  it('is a sandbox in a frame, too, in the colours of the host application', async () => {
    const page = await (await browser.newContext({ locale: 'en-GB' })).newPage();
    await refuseThirdPartyCookies(page);
    await page.goto(`${hostUrl}/frame#/sandbox/keys`);
    const inner = page.frameLocator('iframe');
    await inner.getByRole('heading', { name: de.keys.title }).waitFor();
    const frame = (): Frame => {
      const [, found] = page.frames();
      if (!found) throw new Error('the page has no frame');
      return found;
    };
    expect(await bandOf(frame()).innerText()).toBe('Sandbox: Keine echten Daten');
    expect(await frame().evaluate<number>(CONTRAST)).toBeGreaterThan(4.5);
    expect(await findFaults(frame())).toEqual([]);
    // Without the navigation of the page there are the band and the switch nevertheless.
    await page.evaluate('admin.set({ navigation: false })');
    await inner.getByRole('navigation').waitFor({ state: 'hidden' });
    const modes = inner.getByRole('group', { name: de.sandbox.modes }).filter({ visible: true });
    await modes.getByRole('link', { name: 'Live' }).click();
    await page.waitForURL(`${hostUrl}/frame#/keys`);
    await inner.getByRole('heading', { name: de.keys.title }).waitFor();
    expect(await bandOf(frame()).count()).toBe(0);
    // The host application leads there, too.
    await page.evaluate(`admin.go('/sandbox/members')`);
    await page.waitForURL(`${hostUrl}/frame#/sandbox/members`);
    await inner.getByText(SANDBOX_MEMBER).first().waitFor();
    await page.evaluate(`admin.go('/sandbox/play')`);
    await inner.getByRole('heading', { name: de.sandbox.name, exact: true }).waitFor();
    await page.evaluate(`admin.go('/members')`);
    await page.waitForURL(`${hostUrl}/frame#/members`);
    await inner.getByText(LIVE_MEMBER).first().waitFor();
  });
});
