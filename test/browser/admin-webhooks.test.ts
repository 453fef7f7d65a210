// The admin page in a real browser: webhooks, from the first endpoint to a bulk resend.
import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { de } from '../../src/admin-ui/i18n/de.ts';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { systemClock } from '../../src/core/clock.ts';
import { comeBack, holdBack, openAdminPage, refuse, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { findFaults, launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { makeFailed, makeSeed, makeTeam } from '../support/seed.ts';

describe.skipIf(SKIPPED !== '')(`the admin page: webhooks${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  let receiver: Receiver;

  beforeAll(async () => {
    receiver = await startReceiver();
    const endpoint = (id: string) => ({
      id,
      url: `${receiver.url}/${id}`,
      events: ['member.joined' as const],
    });
    api = await startTestApi({
      allowPrivateTargets: true,
      seed: makeSeed([
        makeTeam('hooks'),
        makeTeam('lost-de'),
        makeTeam('lost-en'),
        makeTeam('old', {
          webhook_endpoints: ['whe_old', 'whe_quiet', 'whe_example'].map(endpoint),
          webhook_deliveries: [makeFailed('whd_1', 'whe_old'), makeFailed('whd_2', 'whe_old')],
        }),
      ]),
    });
    await startDeliveries(api, { clock: systemClock });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await receiver?.stop();
  });

  /** The endpoints of the team whose secret nobody has confirmed to have stored. */
  const unstored = async (team: string): Promise<string[]> => {
    const { rows } = await api.db.pool.query<{ id: string }>(
      `select id
       from webhook_endpoint
       where team_id = $1 and secret_unconfirmed_since is not null`,
      [`team_${team}`],
    );
    return rows.map(({ id }) => id);
  };

  it('connects a webhook: reasons at the field, the secret once, a test that arrives', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/webhooks',
      team: 'hooks',
    });
    await page.getByText('No endpoints yet').waitFor();
    await page.getByRole('link', { name: 'Add an endpoint' }).click();
    await page.getByLabel('Address').fill('ftp://example.com');
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    await page.getByText('Choose at least one event.').waitFor();
    await page.getByLabel('Training scored').check();
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    await page.locator('[aria-invalid=true]').waitFor();
    await page.getByText('The address must begin with https://.').waitFor();
    await page.getByLabel('Address').fill(`${receiver.url}/#part`);
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    await page.getByText('The address must not have a part after #.').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByLabel('Address').fill(`${receiver.url}/new`);
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    const dialog = page.getByRole('dialog', { name: 'Secret of the endpoint' });
    expect(await dialog.locator('code').innerText()).toMatch(/^whsec_/);
    await dialog.getByLabel('I have stored the secret').check();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Rotate the secret' }).waitFor();
    expect(await page.getByRole('button', { name: 'Rotate it now' }).count()).toBe(0);
    expect(await unstored('hooks')).toEqual([]);
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText(/The test arrived: your server responded in \d+ ms/).waitFor();
    expect(receiver.requests.map(({ path }) => path)).toContain('/new');
    await photograph(page, 'webhook-test');
    await page.getByRole('button', { name: 'Pause' }).click();
    // Before it is paused, the reader learns what is lost.
    const pause = page.getByRole('dialog', { name: 'Pause this endpoint?' });
    await pause.getByText(en.webhooks.pausedHint).waitFor();
    await page.getByText('Active', { exact: true }).waitFor();
    await pause.getByRole('button', { name: 'Pause' }).click();
    await pause.waitFor({ state: 'detached' });
    await page.getByText(en.webhooks.pausedHint).waitFor();
    await page.getByRole('button', { name: 'Reactivate' }).click();
    await page.getByText('The endpoint is active again.').waitFor();
    expect(complaints.filter((one) => !one.includes('422'))).toEqual([]);
  });

  it.each([
    { language: 'de', t: de, locale: 'de-DE' },
    { language: 'en', t: en, locale: 'en-GB' },
  ])(
    'names a secret that nobody has stored, and replaces it at once ($language)',
    async ({ language, t, locale }) => {
      const team = `lost-${language}`;
      const open = (path: string) => openAdminPage(browser, api, { path, team, locale });
      const { page: lost } = await open('/webhooks/new');
      await lost.getByLabel(t.webhooks.url).fill(`${receiver.url}/lost`);
      await lost.getByLabel(t.webhooks.description).fill('Planner');
      await lost.getByLabel(t.webhooks.eventNames['member.joined']).check();
      await lost.getByRole('button', { name: t.webhooks.create }).click();
      await lost.getByRole('dialog', { name: t.webhooks.secretTitle }).waitFor();
      await lost.close();
      expect(await unstored(team)).toHaveLength(1);
      const { page, complaints } = await open('/webhooks');
      await page.getByText(t.webhooks.unstored).waitFor();
      expect(await findFaults(page)).toEqual([]);
      await page.goto(`${api.url}/admin/`);
      await page.getByRole('link', { name: t.overview.secretsUnstored(1, 'Planner') }).click();
      await page.getByText(t.webhooks.unstoredHint).waitFor();
      await settle(page);
      await photograph(page, `webhook-unstored-${language}`);
      expect(await findFaults(page)).toEqual([]);
      await page.getByRole('button', { name: t.webhooks.replaceUnstored }).click();
      const replace = page.getByRole('dialog', { name: t.webhooks.rotate });
      expect(await replace.getByLabel(t.keys.graces.now).isChecked()).toBe(true);
      await replace.getByRole('button', { name: t.webhooks.rotate }).click();
      const dialog = page.getByRole('dialog', { name: t.webhooks.secretTitle });
      await dialog.getByLabel(t.webhooks.secretStored).check();
      await dialog.getByRole('button', { name: t.keys.secretDone }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(await page.getByText(t.webhooks.unstoredHint).count()).toBe(0);
      expect(await unstored(team)).toEqual([]);
      expect(complaints).toEqual([]);
    },
  );

  it('ends no secret at once that another admin has stored meanwhile', async () => {
    const other = await appAsMember(api, 'old', 'admin');
    const made = await other.v1.webhooks.createEndpoint.mutate({
      url: `${receiver.url}/stored`,
      events: ['member.joined'],
    });
    const path = `/webhooks/${made.id}`;
    const { page } = await openAdminPage(browser, api, { path, team: 'old' });
    await page.getByRole('button', { name: 'Rotate it now' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel(en.keys.graces.now).isChecked()).toBe(true);
    const confirmed = { endpoint_id: made.id, secret: made.secret ?? '' };
    await other.admin.webhooks.confirmStored.mutate(confirmed);
    await comeBack(page);
    await expect.poll(() => dialog.getByLabel('1 day').isChecked()).toBe(true);
    await other.v1.webhooks.removeEndpoint.mutate({ endpoint_id: made.id });
  });

  it('confirms no secret but the one that it has shown', async () => {
    const { page } = await openAdminPage(browser, api, {
      path: '/webhooks/whe_quiet',
      team: 'old',
    });
    const rotate = page.getByRole('button', { name: 'Rotate the secret' });
    await rotate.click();
    await page.getByRole('dialog').getByLabel('1 hour').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate the secret' }).click();
    const dialog = page.getByRole('dialog', { name: 'Secret of the endpoint' });
    await dialog.getByLabel('I have stored the secret').check();
    const other = await appAsMember(api, 'old', 'admin');
    await other.v1.webhooks.rotateSecret.mutate({ endpoint_id: 'whe_quiet', grace_s: 60 });
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.getByText('The secret has been rotated again.').waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(await unstored('old')).toEqual(['whe_quiet']);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    // With the earlier secrets the server may still check, so they do not end by themselves.
    await page.getByRole('button', { name: 'Rotate it now' }).click();
    expect(await page.getByRole('dialog').getByLabel('1 day').isChecked()).toBe(true);
  });

  it('shows what a receiver gets of an event, and sends it as a test', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/webhooks/whe_example',
      team: 'old',
    });
    await settle(page);
    await page.getByLabel('Event', { exact: true }).selectOption('member.removed');
    await page.getByText('Content of the test').click();
    const example = page.getByRole('region', { name: 'Content of the test' });
    await example.getByText('"role": "member"').waitFor();
    await photograph(page, 'event-example');
    expect(await findFaults(page)).toEqual([]);
    const shown = JSON.parse(await example.innerText()) as object;
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('The test arrived').waitFor();
    const [request] = receiver.requestsTo('/whe_example');
    expect(JSON.parse(String(request?.body))).toMatchObject(shown);
    expect(complaints).toEqual([]);
  });

  it('finds out why a delivery failed, and tries it again, by the keyboard alone', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/deliveries?status=failed',
      team: 'old',
    });
    await page.getByRole('link', { name: 'Member joined the team' }).first().focus();
    await page.keyboard.press('Enter');
    await page.getByText('Your server had an internal error.').waitFor();
    await page.getByText('Check the log of your server at the time of the attempt.').waitFor();
    await page.getByText('Maintenance').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Retry now' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Your server has accepted the event.').waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    expect(new URL(page.url()).search).toBe('?status=failed');
    expect(complaints).toEqual([]);
  });

  it('counts what a bulk resend would send, starts it and stops it', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/deliveries?endpoint=whe_old',
      team: 'old',
    });
    await api.db.pool.query(`update webhook_delivery set status = 'gave_up', next_try_at = null`);
    await page.getByRole('button', { name: 'Resend failures' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Time').selectOption({ label: 'Last hour' });
    await dialog.getByText('No deliveries failed in this period.').first().waitFor();
    await dialog.getByLabel('Time').selectOption({ label: 'Last 24 hours' });
    await dialog.getByText('2 deliveries failed in this period').waitFor();
    // Both have given up, so none is being retried.
    await dialog.getByLabel('Status').selectOption('retrying');
    await dialog.getByText('No deliveries failed in this period.').first().waitFor();
    await dialog.getByLabel('Status').selectOption('gave_up');
    await dialog.getByText('2 deliveries failed in this period').waitFor();
    await photograph(page, 'resend');
    expect(await findFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Resend 2' }).click();
    // No job runs in this test, so the resend stays in progress.
    await page.getByText('0 of 2 queued').waitFor();
    const [resend] = (await api.db.pool.query('select status from webhook_resend')).rows;
    expect(resend).toEqual({ status: 'gave_up' });
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('cell', { name: /^Stopped/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows the filter of an endpoint that is gone, and sends failures of others', async () => {
    const { v1 } = await appAsMember(api, 'old', 'owner');
    const made = await v1.webhooks.createEndpoint.mutate({
      url: `${receiver.url}/soon-gone`,
      events: ['member.joined'],
    });
    const { page } = await openAdminPage(browser, api, {
      path: '/deliveries?endpoint=whe_gone',
      team: 'old',
    });
    await settle(page);
    const filter = page.getByLabel('Endpoint');
    expect(await filter.evaluate((one: HTMLSelectElement) => one.selectedOptions[0]?.text)).toBe(
      'whe_gone',
    );
    await page.getByRole('button', { name: 'Resend failures' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel('Endpoint').inputValue()).toBe('');
    await dialog.getByRole('button', { name: /^Resend \d+/ }).waitFor();
    await dialog.getByLabel('Endpoint').selectOption(made.id);
    await v1.webhooks.removeEndpoint.mutate({ endpoint_id: made.id });
    await comeBack(page);
    // Nothing else is chosen for the reader: neither all nor another one is sent by mistake.
    await dialog.getByText(en.problems.not_found).first().waitFor();
    expect(await dialog.getByLabel('Endpoint').inputValue()).toBe(made.id);
    const send = dialog.getByRole('button', { name: /^Resend \d+/ });
    expect(await send.getAttribute('aria-disabled')).toBe('true');
    await dialog.getByLabel('Endpoint').selectOption('');
    await expect.poll(() => send.getAttribute('aria-disabled')).not.toBe('true');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await filter.selectOption({ label: 'All' });
    await page.waitForURL(/\/deliveries$/);
    expect(await filter.getByRole('option', { name: 'whe_gone' }).count()).toBe(0);
  });

  it('moves nothing for a reader who wants no motion', async () => {
    const { page } = await openAdminPage(browser, api, {
      path: '/webhooks/whe_example',
      team: 'old',
      reducedMotion: 'reduce',
    });
    const release = await holdBack(page, 'v1.webhooks.testEndpoint');
    const test = page.getByRole('button', { name: en.webhooks.test });
    await test.click();
    await expect.poll(() => test.getAttribute('aria-disabled')).toBe('true');
    const moving = `document.getAnimations()
      .filter(({ effect }) => effect.getTiming().iterations > 1).length`;
    expect(await page.evaluate(moving)).toBe(0);
    release();
  });

  it('colours the link in the outcome of a test as its text', async () => {
    const { page } = await openAdminPage(browser, api, {
      path: '/webhooks/whe_example',
      team: 'old',
    });
    await page.getByRole('button', { name: en.webhooks.test }).click();
    const outcome = page.locator('.test-outcome .notice');
    const colorOf = (part: Locator) => part.evaluate((one) => getComputedStyle(one).color);
    expect(await colorOf(outcome.getByRole('link'))).toBe(await colorOf(outcome));
  });

  it('says of a delivery that is not here what it may be, and where the others are', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/deliveries', team: 'old' });
    await settle(page);
    await page.keyboard.press('/');
    await page.getByRole('dialog').getByRole('combobox').waitFor();
    await page.keyboard.insertText('whd_01jc4fa7');
    await page.getByRole('option', { name: 'whd_01jc4fa7', selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/whd_01jc4fa7$/);
    const heading = page.getByRole('heading', { level: 1, name: en.deliveries.missing });
    await heading.waitFor();
    await settle(page);
    expect(await heading.evaluate((one) => one === document.activeElement)).toBe(true);
    expect(await page.title()).toBe(`${en.deliveries.missing} – Team old`);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('main').getByRole('link', { name: en.deliveries.toList }).click();
    await page.waitForURL(/\/deliveries$/);
  });

  it('shows the failure of one delivery on the page of no other', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/deliveries/whd_1', team: 'old' });
    const retry = page.getByRole('button', { name: en.deliveries.retry });
    await retry.waitFor();
    await page.locator('.crumbs').getByRole('link', { name: en.nav.deliveries }).click();
    await page.locator('[href$=whd_2]').click();
    await page.getByText('whd_2', { exact: true }).waitFor();
    await refuse(page, 'v1.webhooks.retryDelivery');
    await retry.click();
    await page.getByRole('alert').waitFor();
    await page.evaluate('history.go(-2)');
    await page.getByText('whd_1', { exact: true }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('keeps the filters in the address, for every reader', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/deliveries',
      team: 'old',
      locale: 'de-DE',
      colorScheme: 'dark',
      viewport: { width: 320, height: 640 },
    });
    await page.getByLabel('Endpunkt').selectOption('whe_quiet');
    await page.getByText('Keine Ergebnisse für diese Filter').waitFor();
    expect(new URL(page.url()).search).toBe('?endpoint=whe_quiet');
    await page.getByLabel('Status').selectOption('failed');
    await page.waitForURL(
      /\?endpoint=whe_quiet&status=failed$|\?status=failed&endpoint=whe_quiet$/,
    );
    await page.getByRole('button', { name: 'Filter zurücksetzen' }).click();
    await page.waitForURL(/\/deliveries$/);
    expect(await page.getByLabel('Endpunkt').inputValue()).toBe('');
    for (const path of ['/deliveries', '/deliveries/whd_2', '/webhooks', '/webhooks/whe_old']) {
      await page.goto(`${api.url}/admin${path}`);
      await page.locator('h1').first().waitFor();
      await settle(page);
      expect(await findFaults(page)).toEqual([]);
    }
    expect(complaints).toEqual([]);
  });
});
