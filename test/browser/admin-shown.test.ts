// Which parts of the service's answers each page shows: the texts, the times, and what its links
// lead to. Each time is made one of its own, so that no other one can stand in its place.
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { PATHS } from '../support/admin-paths.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { launchBrowser, SKIPPED } from '../support/browser.ts';
import { logCall } from '../support/request-log.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeFailed, makeFullTeam, makeMember, makeSeed } from '../support/seed.ts';
import { SHOWN } from './shown.ts';

const PAGES = [...PATHS, '/sandbox/play'];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
/** The page shows its own words for one of these, such as a role. */
const WORD = /^[a-z_]*$/;
const MINUTE_MS = 60_000;

/** With a number, so that no id is a word. */
const TEAM = 'full2';

/** The values that a page has got, by `<procedure> <field>`. */
type Values = Map<string, Set<string>>;

describe.skipIf(SKIPPED !== '')(`the admin page: what it shows${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  /** What the parameters of the addresses stand for. */
  let ids: Readonly<Record<string, string>>;

  beforeAll(async () => {
    const ago = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS).toISOString();
    const delivery = (id: string, minutes: number) =>
      makeFailed(id, `whe_${TEAM}`, {
        event_type: 'training.completed',
        attempt: 3,
        created_at: ago(minutes),
      });
    const team = makeFullTeam(TEAM, {
      members: [
        makeMember(TEAM, 'other', { role: 'admin' }),
        makeMember(TEAM, 'invited', { status: 'invited', created_at: ago(100) }),
      ],
      webhook_deliveries: [delivery('whd_1', 60), delivery('whd_2', 50)],
    });
    api = await startTestApi({ seed: makeSeed([team]) });
    await openSandbox(api, TEAM);
    await api.db.pool.query(
      `insert into sandbox_mail (team_id, id, recipient, subject, body, created_at)
       values ('team_${TEAM}:sandbox', 'mail_1', 'kim@example.com', 'A subject', 'Dear Kim',
         now())`,
    );
    await api.db.pool.query(
      `update webhook_delivery
       set status = 'retrying', next_try_at = now() + interval '1 hour', last_attempt_at = now()
       where id = 'whd_2'`,
    );
    await api.db.pool.query(`update crm_connection set last_synced_at = now()`);
    await api.db.pool.query(`update api_key set last_used_at = now() where name = 'full'`);
    const requestId = await logCall(api, {
      teamId: `team_${TEAM}`,
      keyName: 'full',
      route: '/assignments',
      status: 422,
      problem: { code: 'validation_error', errors: [{ path: 'body.title', code: 'too_small' }] },
    });
    ids = { endpointId: `whe_${TEAM}`, deliveryId: 'whd_1', requestId };
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  it.each(PAGES)('%s', async (path) => {
    const { page } = await openAdminPage(browser, api, { path: '/privacy', team: TEAM });
    const values: Values = new Map();
    await page.route('**/trpc/**', (route) => answer(route, values));
    const address = path.replace(/\$(\w+)/g, (_, name: string) => ids[name] ?? '');
    await page.goto(`${api.url}/admin${address}`);
    await page.locator('h1').first().waitFor();
    await settle(page);
    const shown = await shownOn(page, values);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
    expect(shown).toEqual(SHOWN[path] ?? {});
  });
});

/** Lets an answer through with times of its own, and keeps its values. */
async function answer(route: Route, values: Values): Promise<void> {
  if (route.request().method() !== 'GET') return route.continue();
  const procedure = new URL(route.request().url()).pathname.replace('/trpc/', '');
  const response = await route.fetch();
  const body = (await response.json()) as { result?: { data?: unknown } };
  if (!body.result) return route.fulfill({ response });
  const data = withOwnTimes(body.result.data, { field: procedure, values });
  return route.fulfill({ response, json: { result: { data } } });
}

const places = new Map<string, number>();

/** The value, whose times have milliseconds of their own. The same one gets the same ones. */
function withOwnTimes(
  value: unknown,
  { field, values, place = field }: { field: string; values: Values; place?: string },
): unknown {
  if (Array.isArray(value))
    return value.map((one: unknown, index) =>
      withOwnTimes(one, { field: `${field}[]`, values, place: `${place}[${index}]` }),
    );
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, one]: [string, unknown]) => [
        name,
        withOwnTimes(one, { field: `${field} ${name}`, values, place: `${place} ${name}` }),
      ]),
    );
  if (typeof value !== 'string' || WORD.test(value)) return value;
  let own = value;
  if (TIME.test(value)) {
    const number = places.get(place) ?? places.size;
    places.set(place, number);
    own = new Date(Math.floor(Date.parse(value) / MINUTE_MS) * MINUTE_MS + number).toISOString();
  }
  values.set(field, (values.get(field) ?? new Set()).add(own));
  return own;
}

/** What the page shows of the values: as a text, as a time, or in the address of a link. */
async function shownOn(page: Page, values: Values): Promise<Record<string, string>> {
  const main = page.locator('main');
  // What can be unfolded is shown, too.
  const text = (await main.allTextContents()).join('\n');
  const times = await main
    .locator('time')
    .evaluateAll((all) => all.map((one) => one.getAttribute('datetime')));
  const links = await main
    .locator('a')
    .evaluateAll((all) => all.map((one) => decodeURIComponent(one.getAttribute('href') ?? '')));
  const kindsOf = (value: string): string[] => [
    ...(times.includes(value) ? ['time'] : []),
    ...(!TIME.test(value) && text.includes(value) ? ['text'] : []),
    ...(links.some((link) => link.includes(value)) ? ['link'] : []),
  ];
  return Object.fromEntries(
    [...values]
      .map(([field, all]) => [field, [...new Set([...all].flatMap(kindsOf))].join(', ')] as const)
      .filter(([, kinds]) => kinds !== '')
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}
