// The documents that the build writes: what is seen before the scripts are here.
import { describe, expect, test } from 'vitest';
import { de } from '../../../src/admin-ui/i18n/de.ts';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import { escape } from '../../../src/admin-ui/lib/escape.ts';
import { ICONS } from '../../../src/admin-ui/lib/icons.ts';
import { NAVIGATION } from '../../../src/admin-ui/lib/navigation.ts';
import { waitingHtml } from '../../../src/admin-ui/waiting.ts';

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
      const of = pages.map(
        ({ to, name }) =>
          `<a href="/base${to}"><svg viewBox="0 0 16 16" aria-hidden="true">` +
          `<path d="${ICONS[name]}"/></svg>${escape(t.nav[name])}</a>`,
      );
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
