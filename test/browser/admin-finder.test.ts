// The search over everything: what it finds, where it leads, and what it never sends.
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { findFaults, launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { logCall } from '../support/request-log.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';

describe.skipIf(SKIPPED !== '')(`the admin page: search${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  let page: Page;
  let complaints: string[];
  let requestId = '';

  beforeAll(async () => {
    api = await startTestApi({ seed: makeSeed([makeFullTeam('full')]) });
    requestId = await logCall(api, {
      teamId: 'team_full',
      keyName: 'full',
      route: '/users',
      status: 200,
    });
    browser = await launchBrowser();
    ({ page, complaints } = await openAdminPage(browser, api, { path: '/privacy', team: 'full' }));
    await settle(page);
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  /** Searches by the keyboard alone, and opens what is found first. */
  const find = async (keys: string, text: string, first: string) => {
    await page.keyboard.press(keys);
    await page.getByRole('combobox', { name: /Page, key/ }).waitFor();
    await page.keyboard.insertText(text);
    await page.getByRole('option', { name: first, selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    return new URL(page.url()).pathname.replace('/admin', '') + new URL(page.url()).search;
  };

  it('finds pages, keys, webhooks and members by a part of their names', async () => {
    expect(await find('Control+k', 'polic', 'Policies and catalog')).toBe('/catalog');
    await page.getByRole('heading', { name: 'Policies and catalog' }).waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Policies and catalog');
    expect(await find('/', 'analytics:r', 'analytics:read')).toMatch(/^\/requests\?key=key_/);
    expect(await find('/', 'whe_full', 'whe_full')).toContain('target=whe_full');
    expect(await find('/', 'member@fu', 'member@full.test')).toBe('/members/mem_full_member');
    await page.getByRole('heading', { name: 'member@full.test' }).waitFor();
  });

  it('marks the first of what is found, whatever was marked before', async () => {
    await page.keyboard.press('/');
    const marked = page.getByRole('dialog').getByRole('option', { selected: true });
    const before = await marked.innerText();
    for (let down = 0; down < 3; down += 1) await page.keyboard.press('ArrowDown');
    await expect.poll(() => marked.innerText()).not.toBe(before);
    await page.keyboard.insertText('polic');
    await page.getByRole('option', { name: 'Policies and catalog', selected: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('keeps in view what the arrow keys choose, wherever the mouse is', async () => {
    const { page: low } = await openAdminPage(browser, api, {
      path: '/privacy',
      team: 'full',
      viewport: { width: 1280, height: 600 },
    });
    await settle(low);
    await low.keyboard.press('/');
    const dialog = low.getByRole('dialog');
    const options = dialog.getByRole('option');
    await options.first().hover();
    await low.keyboard.press('ArrowUp');
    const last = await options.last().innerText();
    const chosen = dialog.getByRole('option', { selected: true });
    await expect.poll(() => chosen.innerText()).toBe(last);
    const boxOf = async (part: Locator) => {
      const { y = 0, height = 0 } = (await part.boundingBox()) ?? {};
      return { top: y, bottom: y + height };
    };
    const [around, within] = [await boxOf(dialog), await boxOf(chosen)];
    expect(within.top).toBeGreaterThanOrEqual(around.top);
    expect(within.bottom).toBeLessThanOrEqual(around.bottom);
    // The browser tells what has come under the mouse by then.
    await low.waitForTimeout(300);
    expect(await chosen.innerText()).toBe(last);
    await options.nth(-2).hover();
    await expect.poll(() => chosen.innerText()).not.toBe(last);
    await low.context().close();
  });

  it('opens what a pasted id stands for, with the text around it', async () => {
    expect(await find('/', `Something failed (request ${requestId}).`, requestId)).toBe(
      `/requests/${requestId}`,
    );
    expect(await find('/', 'delivery whd_01jc4fa7', 'whd_01jc4fa7')).toBe(
      '/deliveries/whd_01jc4fa7',
    );
    expect(await find('/', 'mem_full_member', 'mem_full_member')).toBe('/members/mem_full_member');
  });

  it('sends no secret, and names the key that it belongs to', async () => {
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url() + (request.postData() ?? '')));
    const secret = api.key('team_full', 'users:read');
    await page.keyboard.press('/');
    await page.keyboard.insertText(`Bearer ${secret}`);
    await page.getByText('This is a secret. We did not send it anywhere').waitFor();
    const options = page.getByRole('dialog').getByRole('option');
    await options.filter({ hasText: 'users:read' }).waitFor();
    await photograph(page, 'finder');
    expect(await options.count()).toBe(1);
    expect(await findFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const [, tail = ''] = /svck_live_(\w+)/.exec(secret) ?? [];
    expect(tail.length).toBeGreaterThan(20);
    expect(sent.filter((one) => one.includes(tail.slice(0, 12)))).toEqual([]);
    // The page under test is not there, nor is the delivery: both say so.
    expect(complaints.filter((one) => !one.includes('404'))).toEqual([]);
  });

  it('leaves the slash to those who type', async () => {
    await page.goto(`${api.url}/admin/members`);
    await page.getByLabel('Address or ID').fill('a');
    await page.keyboard.type('/b');
    expect(await page.getByLabel('Address or ID').inputValue()).toBe('a/b');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });
});
