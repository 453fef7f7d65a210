// The admin page in a real browser: what people ran into, and what the pages said that was not so.
import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { holdBack, openAdminPage, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { findFaults, launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { makeFailed, makeFullTeam, makeSeed, makeTeam } from '../support/seed.ts';

const PAUSED = {
  id: 'whe_paused',
  url: 'https://paused.example.com/in',
  description: 'Data warehouse',
  status: 'disabled' as const,
  events: ['member.joined' as const],
};

describe.skipIf(SKIPPED !== '')(`the admin page: what is so${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    const paused = makeTeam('paused', {
      webhook_endpoints: [
        PAUSED,
        { ...PAUSED, id: 'whe_active', description: null, status: 'active' },
      ],
      webhook_deliveries: [
        makeFailed('whd_1', 'whe_paused', { created_at: new Date().toISOString() }),
        makeFailed('whd_2', 'whe_paused', { created_at: new Date().toISOString() }),
      ],
    });
    api = await startTestApi({
      allowPrivateTargets: true,
      seed: makeSeed([paused, makeFullTeam('full')]),
    });
    await api.db.pool.query(
      `update webhook_delivery set status = 'retrying', next_try_at = now() - interval '7 minutes'
       where id = 'whd_1'`,
    );
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  const open = async (path: string, team = 'full') => {
    const opened = await openAdminPage(browser, api, { path, team });
    await settle(opened.page);
    return opened;
  };
  const colorOf = (part: Locator, name: string) =>
    part.evaluate((one, property) => getComputedStyle(one).getPropertyValue(property), name);

  it('says what a paused endpoint holds back, and activates it', async () => {
    const { page, complaints } = await open('/deliveries?past=7d', 'paused');
    await page.getByText('Held until the endpoint is active').first().waitFor();
    expect(await page.getByText(/Next attempt .* ago/).count()).toBe(0);
    await page.getByRole('button', { name: 'Resend failures' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Nothing failed at active endpoints in this time.').first().waitFor();
    await dialog.getByText('2 failed at Data warehouse, which is paused.').waitFor();
    await photograph(page, 'resend-paused');
    expect(await findFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Reactivate Data warehouse' }).click();
    await dialog.getByText('2 deliveries failed in this period').waitFor();
    expect(complaints).toEqual([]);
  });

  it('says of a CRM that cannot be reached that it cannot, and blames no entry', async () => {
    const { page } = await open('/crm');
    const error = { path: 'provider', code: 'crm_unreachable', message: 'No answer.' };
    const problem = { code: 'validation_error', request_id: 'of_the_test', errors: [error] };
    await page.route('**/trpc/admin.crm.connect*', (route) =>
      route.fulfill({
        status: 422,
        json: { error: { message: 'refused', code: -32_600, data: { problem } } },
      }),
    );
    await page.getByRole('button', { name: 'Connect a CRM' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Token').fill('pat-nothing');
    await dialog.getByRole('button', { name: 'Test and connect' }).click();
    const notice = await dialog.getByRole('alert').innerText();
    expect(notice.trim()).toBe(en.reasons['crm_unreachable']);
    expect(await dialog.locator('[data-wrong]').count()).toBe(0);
  });

  it('takes each letter that follows Ctrl-K', async () => {
    const { page } = await open('/privacy');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('webhook');
    expect(await page.getByRole('combobox', { name: /Page, key/ }).inputValue()).toBe('webhook');
  });

  it('asks for members once for letters that follow each other', async () => {
    const { page } = await open('/privacy');
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('members.search')) asked.push(request.url());
    });
    await page.keyboard.press('Control+k');
    const box = page.getByRole('combobox', { name: /Page, key/ });
    // However slow the machine is: no time passes between them.
    await box.evaluate((input: HTMLInputElement) => {
      const own = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
      for (let letters = 1; letters <= 13; letters += 1) {
        own?.set?.call(input, 'member@full.t'.slice(0, letters));
        input.dispatchEvent(new Event('input', { bubbles: true }));
      }
    });
    await page.getByRole('option', { name: /member@full\.test/ }).waitFor();
    expect(asked).toHaveLength(1);
  });

  it('filters members without Enter', async () => {
    const { page } = await open('/members');
    await page.getByLabel('Address or ID').pressSequentially('member@');
    await expect.poll(() => page.getByRole('rowheader').count()).toBe(1);
    expect(new URL(page.url()).search).toBe('?text=member%40');
    expect(await page.getByLabel('Address or ID').inputValue()).toBe('member@');
  });

  it('finds deeds, and begins them', async () => {
    const { page } = await open('/');
    await page.keyboard.press('/');
    await page.keyboard.insertText('invite');
    await page.getByRole('option', { name: 'Invite a member', selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Invite a member' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/admin/members');
  });

  it('opens the page of a member by the whole row, with their history', async () => {
    const { page, complaints } = await open('/members');
    const row = page.getByRole('row').filter({ hasText: 'member@full.test' });
    // Far from its name.
    await row.click({ position: { x: 500, y: 12 } });
    await page.getByRole('heading', { level: 1, name: 'member@full.test' }).waitFor();
    await settle(page);
    for (const name of ['API keys they created', 'Assignments', 'History'])
      await page.getByRole('heading', { level: 2, name }).waitFor();
    await photograph(page, 'member');
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'Everything about this member' }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('?target=mem_full_member');
    expect(complaints).toEqual([]);
  });

  it.each([
    ['/deliveries/whd_nothing', 'This delivery does not exist', 'Deliveries'],
    ['/webhooks/whe_nothing', 'This endpoint does not exist', 'Webhooks'],
    ['/members/mem_nothing', 'This member is not in the team', 'Members'],
  ])('shows %s as missing, with the way to the list', async (path, heading, list) => {
    const { page } = await open(path);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await expect.poll(() => page.title()).toContain(heading);
    await page.locator('.crumbs').getByRole('link', { name: list }).click();
    await page.getByRole('heading', { level: 1, name: list }).waitFor();
  });

  it('says all that is missing of an endpoint, and colours no choice', async () => {
    const { page } = await open('/webhooks/new');
    const choice = page.locator('.group .choice').first();
    const before = await colorOf(choice, 'color');
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    await page.getByText('Please fill this in.').waitFor();
    await page.getByText('Choose at least one event.').waitFor();
    expect(await colorOf(choice, 'color')).toBe(before);
    expect(await colorOf(page.locator('.group > legend'), 'color')).not.toBe(before);
  });

  it('shows that something is being saved', async () => {
    const { page } = await open('/alerts');
    const release = await holdBack(page, 'alerts.set');
    await page.getByLabel('an API key expires soon').click();
    const line = page.getByRole('progressbar', { name: 'Saving …' });
    await line.waitFor();
    await expect.poll(() => colorOf(line, 'opacity')).toBe('1');
    release();
    await line.waitFor({ state: 'detached' });
  });

  it('fills the deadly button, and puts it last', async () => {
    const { page } = await open('/keys');
    await page
      .getByRole('button', { name: /^Revoke: / })
      .first()
      .click();
    const buttons = page.getByRole('dialog').locator('.actions .button');
    expect(await buttons.last().getAttribute('class')).toContain('danger');
    expect(await colorOf(buttons.last(), 'background-color')).toBe(
      await colorOf(buttons.last(), 'border-top-color'),
    );
    const right = async (part: Locator) => {
      const { x = 0, width = 0 } = (await part.boundingBox()) ?? {};
      return x + width;
    };
    expect(await right(buttons.last())).toBeGreaterThan(await right(buttons.first()));
    await photograph(page, 'revoke');
    expect(await findFaults(page)).toEqual([]);
  });
});
