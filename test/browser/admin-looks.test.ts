// Every page of the admin page as people see it: four widths, two themes, two languages, a team of
// one and a team of two thousand. What can be derived is checked; SCREENSHOTS=<folder> keeps a
// picture of each for the rest.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { de } from '../../src/admin-ui/i18n/de.ts';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { PATHS } from '../support/admin-paths.ts';
import { readAdminSources } from '../support/admin-ui.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { logCall } from '../support/request-log.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeMember, makeSeed, makeTeam, type TeamSeed } from '../support/seed.ts';

/** The pages that look different in a sandbox. */
const SANDBOX_PATHS = ['/', '/play', '/crm'].map((path) => `/sandbox${path}`);
const WIDTHS = [360, 768, 1280, 1920];
const THEMES = ['light', 'dark'] as const;
const HEIGHT = 900;
/** For eight pictures of each page, if they are taken. */
const TIMEOUT_MS = 600_000;

/** All texts of a language that have no parts to fill in. */
const textsOf = (texts: unknown): string[] =>
  typeof texts === 'string'
    ? [texts]
    : typeof texts === 'object' && texts !== null
      ? Object.values(texts).flatMap(textsOf)
      : [];

/**
 * What a reader would see as a fault, one line each: a text that is cut, tiny, faint or leaves its
 * box, two texts on top of each other, a word of ours that breaks inside, and a text of the other
 * language.
 */
const FAULTS = `((foreign) => {
  const found = [];
  const say = (what, text) => found.push(what + ': ' + text.trim().slice(0, 60));
  const leaves = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.trim();
    const box = node.parentElement;
    if (text === '' || !box.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
      continue;
    if (box.closest('.visually-hidden, .why, .skip, .toast, thead, [popover], option, script'))
      continue;
    if (foreign.includes(text) && !box.closest('.name')) say('other language', text);
    const range = document.createRange();
    range.selectNodeContents(node);
    const rects = [...range.getClientRects()].filter((one) => one.width > 0);
    if (rects.length === 0) continue;
    leaves.push({ text, box, rects });
    if (parseFloat(getComputedStyle(box).fontSize) < 12) say('too small', text);
    // Navigation that is a line longer on one page than on another moves.
    if (box.matches('nav a') && rects.length > 1) say('two lines', text);
    const frame = box.closest('.card, .figure, .notice, .button, .badge, td, th, .form, main, nav');
    const bounds = (frame ?? document.body).getBoundingClientRect();
    if (rects.some((one) => one.right > bounds.right + 1 || one.left < bounds.left - 1))
      say('leaves its box', text);
    const mayBreak = '.name, .free, a, code, h1, pre, .facts, .secret, .found';
    if (box.closest(mayBreak)) continue;
    let from = 0;
    for (const word of node.data.split(/[\\s\\u00ad\\u200b/–-]+/)) {
      const at = node.data.indexOf(word, from);
      if (word === '' || at < 0) continue;
      from = at + word.length;
      range.setStart(node, at);
      range.setEnd(node, at + word.length);
      if (new Set([...range.getClientRects()].map((one) => Math.round(one.top))).size > 1)
        say('breaks inside', word);
    }
  }
  for (const one of document.querySelectorAll('main *, nav *, header *')) {
    const { overflowX, textOverflow } = getComputedStyle(one);
    if (one.closest('.visually-hidden, .why, thead, option') || one.matches('input')) continue;
    // What is cut can be read by who points at it.
    const isCut = !one.matches('select, .team[title]')
      && (overflowX !== 'visible' || textOverflow === 'ellipsis');
    if (isCut && one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
      say('cut', one.textContent || one.tagName);
    if (one.matches('select') && one.checkVisibility()) {
      const canvas = document.createElement('canvas').getContext('2d');
      canvas.font = getComputedStyle(one).font;
      const wide = canvas.measureText(one.selectedOptions[0]?.text ?? '').width;
      if (wide > one.clientWidth - 30) say('cut choice', one.selectedOptions[0].text);
    }
  }
  for (const one of document.querySelectorAll('input[placeholder]')) {
    const { color } = getComputedStyle(one, '::placeholder');
    const probe = document.body.appendChild(document.createElement('p'));
    probe.className = 'hint';
    if (color !== getComputedStyle(probe).color) say('faint', one.placeholder);
    probe.remove();
  }
  const boxes = leaves
    .filter(({ box }) => !box.closest('.head, .side, .team'))
    .flatMap((leaf) => leaf.rects.map((rect) => ({ leaf, rect })))
    .sort((a, b) => a.rect.top - b.rect.top);
  for (const [place, one] of boxes.entries())
    for (let next = place + 1; next < boxes.length; next += 1) {
      const other = boxes[next];
      if (other.rect.top > one.rect.bottom - 6) break;
      const beside = Math.min(one.rect.right, other.rect.right)
        - Math.max(one.rect.left, other.rect.left);
      const isNested =
        one.leaf.box.contains(other.leaf.box) || other.leaf.box.contains(one.leaf.box);
      if (beside > 2 && !isNested)
        say('on top of each other', one.leaf.text + ' | ' + other.leaf.text);
    }
  const tops = [...document.querySelectorAll('.top-buttons > *')]
    .filter((one) => one.checkVisibility())
    .map((one) => one.getBoundingClientRect().top);
  if (Math.max(...tops) - Math.min(...tops) > 12) say('not in one row', 'the buttons at the top');
  return [...new Set(found)];
})`;

