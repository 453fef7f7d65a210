// The forms by which an admin plays something in the sandbox: each sends what is filled in, and
// shows all that comes of it.
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { en } from '../../src/admin-ui/i18n/en.ts';
import type { Play } from '../../src/features/sandbox/play-rules.ts';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { launchBrowser, SKIPPED } from '../support/browser.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

type Json = Record<string, unknown>;

const MEMBER = { member_id: 'mem_sandbox_clara' };
const SCORE = { score: 7 };
/** Half past nine in Berlin. */
const AT = { at: '2026-01-02T08:30:00.000Z' };

/** What each form sends when all of its fields are filled in, and when none is. */
const SENT: Readonly<Record<Play, readonly [filled: Json, empty: Json]>> = {
  training_completed: [{ ...MEMBER, ...SCORE, ...AT }, {}],
  evaluation_saved: [SCORE, {}],
  evaluation_corrected: [SCORE, {}],
  invitation_accepted: [{}, {}],
  member_left: [MEMBER, {}],
  crm_sync_failed: [{ reason: 'unreachable' }, { reason: 'unauthorized' }],
  team_suspended: [{ for_s: 3_600 }, { for_s: 60 }],
  rate_limit_nearly_reached: [{ remaining: 7 }, {}],
  webhooks_failing: [{ for_s: 3_600 }, { for_s: 300 }],
};
const PLAYS = Object.keys(SENT) as Play[];

describe.skipIf(SKIPPED !== '')(`the admin page: plays${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  beforeAll(async () => {
    api = await startTestApi({ seed: makeSeed([makeTeam('played')]) });
    await openSandbox(api, 'played');
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  /** Opens the page. What the forms send is kept, and answered with what `answer` returns. */
  const open = async (answer: (input: Json) => Json) => {
    const { page } = await openAdminPage(browser, api, { path: '/sandbox/play', team: 'played' });
    const sent: Json[] = [];
    await page.route('**/trpc/v1.sandbox.simulate', (route) => {
      const input = route.request().postDataJSON() as Json;
      sent.push(input);
      return route.fulfill({ json: { result: { data: answer(input) } } });
    });
    await settle(page);
    return { page, sent };
  };
  const formOf = (page: Page, play: Play): Locator =>
    page.getByRole('form', { name: en.sandbox.plays[play] });
  const send = async (page: Page, play: Play): Promise<void> => {
    const answered = page.waitForResponse('**/trpc/v1.sandbox.simulate');
    await formOf(page, play)
      .getByRole('button', { name: /^Simulate/ })
      .click();
    await answered;
    await formOf(page, play).locator('[type=submit]:not([data-busy])').waitFor();
    await formOf(page, play).locator('.notice.good').waitFor();
  };

  it('sends every field of every form, and nothing that is empty', async () => {
    const { page, sent } = await open(({ play }) => ({ ...NOTHING, play }));
    for (const play of PLAYS) {
      await send(page, play);
      for (const field of await formOf(page, play).locator('input, select').all())
        await fill(field);
      await send(page, play);
    }
    expect(sent).toEqual(
      PLAYS.flatMap((play) => SENT[play].toReversed().map((fields) => ({ play, ...fields }))),
    );
  });

  it('shows the events that follow, when a score comes, and when it ends', async () => {
    const { page } = await open(({ play }) => ({
      ...NOTHING,
      play,
      events: ['training.completed', 'member.removed'],
      evaluation_at: '2026-01-02T08:31:05.000Z',
      until: '2026-01-02T08:32:06.000Z',
    }));
    for (const play of PLAYS) {
      await send(page, play);
      const text = await formOf(page, play).locator('.notice.good').innerText();
      const { eventNames: events } = en.webhooks;
      expect(text).toContain(en.sandbox.played);
      expect(text).toContain(`${events['training.completed']} and ${events['member.removed']}`);
      expect(text).toMatch(/score.*09:31:05/i);
      expect(text).toMatch(/until.*09:32:06/i);
      expect(text).toContain(en.sandbox.toDeliveries);
    }
  });

  it('shows nothing of what a play has not made', async () => {
    const { page } = await open(({ play }) => ({ ...NOTHING, play }));
    for (const play of PLAYS) {
      await send(page, play);
      const text = await formOf(page, play).locator('.notice.good').innerText();
      expect(text.trim()).toBe(en.sandbox.played);
    }
  });
});

/** An answer to a play that has made nothing. */
const NOTHING = {
  training_id: null,
  member_id: null,
  connection_id: null,
  events: [],
  evaluation_at: null,
  until: null,
};

/** Fills a field in by its kind. */
async function fill(field: Locator): Promise<void> {
  const type = (await field.getAttribute('type')) ?? 'select';
  if (type === 'search') {
    await field.fill('clara@sandbox.example');
    // What is typed is a choice when the service has found it.
    const form = field.locator('xpath=ancestor::form');
    await form.locator('button:not([aria-disabled=true])[type=submit]').waitFor();
  } else if (type === 'number') await field.fill('7');
  else if (type === 'datetime-local') await field.fill('2026-01-02T09:30');
  else {
    const options = await field
      .locator('option')
      .evaluateAll((all) => all.map((one) => one.getAttribute('value')));
    await field.selectOption(options.at(-1) ?? '');
  }
}
