// A real browser for tests of pages: what must not happen is recorded, and axe looks at the rest.
import { existsSync } from 'node:fs';
import axe, { type AxeResults } from 'axe-core';
import { chromium, type Browser, type Frame, type Page, type Request } from 'playwright-core';

/** The first that is there. The shell is Chromium without windows, in half of the time. */
const CHROMIUMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const CHROMIUM = CHROMIUMS.find((path) => existsSync(path));
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Why browser tests are skipped on this machine, for the name of a suite; empty if they run. */
export const SKIPPED = CHROMIUM ? '' : ' (skipped: there is no Chromium)';

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM ?? '', args: FLAGS });
}

/** As browsers do that protect from tracking. The shell has no setting for it. */
export async function refuseThirdPartyCookies(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.setCookieControls', { enableThirdPartyCookieRestriction: true });
}

/**
 * What axe finds, in one line each: WCAG 2.2 AA and its best practices. Also whether the page can
 * be scrolled to the side.
 */
export async function findFaults(page: Page | Frame): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run(document, { resultTypes: ['violations'] })`,
  );
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  return [
    ...violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`),
    ...(overflow === 0 ? [] : [`${overflow} pixels wider than the screen`]),
  ];
}

/**
 * Opens a page and records what must not happen: errors and warnings in the console, violations of
 * the policy, requests to other servers, and failed requests.
 */
export async function openPage(
  browser: Browser,
  origin: string,
  options: NonNullable<Parameters<Browser['newContext']>[0]> = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) complaints.push(`request to ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} for ${response.url()}`);
  });
  return { page, complaints };
}

/**
 * Runs `work`, which loads a page. Runs it again, without the complaints so far, if an interface of
 * the machine came or went: Chromium then ends requests that wait for a connection. It follows the
 * interfaces by netlink, which no flag turns off.
 */
export async function loadUndisturbed(
  { page, complaints }: { readonly page: Page; readonly complaints: string[] },
  work: () => Promise<void>,
): Promise<void> {
  const before = complaints.length;
  let isDisturbed = false;
  const note = (request: Request): void => {
    if (request.failure()?.errorText === 'net::ERR_NETWORK_CHANGED') isDisturbed = true;
  };
  page.on('requestfailed', note);
  do {
    isDisturbed = false;
    complaints.length = before;
    await work().catch((error: unknown) => {
      if (!isDisturbed) throw error;
    });
  } while (isDisturbed);
  page.off('requestfailed', note);
}

/** As much of a long page as tells what the rest is like. */
const PICTURE_MAX_PX = 2_200;

/** Takes a screenshot for people, if SCREENSHOTS names a folder; `isFull`: of the whole page. */
export async function photograph(page: Page, name: string, isFull = false): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (!folder) return;
  const { width, height } = page.viewportSize() ?? { width: 1280, height: 900 };
  const clip = { x: 0, y: 0, width, height: isFull ? PICTURE_MAX_PX : height };
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: isFull, clip });
}