const LANGUAGES = [
  { language: 'de', locale: 'de-DE', own: textsOf(de), other: textsOf(en) },
  { language: 'en', locale: 'en-GB', own: textsOf(en), other: textsOf(de) },
] as const;

/** Nobody but its owner, and nothing done yet. */
const SMALL: TeamSeed = {
  id: 'team_small',
  name: 'Einzelkämpfer',
  plan: 'starter',
  seats: 5,
  members: [makeMember('small', 'owner', { role: 'owner' })],
};

const LARGE = makeTeam('large', {
  name: 'Norddeutsche Versicherungsvertriebsgesellschaft',
  plan: 'enterprise',
  seats: 2_500,
  webhook_endpoints: Array.from({ length: 50 }, (_, n) => ({
    id: `whe_${n}`,
    url: `https://receiver-${n}.norddeutsche-versicherung.example/hooks/training`,
    description: n % 3 === 0 ? `Personalentwicklung ${n}` : null,
    events: ['member.joined' as const, 'training.completed' as const],
    status: n === 7 ? ('disabled_failures' as const) : ('active' as const),
  })),
  crm_connections: [{ id: 'crm_large', provider: 'hubspot' }],
  generate: {
    members: 1_960,
    trainings: 9_000,
    from: new Date(Date.now() - 84 * 86_400_000).toISOString(),
    to: new Date().toISOString(),
  },
});

