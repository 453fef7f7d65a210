/**
 * What the page that opens a link holds: every state of it, hidden until its script shows one. So
 * the script has no texts, and the page says without one what it needs.
 */
import type { HandoverTexts } from './i18n/handover.ts';
import { escape } from './lib/escape.ts';

/** Of the documentation. The server knows the path of the service. */
const DOCS = '__SERVICE__/docs';

export function handoverHtml(texts: HandoverTexts): string {
  const t = Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, escape(text)]),
  ) as HandoverTexts;
  const again = `<button type="button" class="button main" data-open>${t.again}</button>`;
  return [
    `<noscript><h1>${t.title}</h1><p class="notice warn">${t.noScript}</p></noscript>`,
    section('ask', t.title, [
      `<p>${t.ask}</p>`,
      `<button type="button" class="button main" data-open>${t.show}</button>`,
    ]),
    section('shown', t.title, [
      `<p>${t.shown}</p>`,
      `<p class="notice warn" data-test-key hidden>${t.testKey}</p>`,
      `<p><span class="hint">${t.name}</span><br /><strong id="name"></strong></p>`,
      `<div class="secret"><code id="secret"></code><span class="copy">`,
      `<button type="button" class="button main" id="copy">${t.copy}</button>`,
      `<span role="status"><span data-copy="copied" hidden>${t.copied}</span>`,
      `<span data-copy="failed" hidden>${t.copyFailed}</span></span></span></div>`,
      `<p><a href="${DOCS}" target="_blank" rel="noopener">${t.docs}</a></p>`,
    ]),
    section('gone', t.gone, [
      `<p>${t.goneHint}</p>`,
      `<p class="notice warn">${t.goneWarning}</p>`,
    ]),
    section('broken', t.broken, [`<p>${t.brokenHint}</p>`]),
    section('failed', t.failed, [`<p>${t.failedHint}</p>`, again]),
    section('busy', t.failed, [`<p>${t.busy}</p>`, again]),
    section('unable', t.unable, [`<p>${t.unableHint}</p>`]),
  ].join('');
}

function section(state: string, title: string, lines: readonly string[]): string {
  const head = `<h1 tabindex="-1">${title}</h1>`;
  return `<section class="state" data-state="${state}" hidden>${head}${lines.join('')}</section>`;
}
