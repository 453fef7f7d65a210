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
    section('shown', of('key', t.titleOfKey) + of('endpoint', t.titleOfEndpoint), [
      `<p>${of('key', t.shown)}${of('endpoint', t.shownOfEndpoint)}</p>`,
      `<p class="notice warn" data-test-key hidden>${t.testKey}</p>`,
      `<p class="notice warn" data-test-endpoint hidden>${t.testEndpoint}</p>`,
      `<p><span class="hint">${of('key', t.name)}${of('endpoint', t.url)}</span><br />`,
      `<strong id="name"></strong></p>`,
      `<div class="secret"><code id="secret"></code><span class="copy">`,
      `<button type="button" class="button main" id="copy">${t.copy}</button>`,
      `<span role="status"><span data-copy="copied" hidden>${t.copied}</span>`,
      `<span data-copy="failed" hidden>${t.copyFailed}</span></span></span></div>`,
      `<p>${of('key', docs(texts.docsPath, t.docs))}`,
      `${of('endpoint', `${t.verify} ${docs(texts.verifyPath, t.howToVerify)}`)}</p>`,
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

/** What is shown for one kind of secret only. */
function of(kind: 'key' | 'endpoint', html: string): string {
  return `<span data-of="${kind}">${html}</span>`;
}

function docs(path: string, text: string): string {
  return `<a href="${DOCS}${path}" target="_blank" rel="noopener">${text}</a>`;
}

function section(state: string, title: string, lines: readonly string[]): string {
  const head = `<h1 tabindex="-1">${title}</h1>`;
  return `<section class="state" data-state="${state}" hidden>${head}${lines.join('')}</section>`;
}