describe.skipIf(SKIPPED !== '')(`the admin page: every look${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  /** What the parameters of the addresses stand for, in the large team. */
  let ids: Readonly<Record<string, string>>;

  beforeAll(async () => {
    api = await startTestApi({ seed: makeSeed([SMALL, LARGE]) });
    const run = (sql: string) => api.db.pool.query(sql);
    await run(
      `with e as (
         insert into event (team_id, id, type, data, created_at, fanned_out_at)
         select 'team_large', 'evt_' || n, 'member.joined', '{}', now() - n * interval '7 minutes',
           now()
         from generate_series(1, 100) n
         returning team_id, id, created_at
       )
       insert into webhook_delivery (team_id, id, endpoint_id, event_id, event_type, status,
         attempt, created_at, last_attempt_at, next_try_at, response_ms, response_code)
       select e.team_id, 'whd_' || substr(w.id, 5) || '_' || substr(e.id, 5), w.id, e.id,
         'member.joined', s.status, 3, e.created_at, e.created_at,
         case when s.status = 'retrying' then now() + interval '90 minutes' end,
         20 + (hashtext(e.id) & 255),
         case when s.status = 'ok' then 204 else 503 end
       from e
       join webhook_endpoint w on w.team_id = e.team_id,
       lateral (select case when hashtext(w.id || e.id) % 9 = 0 then 'gave_up'
         when hashtext(w.id || e.id) % 11 = 0 then 'retrying' else 'ok' end) s (status)`,
    );
    await run(
      `insert into api_key_usage (team_id, day, key_id, count_2xx, count_4xx, count_429,
         count_5xx, peak_percent)
       select team_id, current_date - n, id, 33720 + 911 * (n % 7), 412 * (n % 3), 97 * (n % 2),
         n % 4, 30 + 9 * (n % 8)
       from api_key, generate_series(0, 29) n
       where team_id = 'team_large' and name in ('full', 'by_admin')`,
    );
    await run(
      `insert into audit_log (team_id, id, created_at, actor_kind, actor_id, action, target_id,
         request_id, details)
       select team_id, 'aud_' || n, now() - n * interval '3 minutes', 'api_key', id,
         'member.invited', 'mem_large_member', 'req', '{"role":"member"}'
       from api_key, generate_series(1, 400) n
       where team_id = 'team_large' and name = 'full'`,
    );
    const refusal = {
      teamId: 'team_large',
      keyName: 'full',
      route: '/assignments',
      status: 422,
      problem: { code: 'validation_error', errors: [{ path: 'body.title', code: 'too_small' }] },
    } as const;
    // What is seen on one page is what is seen on another.
    await run(
      `update api_key set last_used_at = now() - interval '3 minutes'
       where team_id = 'team_large' and name in ('full', 'by_admin')`,
    );
    await run(
      `update webhook_endpoint w
       set last_success_at = (
         select max(d.last_attempt_at)
         from webhook_delivery d
         where d.team_id = w.team_id and d.endpoint_id = w.id and d.status = 'ok'
       )
       where team_id = 'team_large'`,
    );
    await openSandbox(api, 'large');
    ids = {
      endpointId: 'whe_3',
      deliveryId: 'whd_3_1',
      memberId: 'mem_large_member',
      requestId: await logCall(api, refusal),
    };
    for (let n = 0; n < 12; n += 1) await logCall(api, refusal);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  const addressesOf = (team: string): string[] =>
    team === 'sandbox'
      ? SANDBOX_PATHS
      : PATHS.filter((path) => team === 'large' || !path.includes('$')).map((path) =>
          path.replace(/\$(\w+)/g, (_, name: string) => ids[name] ?? ''),
        );

  const look = async (page: Page, path: string, name: string): Promise<Record<string, unknown>> => {
    const found: Record<string, unknown> = {};
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHT });
      const { other, own } =
        LANGUAGES.find((one) => name.includes(`-${one.language}-`)) ?? LANGUAGES[0];
      const foreign = other.filter((text) => !own.includes(text));
      const faults = await page.evaluate<string[]>(`${FAULTS}(${JSON.stringify(foreign)})`);
      if (faults.length > 0) found[`${path} at ${width}`] = faults;
      for (const colorScheme of THEMES) {
        await page.emulateMedia({ colorScheme });
        await photograph(page, `${name}-${width}-${colorScheme}`, true);
      }
    }
    return found;
  };

  it.each(
    ['small', 'large', 'sandbox'].flatMap((team) => LANGUAGES.map((one) => ({ team, ...one }))),
  )(
    'has no fault that can be derived: $team team, $language',
    async ({ team, locale, language }) => {
      const { page, complaints } = await openAdminPage(browser, api, {
        path: '/',
        team: team === 'small' ? 'small' : 'large',
        locale,
        // A picture in the middle of a change of colours shows neither theme.
        reducedMotion: 'reduce',
      });
      const found: Record<string, unknown> = {};
      for (const [place, path] of addressesOf(team).entries()) {
        await page.goto(`${api.url}/admin${path}`);
        await page.locator('h1').first().waitFor();
        await settle(page);
        const number = String(place).padStart(2, '0');
        const short = path
          .split('/')
          .slice(1, 3)
          .join('_')
          .replaceAll(/[^a-z_]/g, '')
          .slice(0, 20);
        Object.assign(found, await look(page, path, `${team}-${language}-${number}${short}`));
      }
      expect(found).toEqual({});
      expect(complaints).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'has a table of the same numbers for each chart',
    async () => {
      const { page } = await openAdminPage(browser, api, { path: '/', team: 'large' });
      const found: string[] = [];
      for (const path of addressesOf('large')) {
        await page.goto(`${api.url}/admin${path}`);
        await page.locator('h1').first().waitFor();
        await settle(page);
        for (const chart of await page.locator('figure.chart').all()) {
          const bars = await chart.getByRole('img').count();
          const id = await chart.getAttribute('aria-details');
          const details = page.locator(`[id="${id}"]`);
          const opener = details.locator('summary');
          if ((await opener.count()) > 0) await opener.click();
          await details.getByRole('table').waitFor();
          const rows = await details.getByRole('rowheader').count();
          const name = await chart.locator('.bars').getAttribute('aria-label');
          found.push(`${path} ${name}: ${rows === bars ? 'each bar' : `${rows} of ${bars}`}`);
        }
      }
      expect(found).toEqual([
        '/webhooks/whe_3 Waiting deliveries by time of the next attempt: each bar',
        '/webhooks/whe_3 Response times of the latest deliveries: each bar',
        '/usage Requests by day and outcome: each bar',
        '/usage Utilization of the limit per minute: each bar',
        '/results Average score by week: each bar',
        '/results Distribution of average scores: each bar',
      ]);
    },
    TIMEOUT_MS,
  );

  it(
    'says after each filter how many rows there are, wherever there are filters',
    async () => {
      const { page } = await openAdminPage(browser, api, { path: '/', team: 'large' });
      const found: Record<string, unknown> = {};
      for (const path of addressesOf('large')) {
        await page.goto(`${api.url}/admin${path}`);
        await page.locator('h1').first().waitFor();
        await settle(page);
        const bar = page.getByRole('search');
        if ((await bar.count()) === 0) continue;
        const select = bar.locator('select').first();
        const options = await select.locator('option').evaluateAll((all) => all.length);
        const says: boolean[] = [];
        for (let option = 1; option < Math.min(options, 4); option += 1) {
          await select.selectOption({ index: option });
          await settle(page);
          const rows = page.getByRole('table').last().locator('tbody tr:not(.detail)');
          await page.locator('table, .empty').first().waitFor();
          // The rows of before may still be there for a moment.
          const isSaid = async () =>
            (await bar.getByRole('status').innerText()) === en.common.shown(await rows.count());
          says.push(await becomes(isSaid));
        }
        found[path] = says;
      }
      expect(Object.keys(found)).toEqual([
        '/deliveries',
        '/requests',
        '/members',
        '/catalog',
        '/usage',
        '/audit',
      ]);
      expect(Object.values(found).flat()).toContain(true);
      expect(Object.values(found).flat()).not.toContain(false);
      const sources = [...readAdminSources()].filter(([, text]) => text.includes('role="search"'));
      expect(sources.map(([file]) => file)).toEqual(['ui/filter.tsx']);
    },
    TIMEOUT_MS,
  );
});

/** Whether this becomes true within the time that a busy machine needs. */
async function becomes(isTrue: () => Promise<boolean>): Promise<boolean> {
  await expect.poll(isTrue).toBe(true);
  return true;
}
