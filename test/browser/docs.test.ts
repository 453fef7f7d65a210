// The developer pages in a real browser: what scripts do under the content security policy, the
// keyboard, accessibility by axe, and small screens. `every-page.smoke` opens a page of each kind.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { findFaults, launchBrowser, openPage, photograph, SKIPPED } from '../support/browser.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

describe.skipIf(SKIPPED !== '')(`developer pages in a browser${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    api = await startTestApi({ seed: makeSeed([makeTeam('acme'), makeTeam('acme:sandbox')]) });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  const open = (options: Parameters<typeof openPage>[2] = {}) =>
    openPage(browser, api.url, options);

  it('calls an operation with the key that the reader typed', async () => {
    const { page, complaints } = await open();
    await page.goto(`${api.url}/docs/reference/me-get`);
    await page.getByLabel('API key').fill(api.key('team_acme'));
    await page.getByRole('button', { name: 'Send GET' }).click();
    const answer = page.locator('.answer');
    await answer.locator('pre').waitFor();
    await photograph(page, 'try');
    expect(await answer.innerText()).toMatch(/^200 OK, \d+ ms\s+x-request-id: [\w-]+/);
    expect(await answer.innerText()).toContain('"tenant_id": "team_acme"');
    expect(await findFaults(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('says which team a key opens before anything is sent', async () => {
    const { page, complaints } = await open();
    const fill = (key: string) => page.getByLabel('API key').fill(key);
    const note = async () => (await page.locator('#try-mode p:visible').allInnerTexts()).join();
    const send = page.getByRole('button', { name: 'Send POST' });
    const colorOf = () =>
      page.locator('#try-mode strong:visible').evaluate((one) => getComputedStyle(one).background);
    await page.goto(`${api.url}/docs/reference/assignments-create`);
    expect(await note()).toMatch(/^Begin with a test key: it opens the sandbox/);
    await fill(api.key('team_acme'));
    expect(await note()).toBe('Live This changes data of your live team.');
    const live = await colorOf();
    await photograph(page, 'try-live');
    await fill(api.key('team_acme:sandbox'));
    expect(await note()).toBe(
      'Sandbox This changes data of the sandbox. The ids here are those of its scenario.',
    );
    expect(await colorOf()).not.toBe(live);
    expect(await send.isEnabled()).toBe(true);
    // The ids are those of the key's team, unless the reader has typed others.
    const body = page.getByLabel('Body');
    const sample = () => page.locator('.samples').first().innerText();
    expect(await body.inputValue()).toContain('"mem_sandbox_clara"');
    expect(await sample()).toContain('mem_sandbox_clara');
    await fill(api.key('team_acme'));
    expect(await body.inputValue()).toContain('"mem_01jc4f3x"');
    expect(await sample()).toContain('mem_01jc4f3x');
    await body.fill('{"member_id": "mem_01jc4f3x"}');
    await fill(api.key('team_acme:sandbox'));
    expect(await body.inputValue()).toBe('{"member_id": "mem_01jc4f3x"}');
    await photograph(page, 'try-sandbox');
    expect(await findFaults(page)).toEqual([]);

    // What only test keys reach.
    await page.goto(`${api.url}/docs/reference/sandbox-reset`);
    await fill(api.key('team_acme'));
    expect(await note()).toBe('Live Only a test key can call this.');
    expect(await send.isDisabled()).toBe(true);
    await fill(api.key('team_acme:sandbox'));
    await send.click();
    await page.locator('.answer pre').waitFor();
    expect(await page.locator('.answer').innerText()).toContain('"scenario": "typical"');
    expect(complaints).toEqual([]);
  });

  it('fills in path and query, and shows errors as they come', async () => {
    const { page } = await open();
    await page.goto(`${api.url}/docs/reference/trainings-list`);
    await page.getByLabel('API key').fill(api.key('team_acme'));
    await page.getByText('Optional parameters').click();
    await page.getByLabel('limit').fill('0');
    await page.getByRole('button', { name: 'Send GET' }).click();
    await page.locator('.answer pre').waitFor();
    expect(await page.locator('.answer').innerText()).toContain('"path": "query.limit"');
    await page.goto(`${api.url}/docs/reference/members-get`);
    await page.getByLabel('API key').fill(api.key('team_acme'));
    await page.getByLabel('member_id').fill('mem/../no');
    await page.getByRole('button', { name: 'Send GET' }).click();
    await page.locator('.answer pre').waitFor();
    expect(await page.locator('.answer').innerText()).toMatch(/^404 .*"code": "not_found"/s);
  });

  it('refuses a body that is not JSON before it is sent', async () => {
    const { page, complaints } = await open();
    await page.goto(`${api.url}/docs/reference/members-create`);
    await page.getByLabel('API key').fill(api.key('team_acme'));
    await page.getByLabel('Body').fill('{"email": ');
    await page.getByRole('button', { name: 'Send POST' }).click();
    await page.locator('.answer pre').waitFor();
    expect(await page.locator('.answer p').innerText()).toBe('The body is not valid JSON');
    expect(complaints).toEqual([]);
  });

  it('puts the key into samples, keeps it from page to page, and stores it nowhere', async () => {
    const { page, complaints } = await open();
    await page.goto(`${api.url}/docs/quickstart`);
    await page.getByLabel('Your API key').fill('svck_live_mine');
    expect(await page.locator('pre:visible').first().innerText()).toContain(
      'Authorization: Bearer svck_live_mine',
    );
    await page.getByRole('link', { name: 'Authentication' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Authentication' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/docs/authentication');
    expect(await page.title()).toBe('Authentication – Team Customer API');
    expect(await page.locator('pre:visible').first().innerText()).toContain('svck_live_mine');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Quickstart' }).waitFor();
    expect(await page.getByLabel('Your API key').inputValue()).toBe('svck_live_mine');
    const stored = await page.evaluate<string>(
      'JSON.stringify([localStorage, sessionStorage, document.cookie])',
    );
    expect(stored).not.toContain('svck_live_');
    await page.reload();
    expect(await page.getByLabel('Your API key').inputValue()).toBe('');
    expect(complaints).toEqual([]);
  });

  it('keeps what was typed and answered while the reader moves within a page', async () => {
    const { page } = await open();
    await page.goto(`${api.url}/docs/reference/assignments-create`);
    await page.getByLabel('API key').fill(api.key('team_acme:sandbox'));
    const body = page.getByLabel('Body');
    const answer = page.locator('.answer');
    const shown = async () => [await body.inputValue(), await answer.innerText()];
    await body.fill('{"member_id": "mem_none"}');
    await page.getByRole('button', { name: 'Send POST' }).click();
    await answer.locator('pre').waitFor();
    const before = await shown();
    await page.evaluate(
      "addEventListener('popstate', () => (window.moves = (window.moves ?? 0) + 1))",
    );
    for (const [index, move] of [
      () => page.locator('a[href="#try"]').first().click(),
      () => page.locator('a[href="#content"]').press('Enter'),
      () => page.goBack(),
      () => page.goBack(),
    ].entries()) {
      await move();
      await expect.poll(() => page.evaluate('window.moves')).toBe(index + 1);
      // What would have been loaded is shown by then.
      await page.evaluate('fetch(location.href).then((response) => response.text())');
      expect(await shown()).toEqual(before);
    }
  });

  it('shows the page of the address, whichever of several answers first', async () => {
    const { page, complaints } = await open();
    const titleOf = (name: string) => page.getByRole('heading', { level: 1, name });
    const follow = (name: string) => page.getByRole('link', { name, exact: true }).first().click();
    await page.goto(`${api.url}/docs/quickstart`);
    await page.getByLabel('Your API key').fill('svck_test_mine');
    for (const name of ['Authentication', 'Rate limits']) {
      await follow(name);
      await titleOf(name).waitFor();
    }
    /** Holds back the answers of some addresses. Returns what lets this many of them come. */
    const holdBack = async (addresses: RegExp) => {
      const late = Promise.withResolvers<void>();
      let answered = 0;
      await page.route(addresses, async (route) => {
        await late.promise;
        // The browser may have given it up.
        await route.fulfill({ response: await route.fetch() }).catch(() => undefined);
        answered += 1;
      });
      return async (count: number) => {
        late.resolve();
        await expect.poll(() => answered).toBe(count);
        await page.evaluate('fetch(location.href).then((response) => response.text())');
      };
    };
    const release = await holdBack(/\/docs\/(authentication|idempotency)$/);
    await page.goBack();
    await page.goBack();
    await titleOf('Quickstart').waitFor();
    // The reader changes their mind: a place of the page that is shown.
    await follow('Idempotency and retries');
    await page.locator('a[href="#content"]').press('Enter');
    await release(2);
    expect(await page.locator('h1').innerText()).toBe('Quickstart');
    expect(new URL(page.url()).pathname).toBe('/docs/quickstart');
    // Another page, which is here before the first one.
    const releaseFirst = await holdBack(/\/docs\/pagination$/);
    await follow('Pagination and synchronization');
    await follow('Privacy switches');
    await titleOf('Privacy switches').waitFor();
    await releaseFirst(1);
    expect(await page.locator('h1').innerText()).toBe('Privacy switches');
    expect(new URL(page.url()).pathname).toBe('/docs/privacy');
    expect(complaints).toEqual([]);
  });

  it('changes the language of all samples by the keyboard, and remembers it', async () => {
    const { page, complaints } = await open();
    await page.goto(`${api.url}/docs/quickstart`);
    const shown = () => page.locator('.sample:visible').evaluateAll(languagesOf);
    // curl receives no webhook.
    const samples = await shown();
    expect(samples.filter((language) => language !== 'curl')).toEqual(['javascript']);
    expect(samples.length).toBeGreaterThan(3);
    await page.getByRole('tab', { name: 'curl' }).first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await shown()).toEqual(samples.map(() => 'python'));
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Python');
    await page.goto(`${api.url}/docs/reference/me-get`);
    expect(await shown()).toEqual(['python']);
    expect(await page.getByRole('tab', { name: 'Python' }).getAttribute('aria-selected')).toBe(
      'true',
    );
    await page.goto(`${api.url}/docs/pagination`);
    await page.getByRole('tab', { name: 'Go' }).first().click();
    await page.goto(`${api.url}/docs/webhooks`);
    expect(new Set(await shown())).toEqual(new Set(['go']));
    expect(complaints).toEqual([]);
  });

  it('keeps the theme that the reader chose, and paints it from the first moment', async () => {
    const { page, complaints } = await open({ colorScheme: 'light' });
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    await page.goto(`${api.url}/docs`);
    const light = await ground();
    await page.getByRole('button', { name: 'Theme: as the system' }).click();
    await page.getByRole('button', { name: 'Theme: light' }).click();
    const dark = await ground();
    expect(dark).not.toBe(light);
    // Without the module: what start.js does alone is what is painted first.
    await page.route('**/docs.js*', (route) => route.abort());
    await page.goto(`${api.url}/docs/quickstart`);
    expect(await ground()).toBe(dark);
    await page.unroute('**/docs.js*');
    await page.goto(`${api.url}/docs/errors`);
    await page.getByRole('button', { name: 'Theme: dark' }).click();
    expect(await ground()).toBe(light);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await ground()).toBe(dark);
    expect(complaints.filter((one) => !one.includes('ERR_FAILED'))).toEqual([]);
  });

  it('shows path, sample and “Try it” without scrolling', async () => {
    const { page } = await open({ viewport: { width: 1280, height: 720 } });
    for (const slug of ['trainings-list', 'assignments-create', 'webhooks-list-deliveries']) {
      await page.goto(`${api.url}/docs/reference/${slug}`);
      for (const place of ['.address code', '.address .try-link', '.samples pre:visible', '#try'])
        expect(await bottomOf(page, place)).toBeLessThan(720);
    }
  });

  it('moves nothing when its own font arrives', async () => {
    const { page, complaints } = await open();
    await page.addInitScript(`new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) window.shift = (window.shift ?? 0) + value;
    }).observe({ type: 'layout-shift', buffered: true });`);
    for (const path of ['/docs', '/docs/reference/trainings-list']) {
      await page.goto(api.url + path);
      await page.evaluate('document.fonts.ready');
      expect(await page.evaluate("document.fonts.check('16px Geist')")).toBe(true);
      expect(await page.evaluate('window.shift ?? 0')).toBeLessThan(0.02);
    }
    expect(complaints).toEqual([]);
  });

  it('changes to German and back, also while the key is held', async () => {
    const { page, complaints } = await open();
    await page.goto(`${api.url}/docs/quickstart`);
    await page.getByRole('link', { name: 'Deutsch' }).click();
    await page.getByRole('heading', { level: 1, name: 'Schnellstart' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/docs/de/quickstart');
    await page.getByLabel('API-Schlüssel').fill('svck_live_mine');
    await page.getByRole('link', { name: 'Authentifizierung' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Authentifizierung' }).waitFor();
    await page.getByRole('link', { name: 'English' }).click();
    await page.getByRole('heading', { level: 1, name: 'Authentication' }).waitFor();
    expect(await page.evaluate('document.documentElement.lang')).toBe('en');
    expect(await page.locator('pre:visible').first().innerText()).toContain('svck_live_mine');
    // What is around the content works in the other language, too.
    await page.getByRole('link', { name: 'Deutsch' }).click();
    await page.getByRole('heading', { level: 1, name: 'Authentifizierung' }).waitFor();
    await page.getByRole('button', { name: 'Farben: wie das System' }).click();
    await page.getByRole('button', { name: 'Farben: hell' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('schlüssel wechseln');
    await page.getByRole('listbox', { name: 'Treffer' }).getByRole('option').first().waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/de/authentication#change-a-key');
    expect(complaints).toEqual([]);
  });

  it.each([
    ['client', 'Client library', 'Client-Bibliothek'],
    ['python', 'Python library', 'Python-Bibliothek'],
    ['events', 'Event catalogue', 'Ereigniskatalog'],
    ['webhooks', 'Webhooks', 'Webhooks'],
  ])('fits /docs/%s on phones and desks, and switches to German and back', async (name, en, de) => {
    for (const width of [360, 1280]) {
      const { page, complaints } = await open({ viewport: { width, height: 800 } });
      const overflow = () =>
        page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      await page.goto(`${api.url}/docs/${name}`);
      expect(await overflow()).toBe(0);
      await page.getByRole('link', { name: 'Deutsch', exact: true }).click();
      await page.waitForURL(`**/docs/de/${name}`);
      expect(await page.locator('h1').innerText()).toBe(de);
      expect(await overflow()).toBe(0);
      await photograph(page, `${name}-de-${width}`);
      expect(await findFaults(page)).toEqual([]);
      await page.getByRole('link', { name: 'English', exact: true }).click();
      await page.waitForURL(`**/docs/${name}`);
      expect(await page.locator('h1').innerText()).toBe(en);
      expect(complaints).toEqual([]);
    }
  });

  it('says where the switch leads if a page is in English only', async () => {
    for (const width of [360, 1280]) {
      const { page } = await open({ viewport: { width, height: 800 } });
      await page.goto(`${api.url}/docs/reference/members-list`);
      await photograph(page, `english-only-${width}`);
      expect(await findFaults(page)).toEqual([]);
      await page.getByRole('link', { name: 'Deutsch (Startseite)' }).click();
      await page.waitForURL('**/docs/de');
    }
  });

  it('copies a sample', async () => {
    const { page } = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(`${api.url}/docs/reference/me-get`);
    await page.locator('figure').first().hover();
    await page.getByRole('button', { name: 'Copy', exact: true }).first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain(
      `curl --fail-with-body "${api.url}/api/public/v1/me"`,
    );
  });

  it('copies a page as Markdown', async () => {
    const { page, complaints } = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(`${api.url}/docs/errors`);
    await page.getByRole('button', { name: 'Copy page' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      await (await fetch(`${api.url}/docs/errors.md`)).text(),
    );
    expect(complaints).toEqual([]);
  });

  it('has one list of results, also if the reader was at the field before the script', async () => {
    const { page, complaints } = await open();
    const here = Promise.withResolvers<void>();
    await page.route(/\/assets\/docs\.js/, async (route) => {
      await here.promise;
      await route.continue();
    });
    await page.goto(`${api.url}/docs`, { waitUntil: 'commit' });
    const field = page.locator('#search');
    await field.focus();
    here.resolve();
    await expect.poll(() => field.getAttribute('role')).toBe('combobox');
    await page.keyboard.press('Tab');
    await field.focus();
    await page.keyboard.type('rate lim');
    await page.getByRole('option').first().waitFor();
    await page.evaluate('fetch(location.href).then((response) => response.text())');
    expect(await page.locator('#search-results').count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  it('searches by the keyboard alone', async () => {
    const { page, complaints } = await open();
    await page.goto(`${api.url}/docs`);
    await page.keyboard.press('/');
    await page.keyboard.type('rate lim');
    await page.getByRole('option').first().waitFor();
    await photograph(page, 'search-box');
    expect(await findFaults(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Rate limits' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('xyzzy');
    await page.getByText('Nothing found').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('listbox').isVisible()).toBe(false);
    expect(complaints).toEqual([]);
  });

  it('skips the navigation with the first press of Tab', async () => {
    const { page } = await open({ viewport: { width: 1280, height: 300 } });
    await page.goto(`${api.url}/docs/errors`);
    // The script has scrolled the menu to the entry of the page.
    await expect.poll(() => page.evaluate('menu.scrollTop')).toBeGreaterThan(0);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.hash')).toBe('#content');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('content');
  });

  it('opens the navigation on small screens, without JavaScript too', async () => {
    for (const javaScriptEnabled of [true, false]) {
      const viewport = { width: 320, height: 640 };
      const { page } = await open({ viewport, javaScriptEnabled });
      await page.goto(`${api.url}/docs/errors`);
      const link = page.getByRole('navigation', { name: 'Documentation' }).getByText('Privacy');
      expect(await link.isVisible()).toBe(false);
      await page.getByRole('button', { name: 'Menu' }).click();
      await photograph(page, 'menu-small');
      await link.click();
      await page.getByRole('heading', { level: 1, name: 'Privacy switches' }).waitFor();
      expect(await link.isVisible()).toBe(false);
    }
  });

  it('can be read without JavaScript: every language, every error', async () => {
    const { page, complaints } = await open({ javaScriptEnabled: false });
    await page.goto(`${api.url}/docs/reference/assignments-create`);
    expect(await page.locator('.sample:visible').count()).toBe(8);
    expect(await page.locator('form.try').isVisible()).toBe(false);
    expect(await page.getByText('Trying it here needs JavaScript').isVisible()).toBe(true);
    await photograph(page, 'no-script');
    await page.goto(`${api.url}/docs/errors#seat_limit_reached`);
    const problem = page.locator('#seat_limit_reached');
    await problem.getByText('Deutsch').click();
    expect(await problem.locator('div[lang=de]').innerText()).toContain('Alle Plätze sind belegt');
    await page.getByLabel('Search the documentation').fill('rate limits');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Rate limits' }).last().waitFor();
    expect(complaints).toEqual([]);
  });
});

async function bottomOf(page: Page, selector: string): Promise<number> {
  const box = await page.locator(selector).first().boundingBox();
  return box === null ? Infinity : box.y + box.height;
}

function languagesOf(samples: readonly unknown[]): string[] {
  return (samples as { dataset: { language: string } }[]).map(({ dataset }) => dataset.language);
}
