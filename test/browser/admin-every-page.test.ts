// Every page of the admin page for every reader: light and dark, German and English, small screens,
// forced colours. The pages are those of the routes, so a new one is covered by itself.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { SCOPES } from '../../src/core/scopes.ts';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { PAGE_COUNT, PATHS } from '../support/admin-paths.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { findFaults, launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { openSturdyPool } from '../support/pool.ts';
import { logCall } from '../support/request-log.ts';
import { makeFailed, makeFullTeam, makeSeed } from '../support/seed.ts';

/** One that names no page is a page, too, and the fields of a time of one's own need room. */
const PAGES = [
  ...PATHS,
  '/nothing',
  '/audit?past=custom&since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z',
];
const NARROW = { width: 320, height: 640 };
const WIDE = { width: 1280, height: 900 };
/** Half of what counts as good: https://web.dev/articles/cls */
const SHIFT_MAX = 0.05;
/** A slow phone. */
const CPU_SLOWDOWN = 4;
const LATENCY_MS = 150;
/** All pages by a slow phone take a minute, and longer beside other tests. */
const TIMEOUT_MS = 300_000;

/** From a small phone to a large screen, with those between which a layout changes. */
const WIDTHS = [320, 390, 600, 768, 961, 993, 1024, 1100, 1280, 1439, 1440, 1920, 2560];
/** Calls of the service that a page may need. */
const REQUESTS_MAX = 5;

/** As long as a name may be, as Germans write. */
const LONG_NAME =
  'Personalentwicklungsschnittstelle für die Datenübertragung an das Lernmanagementsystem';

const LONG_TEAM =
  'Norddeutsche Versicherungsvertriebsgesellschaftsmitarbeiterfortbildungsgesellschaft für ' +
  'Personalentwicklung und Weiterbildung in Schleswig-Holstein';
/** Lines of a name at the most, and a word of it that begins on one and ends on another. */
const NAME_LINES_MAX = 3;
const NAME_FAULTS = `(() => {
  const [box] = [...document.querySelectorAll('.team')].filter((one) => one.checkVisibility());
  const found = [];
  const [text] = box.childNodes;
  const range = document.createRange();
  for (const { 0: word, index } of text.data.matchAll(/[^\\s-]+/g)) {
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    const tops = new Set([...range.getClientRects()].map((one) => Math.round(one.top)));
    if (tops.size > 1) found.push('breaks inside: ' + word);
  }
  const { height } = box.getBoundingClientRect();
  const lines = height / parseFloat(getComputedStyle(box).lineHeight);
  if (lines > ${NAME_LINES_MAX} + 0.2) found.push(lines + ' lines');
  const isCut = box.scrollWidth > box.clientWidth + 1;
  if (isCut && getComputedStyle(box).textOverflow !== 'ellipsis') found.push('cut unseen');
  return found;
})()`;

/** How many pixels the page can be scrolled to the side. */
const OVERFLOW = 'document.documentElement.scrollWidth - innerWidth';

/**
 * The names of what leads somewhere or does something in a list, if several have the same one. Who
 * hears only the names, without the rows, could not tell them apart. A page that is named twice is
 * one place.
 */
const NAMED_ALIKE = `
  const places = new Map();
  for (const one of document.querySelectorAll('tbody :is(a, button, summary, input, meter)')) {
    // What a closed menu holds is not offered. The button that opens the menu names the row.
    if (!one.checkVisibility()) continue;
    const label = one.labels?.[0]?.textContent;
    const name = one.getAttribute('aria-label') ?? label ?? one.textContent;
    const known = places.get(name.trim()) ?? new Set();
    places.set(name.trim(), known.add(one.href ?? one));
  }
  [...places].filter(([name, known]) => name === '' || known.size > 1).map(([name]) => name)`;

/**
 * Slow enough to see each page without what it shows. Resolves with what makes the processor slow
 * or fast: what only looks at a page would take as much longer.
 */
async function slowDown(page: Page): Promise<(isSlow: boolean) => Promise<void>> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: LATENCY_MS,
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
  return async (isSlow) => {
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: isSlow ? CPU_SLOWDOWN : 1 });
  };
}

/** Adds up how far what is shown has moved by itself. */
const WATCH_SHIFTS = `
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });`;

