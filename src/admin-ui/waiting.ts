/**
 * What the document holds before its scripts are here and somebody is signed in: the navigation,
 * the band of a sandbox, and grey bars where a page will be. The build writes it into the document
 * of each language and mode; the page takes its place.
 */
import type { Mode } from '../core/sandbox.ts';
import type { Texts } from './i18n/en.ts';
import { escape } from './lib/escape.ts';
import { ICONS } from './lib/icons.ts';
import { NAVIGATION } from './lib/navigation.ts';

const ROWS = 5;

/** `base`: what stands for the path of the mode, without a slash at its end. */
export function waitingHtml(t: Texts, mode: Mode, base: string): string {
  const groups = NAVIGATION.map(({ group, pages }) => {
    const title = group === null ? '' : `<p class="nav-group">${escape(t.nav[group])}</p>`;
    const links = pages.map(
      ({ to, name }) =>
        `<a href="${base}${to}"><svg viewBox="0 0 16 16" aria-hidden="true">` +
        `<path d="${ICONS[name]}"/></svg>${escape(t.nav[name])}</a>`,
    );
    return title + links.join('');
  });
  const { name, band, modeNames } = t.sandbox;
  const modes = (['live', 'test'] as const).map(
    (one) =>
      `<span class="mode"${one === mode ? ` data-mode="${one}" aria-current="true"` : ''}>` +
      `${escape(modeNames[one])}</span>`,
  );
  const choice = `<div class="modes">${modes.join('')}</div>`;
  return [
    `<div class="app" data-mode="${mode}"><header class="head">`,
    mode === 'test' ? `<p class="band"><strong>${escape(name)}:</strong> ${escape(band)}</p>` : '',
    `<div class="top"><span class="team">…</span><div class="top-buttons">${choice}`,
    `<span class="menu-button">${escape(t.app.menu)}</span></div></div></header>`,
    '<div class="frame">',
    `<aside class="side" aria-label="${escape(t.app.menu)}"><p class="team">…</p>${choice}`,
    `<p class="find">${escape(t.finder.open)}</p>`,
    `<nav aria-label="${escape(t.app.navigation)}">${groups.join('')}</nav></aside>`,
    // Not yet the heading of a page.
    `<main><div class="page-head"><p class="heading" role="heading" aria-level="1">`,
    `${escape(t.common.loading)}</p></div><div class="loading">`,
    '<span aria-hidden="true"></span>'.repeat(ROWS),
    '</div></main></div></div>',
  ].join('');
}
