// The admin page in a real browser: webhooks, from the first endpoint to a bulk resend.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { findFaults, launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const HOURS_AGO = new Date(Date.now() - 3 * 3_600_000).toISOString();

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
    const failed = (id: string) => ({
      id,
      endpoint_id: 'whe_old',
      event_type: 'member.joined' as const,
      status: 'gave_up' as const,
      attempt: 8,
      created_at: HOURS_AGO,
      response_code: 503,
      response_excerpt: 'Maintenance',
      response_ms: 12,
    });
    api = await startTestApi({
      allowPrivateTargets: true,
      seed: makeSeed([
        makeTeam('hooks'),
        makeTeam('old', {
          webhook_endpoints: ['whe_old', 'whe_quiet', 'whe_example'].map(endpoint),
          webhook_deliveries: [failed('whd_1'), failed('whd_2')],
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

  it('connects a webhook: reasons at the field, the secret once, a test that arrives', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/webhooks',
      team: 'hooks',
    });
    await page.getByText('No endpoint yet').waitFor();
    await page.getByRole('link', { name: 'Add an endpoint' }).click();
    await page.getByLabel('Address').fill('ftp://example.com');
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    await page.getByText('Choose at least one event.').waitFor();
    await page.getByLabel('A training was scored').check();
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    await page.locator('[aria-invalid=true]').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByLabel('Address').fill(`${receiver.url}/new`);
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    const dialog = page.getByRole('dialog', { name: 'The secret of the endpoint' });
    expect(await dialog.locator('code').innerText()).toMatch(/^whsec_/);
    await dialog.getByLabel('I have stored the secret').check();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText(/The test arrived: your server answered in \d+ ms/).waitFor();
    expect(receiver.requests.map(({ path }) => path)).toContain('/new');
    await photograph(page, 'webhook-test');
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Events are kept back.').waitFor();
    await page.getByRole('button', { name: 'Reactivate' }).click();
    await page.getByText('The endpoint is active again.').waitFor();
    expect(complaints.filter((one) => !one.includes('422'))).toEqual([]);
  });

  it('shows what a receiver gets of an event, and sends it as a test', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/webhooks/whe_example',
      team: 'old',
    });
    await settle(page);
    await page.getByLabel('Event', { exact: true }).selectOption('member.removed');
    await page.getByText('What is sent').click();
    const example = page.getByRole('region', { name: 'What is sent' });
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
    await page.getByRole('link', { name: 'Somebody joined the team' }).first().focus();
    await page.keyboard.press('Enter');
    await page.getByText('Your server had an error of its own.').waitFor();
    await page.getByText('Look at the log of your server at the time of the attempt.').waitFor();
    await page.getByText('Maintenance').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Try again now' }).focus();
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
    await page.getByRole('button', { name: 'Send failures again' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Time').selectOption({ label: 'Last hour' });
    await dialog.getByText('Nothing has failed in this time.').first().waitFor();
    await dialog.getByLabel('Time').selectOption({ label: 'Last 24 hours' });
    await dialog.getByText('2 deliveries failed in this time').waitFor();
    // Both have given up, so none is being retried.
    await dialog.getByLabel('State').selectOption('retrying');
    await dialog.getByText('Nothing has failed in this time.').first().waitFor();
    await dialog.getByLabel('State').selectOption('gave_up');
    await dialog.getByText('2 deliveries failed in this time').waitFor();
    await photograph(page, 'resend');
    expect(await findFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Send 2 again' }).click();
    // No job runs in this test, so the resend stays in progress.
    await page.getByText('0 of 2 queued').waitFor();
    const [resend] = (await api.db.pool.query('select status from webhook_resend')).rows;
    expect(resend).toEqual({ status: 'gave_up' });
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('cell', { name: /^Stopped/ }).waitFor();
    expect(complaints).toEqual([]);
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
    await page.getByText('Nichts passt zu diesen Filtern').waitFor();
    expect(new URL(page.url()).search).toBe('?endpoint=whe_quiet');
    await page.getByLabel('Zustand').selectOption('failed');
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
