// After each change of the admin page, its pages show what they show when they are loaded again. A
// change that forgets to invalidate a query leaves what was before on one of them.
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { atEnd } from '../support/at-end.ts';
import { launchBrowser, SKIPPED } from '../support/browser.ts';
import { startCrm, type FakeCrm } from '../support/crm/fake.ts';
import { cloneDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { CHANGES, placeOn, sendToFake, startService, TEAM, type Place } from './changes.ts';

const WAIT = { timeout: 30_000 };
/** Between two looks at a page that asks for nothing. */
const QUIET_MS = 60;

let browser: Browser;
let crm: FakeCrm;
/** What the database of each change begins as. */
let template: TestDatabase;

/** What is special about some changes. */
interface Special {
  /** Other pages that show what is changed, besides the list that its page belongs to. */
  readonly also?: readonly string[];
  /** Lines that are rightly gone when the page is loaded again. */
  readonly once?: RegExp;
  /** What was chosen on the page is part of what it shows, and is chosen again. */
  readonly chooses?: true;
  /** It opens another document, which has read nothing before. */
  readonly leaves?: true;
  /** What the reader has changed elsewhere since the page was loaded. */
  readonly elsewhere?: (app: Awaited<ReturnType<typeof appAsMember>>) => Promise<unknown>;
  /** What is waited for before the page is read. */
  readonly until?: (place: Place, api: TestApi) => Promise<void>;
}

const SPECIAL: Readonly<Record<string, Special>> = {
  'pages/alerts.tsx admin.alerts.set': {
    // What the page shows before the answer is right otherwise.
    elsewhere: ({ admin }) => admin.alerts.set.mutate({ kinds: ['webhooks'] }),
  },
  // Each change is an entry of the audit log.
  'pages/catalog.tsx admin.team.policy.set': { also: ['/audit'] },
  'pages/catalog.tsx admin.team.memberPolicy.set': { chooses: true },
  'pages/create-sandbox.tsx admin.sandbox.create': {
    leaves: true,
    until: ({ page }) => page.waitForURL('**/admin/sandbox/play'),
  },
  'pages/plays.tsx v1.sandbox.simulate': {
    also: ['/sandbox/deliveries', '/sandbox/results'],
    // What came of it, and the form.
    once: /^(Done\. Events|View deliveries|INPUT Score|A \/admin\/sandbox\/deliveries)/,
  },
  'pages/webhook.tsx v1.webhooks.removeEndpoint': { also: ['/deliveries'] },
  'pages/webhook-test.tsx v1.webhooks.testEndpoint': {
    // What came of it.
    once: /^(The test did not arrive|Details|A \/admin\/deliveries\/)/,
    until: async ({ page }, api) => {
      const lookup = async () => [{ address: '127.0.0.1', family: 4 }];
      await startDeliveries(api, { clock: systemClock, lookup });
      await page.locator('.test-outcome p').waitFor();
    },
  },
};

/**
 * The lines of text of the page, and what its links, controls and bars are. Which bar of a chart is
 * written below it is left out: it stays the one that the chart began with.
 */
const LINES_OF = (): string[] => {
  const parts = [...document.querySelectorAll<HTMLElement>('aside, main')];
  const readings = new Set(
    [...document.querySelectorAll<HTMLElement>('.reading')].map((one) => one.innerText),
  );
  const texts = parts.flatMap((part) => part.innerText.split('\n'));
  const named = parts.flatMap((part) => [
    ...part.querySelectorAll<HTMLInputElement>('a, button, input, select, textarea, [role=img]'),
  ]);
  return [
    ...texts.filter((line) => line.trim() !== '' && !readings.has(line)),
    ...named.map((one) => {
      const name = one.getAttribute('href') ?? one.ariaLabel ?? one.labels?.[0]?.innerText;
      const isChoice = one.type === 'checkbox' || one.type === 'radio';
      const value = isChoice ? one.checked : one.value;
      return [one.tagName, name ?? one.innerText, value, one.ariaDisabled].join(' ');
    }),
  ];
};

/** Returns a function that resolves with the lines of the page when it asks for nothing more. */
function reader(page: Page): () => Promise<string[]> {
  const open = new Set<Request>();
  page.on('request', (one) => {
    if (one.url().includes('/trpc')) open.add(one);
  });
  page.on('requestfinished', (one) => open.delete(one));
  page.on('requestfailed', (one) => open.delete(one));
  return async () => {
    await settle(page);
    let shown = await page.evaluate(LINES_OF);
    let last: string[];
    do {
      last = shown;
      await delay(QUIET_MS);
      shown = await page.evaluate(LINES_OF);
    } while (open.size > 0 || last.join('\n') !== shown.join('\n'));
    return shown;
  };
}

/** As a link does: what was read before stays. */
async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => history.pushState(null, '', to), `/admin${path}`);
  await page.waitForURL((url) => url.pathname === `/admin${path}`);
  await page.locator('h1').first().waitFor();
}

