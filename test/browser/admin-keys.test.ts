// The admin page in a real browser: signing in, the states of the session, and API keys.
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { de } from '../../src/admin-ui/i18n/de.ts';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { holdBack, openAdminPage, settle, signIn } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { findFaults, launchBrowser, openPage, photograph, SKIPPED } from '../support/browser.ts';
import { logCall } from '../support/request-log.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

describe.skipIf(SKIPPED !== '')(`the admin page: sign-in and keys${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    api = await startTestApi({
      seed: makeSeed(
        ['acme', 'keys', 'steps', 'ends', 'late', 'lost'].map((name) => makeTeam(name)),
      ),
      developmentTeamId: 'team_acme',
    });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  it('signs in on a development server, and out again', async () => {
    const { page, complaints } = await openPage(browser, api.url, { locale: 'en-GB' });
    await page.goto(`${api.url}/admin/keys?ended=true`);
    await page.getByRole('button', { name: 'Continue as owner' }).waitFor();
    await photograph(page, 'sign-in');
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Continue as owner' }).click();
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    expect(new URL(page.url()).search).toBe('?ended=true');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Continue as member' }).click();
    await page.getByRole('heading', { name: 'This page is for admins' }).waitFor();
    // The first question for the session is refused, and so is the one after the sign-out.
    expect(complaints.filter((one) => !/401|trpc-session/.test(one))).toEqual([]);
  });

  it('creates a key whose secret cannot be lost by Esc, and that works', async () => {
    const { page, complaints } = await openAdminPage(browser, api, { path: '/keys', team: 'keys' });
    await page.getByRole('link', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('Payroll import');
    // Nothing is chosen before somebody chooses.
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('Choose at least one permission.').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('template');
    await page.getByLabel('Choose individual permissions').check();
    expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(0);
    await page.getByLabel('View trainings').check();
    await page.getByLabel('No expiry').check();
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    const secret = await dialog.locator('code').first().innerText();
    await photograph(page, 'key-secret');
    expect(await findFaults(page)).toEqual([]);
    for (let times = 0; times < 3; times += 1) await page.keyboard.press('Escape');
    // It says that it is disabled, so Playwright would wait.
    await dialog.getByRole('button', { name: 'Done' }).click({ force: true });
    expect(await dialog.isVisible()).toBe(true);
    const { body } = await api.call(secret, 'GET', '/me');
    expect(body).toMatchObject({ tenant_id: 'team_keys' });
    expect((body as { scopes: string[] }).scopes).toEqual(['trainings:read']);
    await dialog.getByLabel('I have stored the key').check();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await rowOf(page, 'Payroll import').waitFor();
    expect(complaints).toEqual([]);
  });

  it('gives HR a key in six steps, from the overview to the list with the key', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/',
      team: 'steps',
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const steps = [
      () => page.getByRole('link', { name: 'API keys' }).click(),
      () => page.getByRole('link', { name: 'Create a key' }).click(),
      () => page.getByLabel(/^HR: members only/).check(),
      () => page.getByRole('button', { name: 'Create a key' }).click(),
      () => page.getByRole('button', { name: 'Copy: Your new key' }).click(),
      () => page.getByRole('button', { name: 'Done' }).click(),
    ];
    for (const step of steps) await step();
    expect(steps.length).toBeLessThanOrEqual(6);
    await rowOf(page, 'HR').waitFor();
    await page.getByText('Not confirmed as stored').waitFor({ state: 'detached' });
    const secret = await page.evaluate<string>('navigator.clipboard.readText()');
    const { status, body } = await api.call(secret, 'GET', '/me');
    expect([status, body]).toMatchObject([200, { scopes: ['users:read', 'users:write'] }]);
    expect(complaints).toEqual([]);
  });

  it('suggests no name in the place of one that was typed, and takes a copy back', async () => {
    const { page } = await openAdminPage(browser, api, {
      path: '/keys/new',
      team: 'steps',
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const name = page.getByLabel('Name');
    await page.getByLabel(/^LMS/).check();
    expect(await name.inputValue()).toBe('LMS');
    await name.fill('Our planner');
    await page.getByLabel(/^BI/).check();
    expect(await name.inputValue()).toBe('Our planner');
    await page.getByRole('button', { name: 'Create a key' }).click();
    const stored = page.getByLabel('I have stored the key');
    await page.getByRole('button', { name: 'Copy: Your new key' }).click();
    await expect.poll(() => stored.isChecked()).toBe(true);
    await stored.uncheck();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Done' }).click({ force: true });
    expect(await page.getByRole('dialog').isVisible()).toBe(true);
  });

  it('loses no secret with a response, by Back or by a new document', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/keys', team: 'lost' });
    let sent = 0;
    await page.route('**/trpc/admin.apiKeys.create', async (route) => {
      sent += 1;
      if (sent > 1) return route.continue();
      // The service has made the key, and its response is lost.
      await route.fetch();
      return route.abort('connectionreset');
    });
    await page.getByRole('link', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('Once');
    await page.getByLabel(/^Read only/).check();
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    const secret = await dialog.locator('code').first().innerText();
    expect(sent).toBe(2);
    expect((await api.call(secret, 'GET', '/me')).status).toBe(200);
    const { rows } = await api.db.pool.query(`select from api_key where name like 'Once%'`);
    expect(rows).toHaveLength(1);
    await page.evaluate(() => history.back());
    await page.waitForTimeout(300);
    expect(await dialog.locator('code').first().innerText()).toBe(secret);
    expect(new URL(page.url()).pathname).toBe('/admin/keys/new');
    const asked = page.waitForEvent('dialog');
    const closing = page.close({ runBeforeUnload: true });
    const question = await asked;
    expect(question.type()).toBe('beforeunload');
    await question.dismiss();
    await closing;
    await dialog.getByLabel('I have stored the key').check();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await rowOf(page, 'Once').waitFor();
    await page.getByText('Not confirmed as stored').waitFor({ state: 'detached' });
  });

  it('sends nothing and keeps the secret when Enter is pressed on its check box', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/keys/new', team: 'lost' });
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url()));
    await page.getByLabel('Name').fill('Enter');
    await page.getByLabel(/^Read only/).check();
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    const secret = await dialog.locator('code').first().innerText();
    const stored = dialog.getByLabel('I have stored the key');
    expect(await stored.evaluate((one) => one === document.activeElement)).toBe(true);
    await page.keyboard.press('Enter');
    await settle(page);
    expect(await dialog.locator('code').first().innerText()).toBe(secret);
    expect(sent.filter((url) => url.endsWith('/trpc/admin.apiKeys.create'))).toHaveLength(1);
    await stored.check();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await rowOf(page, 'Enter').waitFor();
  });

  it('names a key that nobody has seen, and replaces it at once', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/keys/new', team: 'lost' });
    await page.getByLabel('Name').fill('Unseen');
    await page.getByLabel(/^Read only/).check();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
    const { page: next } = await openAdminPage(browser, api, { path: '/keys', team: 'lost' });
    await rowOf(next, 'Unseen').getByText('Not confirmed as stored').waitFor();
    expect(await findFaults(next)).toEqual([]);
    await next.getByRole('button', { name: 'Rotate: Unseen' }).click();
    const replace = next.getByRole('dialog', { name: 'Rotate the key “Unseen”' });
    expect(await replace.getByLabel(/^End it now/).isChecked()).toBe(true);
    await replace.getByRole('button', { name: 'Rotate the key' }).click();
    const dialog = next.getByRole('dialog', { name: 'Your new key' });
    await dialog.getByLabel('I have stored the key').check();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await rowOf(next, 'Unseen (2)').waitFor();
    await next.getByText('Not confirmed as stored').waitFor({ state: 'detached' });
  });

  it('ends a leaked key, shows what it did, and makes a new one, in three steps', async () => {
    const leaked = api.key('team_lost', 'full');
    const body = { email: 'stranger@example.com' };
    expect((await api.call(leaked, 'POST', '/users', { body })).status).toBe(201);
    await logCall(api, {
      teamId: 'team_lost',
      keyName: 'full',
      route: '/users',
      status: 201,
    });
    const { page } = await openAdminPage(browser, api, { path: '/keys', team: 'lost' });
    await page.getByRole('button', { name: 'Revoke: full' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke the key “full”?' });
    await dialog.getByLabel('Yes, or I am not sure').check();
    await dialog.getByText('Its latest changes: Member invited (1).').waitFor();
    await dialog
      .getByText(/Its last request: POST \/users\. Source networks: 203\.0\.113\.0\/24/)
      .waitFor();
    await photograph(page, 'key-leaked');
    expect(await findFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'End it now and show a new key' }).click();
    const issued = page.getByRole('dialog', { name: 'Your new key' });
    const secret = await issued.locator('code').first().innerText();
    expect((await api.call(leaked, 'GET', '/me')).status).toBe(401);
    expect((await api.call(secret, 'GET', '/me')).status).toBe(200);
  });

  it('replaces a key that soon ends by one that lasts, and names both ends', async () => {
    const DAY_MS = 86_400_000;
    const end = new Date(Date.now() + 2 * DAY_MS);
    await api.db.pool.query(
      `update api_key set created_at = $1::timestamptz - interval '30 days', expires_at = $1
       where team_id = 'team_lost' and name in ('cases:read', 'catalog:read')`,
      [end],
    );
    const { page } = await openAdminPage(browser, api, { path: '/keys', team: 'lost' });
    const expiries = async () => {
      const { rows } = await api.db.pool.query<{ name: string; days: number }>(
        `select name, extract(epoch from coalesce(least(revoked_at, expires_at), 'infinity') - $1)
             / 86400 as days
         from api_key where team_id = 'team_lost' and name ~ '^(cases|catalog):read'`,
        [end],
      );
      return Object.fromEntries(rows.map(({ name, days }) => [name, Math.round(Number(days))]));
    };
    await page.getByRole('button', { name: 'Rotate: cases:read' }).click();
    const replace = page.getByRole('dialog', { name: 'Rotate the key “cases:read”' });
    expect(await replace.getByLabel(/^30 days, until/).isChecked()).toBe(true);
    expect(await replace.getByLabel(/^7 days/).count()).toBe(0);
    await replace.getByLabel(/^Until its own expiry/).check();
    await photograph(page, 'key-replace-ending');
    expect(await findFaults(page)).toEqual([]);
    await replace.getByRole('button', { name: 'Rotate the key' }).click();
    await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
    expect(await expiries()).toMatchObject({ 'cases:read': 0, 'cases:read (2)': 28 });
    await page.reload();
    const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', timeZone: 'Europe/Berlin' });
    await rowOf(page, 'cases:read')
      .getByText(`Works until ${day.format(end)} `)
      .waitFor();
    await page.getByRole('button', { name: 'Revoke: catalog:read' }).click();
    const leaked = page.getByRole('dialog', { name: 'Revoke the key “catalog:read”?' });
    await leaked.getByLabel('Yes, or I am not sure').check();
    await leaked.getByLabel(/^90 days, until/).check();
    await leaked.getByRole('button', { name: 'End it now and show a new key' }).click();
    await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
    expect(await expiries()).toMatchObject({ 'catalog:read (2)': 88 });
  });

  it('ends a leaked key that is being replaced, and makes no second successor', async () => {
    await api.db.pool.query(
      `update api_key set revoked_at = now() + interval '1 day'
       where team_id = 'team_lost' and name = 'users:read'`,
    );
    const { page } = await openAdminPage(browser, api, { path: '/keys', team: 'lost' });
    await page.getByRole('button', { name: 'Revoke: users:read' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke the key “users:read”?' });
    await dialog.getByLabel('Yes, or I am not sure').check();
    await dialog.getByText('It has made no changes.').waitFor();
    const replace = dialog.getByRole('button', { name: 'End it now and show a new key' });
    expect(await replace.count()).toBe(0);
    await dialog.getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByText('The key “users:read” no longer works.').waitFor();
  });

  it('says at the field why a key is refused', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/keys/new', team: 'acme' });
    await page.getByLabel('Name').fill('full');
    await page.getByLabel(/^Read only/).check();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page
      .getByText('The team already has, or had, a key with this name. Choose another name.')
      .waitFor();
    const name = page.getByLabel('Name');
    expect(await name.getAttribute('aria-invalid')).toBe('true');
    const where = page.getByRole('textbox', { name: 'Allowed addresses' });
    const hasFocus = (field: Locator) => field.evaluate((one) => one === document.activeElement);
    // Of two that are wrong, the reader begins with the first one.
    await name.fill('');
    await where.fill('not an address');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('Enter an IPv4 or IPv6 address').waitFor();
    expect(await name.getAttribute('aria-invalid')).toBe('true');
    expect(await hasFocus(name)).toBe(true);
    await name.fill('Import');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await expect.poll(() => name.getAttribute('aria-invalid')).toBeNull();
    await expect.poll(() => hasFocus(where)).toBe(true);
    expect(await findFaults(page)).toEqual([]);
    // What was corrected is another request.
    await where.fill('203.0.113.0/24');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
  });

  it.each([
    ['one key', 'the same', 'Twice', 'Twice', 1],
    ['two keys', 'another name', 'Before', 'After', 2],
  ])('makes %s when answers are lost and the reader sends %s', async (...row) => {
    const [, , name, next, count] = row;
    const { page } = await openAdminPage(browser, api, { path: '/keys/new', team: 'lost' });
    let sent = 0;
    await page.route('**/trpc/admin.apiKeys.create', async (route) => {
      sent += 1;
      if (sent > 3) return route.continue();
      if (sent === 1) await route.fetch();
      return route.abort('connectionreset');
    });
    await page.getByLabel('Name').fill(name);
    await page.getByLabel(/^Read only/).check();
    const send = page.getByRole('button', { name: 'Create a key' });
    await send.click();
    await page.getByRole('alert').filter({ hasText: en.problems.network }).waitFor();
    await page.getByLabel('Name').fill(next);
    await send.click();
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    const secret = await dialog.locator('code').first().innerText();
    expect((await api.call(secret, 'GET', '/me')).status).toBe(200);
    const { rows } = await api.db.pool.query(
      `select from api_key where name like $1 || '%' or name like $2 || '%'`,
      [name, next],
    );
    expect(rows).toHaveLength(count);
  });

  it('says in German why a network is refused', async () => {
    const { page } = await openAdminPage(browser, api, {
      path: '/keys/new',
      team: 'acme',
      locale: 'de-DE',
    });
    await page.getByLabel('Name').fill('Abgleich');
    await page.getByLabel(/^Nur lesen/).check();
    await page.getByLabel(de.keys.restrict).fill('kein Netz');
    await page.getByRole('button', { name: de.keys.create }).click();
    await page.getByText(de.reasons['invalid_network'] ?? '').waitFor();
    expect(await page.getByText('Enter an IPv4').count()).toBe(0);
    await page.getByLabel(de.keys.restrict).fill('::ffff:10.0.0.1');
    await page.getByRole('button', { name: de.keys.create }).click();
    await page.getByText(de.reasons['mapped_network'] ?? '').waitFor();
  });

  it('replaces and revokes a key by the keyboard alone', async () => {
    const { page, complaints } = await openAdminPage(browser, api, { path: '/keys', team: 'ends' });
    const old = api.key('team_ends', 'users:read');
    await page.getByRole('button', { name: 'Rotate: users:read' }).focus();
    await page.keyboard.press('Enter');
    await photograph(page, 'key-replace');
    await page.getByRole('dialog', { name: 'Rotate the key “users:read”' }).waitFor();
    await tabTo(page, '1 day');
    // Two steps up, over the first choice to the last one: "End it now".
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await tabTo(page, 'Rotate the key');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
    await tabTo(page, 'I have stored the key');
    await page.keyboard.press('Space');
    await tabTo(page, 'Done');
    await page.keyboard.press('Enter');
    // The new row is there before the dialog over it is closed.
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await rowOf(page, 'users:read (2)').waitFor();
    expect((await api.call(old, 'GET', '/me')).status).toBe(401);
    await page.getByRole('button', { name: 'Revoke: users:read (2)' }).focus();
    await page.keyboard.press('Enter');
    await tabTo(page, 'Revoke the key');
    await page.keyboard.press('Enter');
    await page.getByText('The key “users:read (2)” no longer works.').waitFor();
    await page.getByLabel('Show ended keys').focus();
    await page.keyboard.press('Space');
    await page.getByText('Revoked').first().waitFor();
    expect(await rowOf(page, 'users:read').count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  it('keeps a new key in sight when the answer to an earlier call comes late', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/keys', team: 'late' });
    const release = await holdBack(page, 'admin.apiKeys.revoke');
    await page.getByRole('button', { name: 'Revoke: users:read' }).click();
    const ending = page.getByRole('dialog', { name: 'Revoke the key “users:read”?' });
    await ending.getByLabel('Yes, or I am not sure').check();
    await ending.getByRole('button', { name: 'Revoke the key' }).click();
    const other = ending.getByRole('button', { name: 'End it now and show a new key' });
    await expect.poll(() => other.getAttribute('aria-disabled')).toBe('true');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Rotate: users:write' }).click();
    await page.getByRole('button', { name: 'Rotate the key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    await dialog.waitFor();
    release();
    await page.getByText('The key “users:read” no longer works.').waitFor();
    expect(await dialog.isVisible()).toBe(true);
  });

  it('leads nobody away when it is confirmed late that a key is stored', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/keys/new', team: 'late' });
    await page.getByLabel('Name').fill('Slow');
    await page.getByLabel(/^Read only/).check();
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    await dialog.getByLabel('I have stored the key').check();
    const release = await holdBack(page, 'admin.apiKeys.confirmStored');
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.keyboard.press('Escape');
    await rowOf(page, 'Slow').waitFor();
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByText('owner@late.test').waitFor();
    const listed = page.waitForResponse(/admin\.apiKeys\.confirmStored/);
    release();
    await listed;
    await settle(page);
    expect(new URL(page.url()).pathname).toBe('/admin/members');
  });

  it('shows the templates in the language that the reader changes to', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/keys/new', team: 'acme' });
    await page.getByLabel(/^Read only/).check();
    await page.getByLabel(en.app.language).selectOption('de');
    await expect.poll(() => page.getByLabel(/^Nur lesen/).isChecked()).toBe(true);
  });

  it('explains to an admin without the right what is missing and who can grant it', async () => {
    const options = { path: '/keys', team: 'acme', member: 'admin' };
    const { page } = await openAdminPage(browser, api, options);
    const create = page.getByRole('button', { name: 'Create a key' });
    expect(await create.getAttribute('aria-disabled')).toBe('true');
    expect(await create.getAttribute('title')).toContain('The owner of the team can grant it');
  });

  it('keeps a form while the session has ended, and goes on after signing in', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/keys/new', team: 'acme' });
    await page.getByLabel('Name').fill('Kept text');
    await page.getByLabel(/^Read only/).check();
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    expect(await findFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Continue as owner' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.getByLabel('Name').inputValue()).toBe('Kept text');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
  });

  it('shows an error with its request id, and tries again', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/keys/new', team: 'acme' });
    await settle(page);
    await api.db.pool.query(`update team set status = 'suspended' where id = 'team_acme'`);
    await page.getByRole('link', { name: 'API keys' }).click();
    // Above the page, too, until the page itself says it.
    const ids = page.getByText(/Request ID for support: [\w-]{36}/);
    await expect.poll(() => ids.count()).toBe(1);
    await api.db.pool.query(`update team set status = 'active' where id = 'team_acme'`);
    await page.getByRole('button', { name: 'Try again' }).click();
    await rowOf(page, 'full').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('is served compressed, immutable and under a strict policy', async () => {
    const shell = await fetch(`${api.url}/admin/keys`);
    expect(shell.headers.get('content-security-policy')).toMatch(
      /^default-src 'none';script-src 'self';.*frame-ancestors 'none';require-trusted-types-for/,
    );
    const [, script = ''] = /src="([^"]+\.js)"/.exec(await shell.text()) ?? [];
    const asset = await fetch(api.url + script, { headers: { 'accept-encoding': 'br' } });
    expect(asset.headers.get('content-encoding')).toBe('br');
    expect(asset.headers.get('cache-control')).toContain('immutable');
    expect((await fetch(`${api.url}/admin/assets/nothing.js`)).status).toBe(404);
    const { page } = await openPage(browser, api.url);
    await signIn(page, api, { team: 'acme', member: 'owner' });
    const session = await page.request.get(`${api.url}/trpc-session`);
    expect(await session.json()).toMatchObject({
      member_id: 'mem_acme_owner',
      role: 'owner',
      team: { id: 'team_acme', name: 'Team acme' },
    });
  });
});

function rowOf(page: Page, name: string) {
  const cell = page.getByRole('rowheader').filter({ hasText: new RegExp(`^${escape(name)}svck`) });
  return page.getByRole('row').filter({ has: cell });
}

function escape(text: string): string {
  return text.replaceAll(/[()]/g, String.raw`\$&`);
}

/** Presses Tab until the focus is on the control with this label or text. */
async function tabTo(page: Page, label: string): Promise<void> {
  for (let times = 0; times < 20; times += 1) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate<string>(
      `(document.activeElement?.labels?.[0] ?? document.activeElement)?.textContent ?? ''`,
    );
    if (focused.startsWith(label)) return;
  }
  throw new Error(`the focus never came to "${label}"`);
}
