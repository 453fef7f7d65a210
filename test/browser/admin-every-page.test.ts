// Every page of the admin page for readers with a slow phone, with forced colours and with long
// names. What every reader sees is in every-page.smoke.test.ts.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findFaults, launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { openSturdyPool } from '../support/pool.ts';
import { OVERFLOW, PAGES, SHIFT_MAX, startFullTeam, WATCH_SHIFTS, WIDTHS } from './full-team.ts';

const NARROW = { width: 320, height: 640 };
const WIDE = { width: 1280, height: 900 };
/** A slow phone. */
const CPU_SLOWDOWN = 4;
const LATENCY_MS = 150;
/** All pages by a slow phone take a minute, and longer beside other tests. */
const TIMEOUT_MS = 300_000;

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

/** Slow enough to see each page without what it shows. */
async function slowDown(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: LATENCY_MS,
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
}

describe.skipIf(SKIPPED !== '')(`the admin page: every page${SKIPPED}`, () => {
  let team: Awaited<ReturnType<typeof startFullTeam>>;
  let browser: Browser;

  beforeAll(async () => {
    team = await startFullTeam();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  it.each([
    { locale: 'de-DE', colorScheme: 'light', viewport: WIDE },
    { locale: 'en-GB', colorScheme: 'light', viewport: NARROW },
  ] as const)(
    'stays still on a slow phone, at $viewport.width pixels',
    async (look) => {
      const { page, visit } = await team.open(browser, look);
      await page.addInitScript(WATCH_SHIFTS);
      await slowDown(page);
      const moved: Record<string, number> = {};
      for (const path of PAGES) {
        await visit(path);
        const shift = await page.evaluate<number>('window.shift');
        if (shift > SHIFT_MAX) moved[path] = shift;
      }
      expect(moved).toEqual({});
    },
    TIMEOUT_MS,
  );

  it('cuts a word of the team’s name that has no room, and breaks none', async () => {
    const { page, visit } = await team.open(browser);
    // The service's own pool refuses when a connection takes two seconds, as it may beside others.
    const pool = openSturdyPool(team.api.databaseUrl, 1);
    onTestFinished(() => pool.end());
    const rename = (name: string) =>
      pool.query(`update team set name = $1 where id = 'team_full'`, [name]);
    const found: Record<string, unknown> = {};
    for (const name of [LONG_TEAM, 'Kurz']) {
      await rename(name);
      await visit('/');
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
    const { page, complaints, visit } = await team.open(browser, { forcedColors: 'active' });
    for (const path of PAGES) {
      await visit(path);
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