/** Closes what shows a secret, without another change. Any other dialog closes by itself. */
async function closeSecret({ dialog }: Place): Promise<void> {
  const stored = dialog.getByLabel(/^I have stored/);
  const isOver = async () => (await dialog.isHidden()) || (await stored.isVisible());
  await expect.poll(isOver, WAIT).toBe(true);
  if (await dialog.isHidden()) return;
  await stored.check();
  await dialog.getByRole('button', { name: 'Close' }).click();
}

describe.skipIf(SKIPPED !== '')(`the admin page: after a change${SKIPPED}`, () => {
  beforeAll(async () => {
    crm = await startCrm('pipedrive');
    template = await createTestDatabase();
    atEnd(() => template.drop());
    const api = await startService(crm, { ...template, drop: async () => undefined });
    await api.stop();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  it.each(Object.entries(CHANGES))('shows nothing of before: %s', async (name, change) => {
    const { path, team = TEAM } = change;
    const { also = [], once, chooses, leaves, elsewhere, until } = SPECIAL[name] ?? {};
    const database = await cloneDatabase(template);
    const api = await startTestApi({ database, allowPrivateTargets: true, seed: {} });
    const list = /^(\/sandbox)?\/\w+/.exec(path)?.[0] ?? path;
    const pages = [...new Set([list, ...also])];
    // Begins where nothing is read.
    const start = list.replace(/\w+$/, 'nowhere');
    const { page } = await openAdminPage(browser, api, { path: start, team });
    // Nothing is read again only because time has passed.
    await page.clock.setFixedTime(Date.now());
    const read = reader(page);
    const lines = async () => (await read()).filter((line) => !once?.test(line));
    for (const one of [...pages, path]) {
      await visit(page, one);
      await read();
    }
    const place = placeOn(page, { crm, prepare: (work) => work() });
    await change.open?.(place);
    await read();
    await page.route('**/trpc/admin.crm.connect', (route) => sendToFake(route, crm));
    const answered = page.waitForResponse((one) => one.url().endsWith(name.split(' ')[1] ?? ''));
    await elsewhere?.(await appAsMember(api, team, 'owner'));
    await change.send(place);
    expect((await answered).status()).toBe(200);
    await until?.(place, api);
    await read();
    if (!name.endsWith('confirmStored')) await closeSecret(place);
    await place.dialog.waitFor({ state: 'detached' });
    const here = await lines();
    const shown = new Map([[new URL(page.url()).pathname, here]]);
    for (const one of leaves ? [] : pages.filter((each) => !shown.has(`/admin${each}`))) {
      await visit(page, one);
      shown.set(`/admin${one}`, await lines());
    }
    for (const [address, expected] of shown) {
      await page.goto(api.url + address);
      await page.locator('h1').first().waitFor();
      if (chooses) await change.open?.(place);
      await expect.poll(lines, WAIT).toEqual(expected);
    }
    await page.context().close();
    await api.stop();
  });
});
