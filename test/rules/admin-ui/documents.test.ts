// The documents that the build writes: what is seen before the scripts are here, and the page that
// opens a link.
import { describe, expect, test } from 'vitest';
import { handoverHtml } from '../../../src/admin-ui/handover-page.ts';
import { failureOf, openerAddress, testNotesOf } from '../../../src/admin-ui/handover-rules.ts';
import { de } from '../../../src/admin-ui/i18n/de.ts';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import { HANDOVER_TEXTS } from '../../../src/admin-ui/i18n/handover.ts';
import { escape } from '../../../src/admin-ui/lib/escape.ts';
import { NAVIGATION } from '../../../src/admin-ui/lib/navigation.ts';
import { waitingHtml } from '../../../src/admin-ui/waiting.ts';
import { SANDBOX_END } from '../../../src/core/sandbox.ts';

test('a text in HTML is no markup', () => {
  expect(escape('a & b <c> "d" &amp; <')).toBe('a &amp; b &lt;c> &quot;d&quot; &amp;amp; &lt;');
});

describe.each([
  ['de', de],
  ['en', en],
])('before the scripts are here, in %s,', (_, t) => {
  const live = waitingHtml(t, 'live', '/base');
  const test_ = waitingHtml(t, 'test', '/base/sandbox');

  test('all pages can be opened, in their groups', () => {
    const links = NAVIGATION.map(({ group, pages }) => {
      const title = group === null ? '' : `<p class="nav-group">${escape(t.nav[group])}</p>`;
      const of = pages.map(({ to, name }) => `<a href="/base${to}">${escape(t.nav[name])}</a>`);
      return [title, ...of].join('');
    });
    expect(live).toContain(`">${links.join('')}</nav>`);
    expect(test_.match(/href="\/base\/sandbox\//g)).toHaveLength(14);
  });

  test('the sandbox has a band, and the mode is marked', () => {
    const { name, band, modeNames } = t.sandbox;
    expect(live).not.toContain('class="band"');
    expect(test_).toContain(
      `<p class="band"><strong>${escape(name)}:</strong> ${escape(band)}</p>`,
    );
    expect(live).toContain(`data-mode="live" aria-current="true">${modeNames.live}</span>`);
    expect(live).toContain(`<span class="mode">${modeNames.test}</span>`);
    expect(test_).toContain(`data-mode="test" aria-current="true">${modeNames.test}</span>`);
    expect(test_).toContain(`<span class="mode">${modeNames.live}</span>`);
    expect(live).toMatch(/^<div class="app" data-mode="live">/);
    expect(test_).toMatch(/^<div class="app" data-mode="test">/);
  });

  test('the page is said to be loading, with five lines', () => {
    expect(live).toContain(`aria-level="1">${escape(t.common.loading)}</p>`);
    expect(live.match(/<span aria-hidden="true"><\/span>/g)).toHaveLength(5);
    const count = (tag: string) => live.split(tag).length - 1;
    for (const tag of ['div', 'p', 'span', 'nav', 'aside', 'main', 'header', 'a'])
      expect([tag, count(`</${tag}>`)]).toEqual([tag, count(`<${tag} `) + count(`<${tag}>`)]);
  });
});

describe('the page that opens a link', () => {
  const html = handoverHtml(HANDOVER_TEXTS.en);
  const sectionOf = (state: string) =>
    new RegExp(`<section class="state" data-state="${state}" hidden>(.*?)</section>`).exec(
      html,
    )?.[1];

  test('has every state, hidden', () => {
    const states = [...html.matchAll(/data-state="(\w+)"( hidden)?/g)];
    expect(states.map(([, state, hidden]) => [state, hidden])).toEqual(
      ['ask', 'shown', 'gone', 'broken', 'failed', 'busy', 'unable'].map((one) => [one, ' hidden']),
    );
  });

  test('opens it only at a click, and offers another try where it helps', () => {
    const opens = (state: string) => sectionOf(state)?.includes('data-open') === true;
    const states = ['ask', 'shown', 'gone', 'broken', 'failed', 'busy', 'unable'];
    expect(states.filter(opens)).toEqual(['ask', 'failed', 'busy']);
    expect(sectionOf('ask')).toContain(`data-open>${HANDOVER_TEXTS.en.show}</button>`);
    expect(sectionOf('busy')).toContain(`data-open>${HANDOVER_TEXTS.en.again}</button>`);
  });

  test.each(Object.entries(HANDOVER_TEXTS))('has all texts in %s, as text', (_, texts) => {
    const odd = Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, `${text} <${name}> & "`]),
    ) as typeof texts;
    const written = handoverHtml(odd);
    // Paths of the documentation are parts of addresses.
    for (const [name, text] of Object.entries(odd).filter(([one]) => !one.endsWith('Path')))
      expect([name, written.includes(escape(text))]).toEqual([name, true]);
    for (const path of [odd.docsPath, odd.verifyPath])
      expect(written).toContain(`href="__SERVICE__/docs${path}"`);
  });

  test('speaks of the kind of secret that it shows', () => {
    const t = HANDOVER_TEXTS.en;
    const shown = sectionOf('shown') ?? '';
    const of = (kind: string) =>
      [...shown.matchAll(new RegExp(`<span data-of="${kind}">(.*?)</span>`, 'g'))].map(
        ([, text]) => text,
      );
    const link = (path: string, text: string) =>
      `<a href="__SERVICE__/docs${path}" target="_blank" rel="noopener">${text}</a>`;
    expect(of('key')).toEqual([t.titleOfKey, t.shown, t.name, link(t.docsPath, t.docs)]);
    expect(of('endpoint')).toEqual([
      t.titleOfEndpoint,
      t.shownOfEndpoint,
      t.url,
      `${t.verify} ${link(t.verifyPath, t.howToVerify)}`,
    ]);
  });

  test('asks the service at its own address', () => {
    expect(openerAddress('/handover')).toBe('/handover/open');
    expect(openerAddress('/x/handover//')).toBe('/x/handover/open');
  });

  test.each([
    [404, 'gone'],
    [429, 'busy'],
    [403, 'failed'],
    [500, 'failed'],
  ])('takes an answer of %i for %s', (status, state) => {
    expect(failureOf(status)).toBe(state);
  });

  test.each([
    ['svck_live_a', undefined, 'team_1', ['key', false, false]],
    ['svck_test_a', undefined, `team_1${SANDBOX_END}`, ['key', true, false]],
    ['svck_test_a', 'key', 'team_1', ['key', true, false]],
    ['whsec_a', 'endpoint', 'team_1', ['endpoint', false, false]],
    ['whsec_a', 'endpoint', `team_1${SANDBOX_END}`, ['endpoint', false, true]],
    ['whsec_svck_test_', 'endpoint', `${SANDBOX_END}1`, ['endpoint', false, false]],
  ] as const)('notes of %s (%s) of %s what is not real', (secret, kind, team, expected) => {
    const { testKey, testEndpoint, kind: shown } = testNotesOf({ secret, kind }, team);
    expect([shown, testKey, testEndpoint]).toEqual(expected);
  });
});
