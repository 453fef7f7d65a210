// A team that fills every page of the admin page, and the visits of a browser to it.
import type { Browser, Page } from 'playwright-core';
import { SCOPES } from '../../src/core/scopes.ts';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { PATHS } from '../support/admin-paths.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { loadUndisturbed } from '../support/browser.ts';
import { logCall } from '../support/request-log.ts';
import { makeFailed, makeFullTeam, makeSeed } from '../support/seed.ts';

/** One that names no page is a page, too, and the fields of a time of one's own need room. */
export const PAGES = [
  ...PATHS,
  '/nothing',
  '/audit?past=custom&since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z',
];
/** Half of what counts as good: https://web.dev/articles/cls */
export const SHIFT_MAX = 0.05;
/** From a small phone to a large screen, with those between which a layout changes. */
export const WIDTHS = [320, 390, 600, 768, 961, 993, 1024, 1100, 1280, 1439, 1440, 1920, 2560];

/** As long as a name may be, as Germans write. */
const LONG_NAME =
  'Personalentwicklungsschnittstelle für die Datenübertragung an das Lernmanagementsystem';

/** How many pixels the page can be scrolled to the side. */
export const OVERFLOW = 'document.documentElement.scrollWidth - innerWidth';

/** Adds up how far what is shown has moved by itself. */
export const WATCH_SHIFTS = `
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });`;

/** A page of the browser, signed in, that loads the pages of {@link startFullTeam}. */
export interface Visitor {
  readonly page: Page;
  readonly complaints: string[];
  /** Loads a page of the admin page, and resolves when all of it is there. */
  readonly visit: (path: string) => Promise<void>;
  /** Loads any page, for instance of the documentation. */
  readonly load: (address: string) => Promise<void>;
}

type Look = Omit<Parameters<typeof openAdminPage>[2], 'path' | 'team'>;

/** Starts an API with the team. */
export async function startFullTeam(): Promise<{
  readonly api: TestApi;
  open(browser: Browser, look?: Look): Promise<Visitor>;
}> {
  const hoursAgo = new Date(Date.now() - 3_600_000).toISOString();
  const delivery = (id: string, created_at: string) =>
    makeFailed(id, 'whe_full', { event_type: 'training.completed', created_at });
  const deliveries = [delivery('whd_1', hoursAgo), delivery('whd_2', new Date().toISOString())];
  const api = await startTestApi({
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
  const ids: Readonly<Record<string, string>> = {
    endpointId: 'whe_full',
    deliveryId: 'whd_1',
    memberId: 'mem_full_member',
    requestId: await logRefusal(api),
  };
  await api.db.pool.query(
    `update request_log set created_at = created_at - interval '1 minute' where team_id = $1`,
    ['team_full'],
  );
  await logRefusal(api);
  const addressOf = (path: string): string =>
    path.replace(/\$(\w+)/g, (_, name: string) => {
      const id = ids[name];
      if (id === undefined) throw new Error(`the test has no ${name}`);
      return id;
    });
  const open = async (browser: Browser, look: Look = {}): Promise<Visitor> => {
    const opened = await openAdminPage(browser, api, { ...look, path: '/nothing', team: 'full' });
    const load = (address: string): Promise<void> =>
      loadUndisturbed(opened, async () => {
        await opened.page.goto(api.url + address);
        await opened.page.locator('h1').first().waitFor();
        await settle(opened.page);
      });
    return { ...opened, load, visit: (path) => load(`/admin${addressOf(path)}`) };
  };
  return { api, open };
}

const logRefusal = (api: TestApi): Promise<string> =>
  logCall(api, {
    teamId: 'team_full',
    keyName: 'full',
    route: '/assignments',
    status: 422,
    problem: { code: 'validation_error', errors: [{ path: 'body.title', code: 'too_small' }] },
  });