describe.skipIf(SKIPPED !== '')(`the admin page: every page${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  /** What the parameters of the addresses stand for. */
  let ids: Readonly<Record<string, string>>;

  beforeAll(async () => {
    const hoursAgo = new Date(Date.now() - 3_600_000).toISOString();
    const delivery = (id: string, created_at: string) =>
      makeFailed(id, 'whe_full', { event_type: 'training.completed', created_at });
    const deliveries = [delivery('whd_1', hoursAgo), delivery('whd_2', new Date().toISOString())];
    api = await startTestApi({
      seed: makeSeed([makeFullTeam('full', { webhook_deliveries: deliveries })]),
    });
    await api.db.pool.query(
      `insert into api_key_usage (team_id, day, key_id, count_2xx, count_5xx)
       select team_id, current_date - n, id, 10 * n, 3
       from api_key, generate_series(0, 4) n
       where name = 'full'`,
    );
    const app = await appAsMember(api, 'full', 'owner');
    await app.admin.apiKeys.create.mutate({
      name: LONG_NAME,
      scopes: [...SCOPES],
      allowed_ips: ['2001:db8:1234:5678:9abc:def0:1234:5678', '203.0.113.0/24'],
    });
    await app.v1.members.create.mutate({ email: `${'long.name.'.repeat(5)}x@company.example` });
    ids = { endpointId: 'whe_full', deliveryId: 'whd_1', requestId: await logRefusal() };
    await api.db.pool.query(
      `update request_log set created_at = created_at - interval '1 minute' where team_id = $1`,
      ['team_full'],
    );
    await logRefusal();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  const logRefusal = (): Promise<string> =>
    logCall(api, {
      teamId: 'team_full',
      keyName: 'full',
      route: '/assignments',
      status: 422,
      problem: { code: 'validation_error', errors: [{ path: 'body.title', code: 'too_small' }] },
    });

  const addressOf = (path: string): string =>
    `${api.url}/admin${path}`.replace(/\$(\w+)/g, (_, name: string) => {
      const id = ids[name];
      if (id === undefined) throw new Error(`the test has no ${name}`);
      return id;
    });

  const visit = async (page: Page, path: string): Promise<void> => {
    await page.goto(addressOf(path));
    await page.locator('h1').first().waitFor();
    await settle(page);
  };

  it('covers every route', () => {
    expect(PATHS.length).toBe(PAGE_COUNT);
    expect(PATHS.length).toBeGreaterThan(15);
  });

  it.each([
    { locale: 'de-DE', colorScheme: 'dark', viewport: NARROW, isSlow: false },
    { locale: 'de-DE', colorScheme: 'light', viewport: WIDE, isSlow: true },
    { locale: 'en-GB', colorScheme: 'dark', viewport: WIDE, isSlow: false },
    { locale: 'en-GB', colorScheme: 'light', viewport: NARROW, isSlow: true },
  ] as const)(
    'can be read in $locale, $colorScheme, at $viewport.width pixels, and stays still',
    async ({ isSlow, ...look }) => {
      const options = { path: '/', team: 'full', ...look };
      const { page, complaints } = await openAdminPage(browser, api, options);
      await page.addInitScript(WATCH_SHIFTS);
      const setSlow = isSlow ? await slowDown(page) : null;
      const found: Record<string, unknown> = {};
      const good: Record<string, unknown> = {};
      let requests = 0;
      page.on('request', (request) => {
        if (request.url().includes('/trpc/')) requests += 1;
      });
      for (const path of PAGES) {
        await page.setViewportSize(look.viewport);
        requests = 0;
        await setSlow?.(true);
        await visit(page, path);
        const shift = await page.evaluate<number>('window.shift');
        await setSlow?.(false);
        const faults = await findFaults(page);
        const styles = await page.locator('style').count();
        const language = await page.getAttribute('html', 'lang');
        const overflows: string[] = [];
        for (const width of isSlow ? [] : WIDTHS) {
          await page.setViewportSize({ width, height: 900 });
          const overflow = await page.evaluate<number>(OVERFLOW);
          if (overflow > 0) overflows.push(`${width}: ${overflow}`);
        }
        found[path] = {
          faults,
          styles,
          overflows,
          language,
          movedBy: shift <= SHIFT_MAX ? 0 : shift,
          hasFewRequests: requests <= REQUESTS_MAX,
        };
        good[path] = {
          faults: [],
          styles: 0,
          overflows: [],
          hasFewRequests: true,
          language: look.locale.slice(0, 2),
          movedBy: 0,
        };
      }
      expect(found).toEqual(good);
      // Among them would be requests to other servers, and violations of the policy.
      expect(complaints).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it('names in each row what the row is about, so that no two have the same name', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/', team: 'full' });
    const found: Record<string, string[]> = {};
    let links = 0;
    for (const path of PAGES) {
      await visit(page, path);
      links += await page.locator('tbody :is(a, button, summary)').count();
      found[path] = await page.evaluate<string[]>(NAMED_ALIKE);
    }
    expect(found).toEqual(Object.fromEntries(PAGES.map((path) => [path, []])));
    expect(links).toBeGreaterThan(2 * PAGES.length);
  });

  it('cuts a word of the team’s name that has no room, and breaks none', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/', team: 'full' });
    // The service's own pool refuses when a connection takes two seconds, as it may beside others.
    const pool = openSturdyPool(api.databaseUrl, 1);
    onTestFinished(() => pool.end());
    const rename = (name: string) =>
      pool.query(`update team set name = $1 where id = 'team_full'`, [name]);
    const found: Record<string, unknown> = {};
    for (const name of [LONG_TEAM, 'Kurz']) {
      await rename(name);
      await visit(page, '/');
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const shown = page.locator('.team').filter({ visible: true });
        found[`${name.length} at ${width}`] = {
          text: await shown.innerText(),
          title: await shown.getAttribute('title'),
          faults: await page.evaluate<string[]>(NAME_FAULTS),
          overflow: await page.evaluate<number>(OVERFLOW),
        };
        if (width === 320 || width === 1100) await photograph(page, `team-${name.length}-${width}`);
      }
    }
    await rename('full');
    const good = (name: string) => ({ text: name, title: name, faults: [], overflow: 0 });
    expect(found).toEqual(
      Object.fromEntries(
        [LONG_TEAM, 'Kurz'].flatMap((name) =>
          WIDTHS.map((width) => [`${name.length} at ${width}`, good(name)]),
        ),
      ),
    );
  });

  it('keeps its edges and its marks where the reader forces colours', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/',
      team: 'full',
      forcedColors: 'active',
    });
    for (const path of PAGES) {
      await visit(page, path);
      expect([path, await findFaults(page)]).toEqual([path, []]);
      await photograph(page, `forced${path.replaceAll('/', '-')}`);
      const without = await page.evaluate<string[]>(`
        const marked = '.button, input, select, .badge, .notice, nav [aria-current]';
        [...document.querySelectorAll(marked)]
          .filter((element) => parseFloat(getComputedStyle(element).borderTopWidth) === 0)
          .filter((element) => !element.matches('[type=checkbox], [type=radio]'))
          .map((element) => element.outerHTML.slice(0, 80))`);
      expect([path, without]).toEqual([path, []]);
    }
    expect(complaints).toEqual([]);
  });
});
