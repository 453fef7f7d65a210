import { EVENT_TYPES, EVENTS, type EventType } from '../../core/events.ts';
import type { Language } from '../../core/language.ts';
import { PROBLEMS, type ProblemCode } from '../../core/problem.ts';
import { html, withCode, type Html } from './html.ts';
import { describeDelivery, eventExample } from '../openapi/webhooks.ts';
import { BASE_PATH } from '../api/rest.ts';

/** The addresses that a page links to. */
export interface PageLinks {
  /** The path of PUBLIC_URL, which precedes every path of the service; '' without one. */
  readonly prefix: string;
  /** The versioned address of a file in assets/. */
  readonly asset: (name: string) => string;
}

interface Page {
  readonly path: string;
  readonly title: string;
  readonly head?: Html;
  readonly body: Html;
}

const NAVIGATION = [
  { path: '/docs', label: 'API reference' },
  { path: '/docs/errors', label: 'Errors' },
  { path: '/docs/webhooks', label: 'Webhooks' },
] as const;

/** The interactive reference: Swagger UI with the published document. */
export function explorerPage(links: PageLinks): string {
  const documentUrl = `${links.prefix}${BASE_PATH}/openapi.v1.json`;
  return renderPage(links, {
    path: '/docs',
    title: 'API reference',
    head: html`<link rel="stylesheet" href="${links.asset('swagger-ui.css')}" />
      <script defer src="${links.asset('swagger-ui-bundle.js')}"></script>
      <script defer src="${links.asset('explorer.js')}"></script>`,
    body: html`<main
        id="explorer"
        data-document="${documentUrl}"
        data-server="${links.prefix}${BASE_PATH}"
      ></main>
      <noscript
        ><p class="note">
          This page needs JavaScript. It shows the document
          <a href="${documentUrl}">openapi.v1.json</a>.
        </p></noscript
      >`,
  });
}

/**
 * Every problem code with its cause and remedy. The `type` of a problem links to the element whose
 * id is the code.
 */
export function errorsPage(links: PageLinks): string {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  return renderPage(links, {
    path: '/docs/errors',
    title: 'Errors',
    body: html`<main class="prose">
      <h1>Errors</h1>
      <p>
        Every error is <code>application/problem+json</code> and has one of these codes. Match on
        <code>code</code>: it never changes and is never translated.
      </p>
      <p lang="de">
        Jeder Fehler ist <code>application/problem+json</code> und hat einen dieser Codes.
        Maßgeblich ist <code>code</code>: Er ändert sich nie und wird nie übersetzt.
      </p>
      <nav class="codes" aria-label="Codes">
        <ul>
          ${codes.map(
            (code) =>
              html`<li>
                <a href="#${code}"><span class="status">${PROBLEMS[code].status}</span> ${code}</a>
              </li> `,
          )}
        </ul>
      </nav>
      ${codes.map(describeProblem)}
    </main>`,
  });
}

/**
 * Code samples for readers to copy. Each is a file in assets/, and a test runs each of them.
 */
export interface WebhookSamples {
  readonly receive: string;
  readonly verify: string;
  readonly verifyInShell: string;
  readonly sendInShell: string;
}

/**
 * For receivers of events: how to verify a signature, the event types, and what happens after a
 * failure.
 */
export function webhooksPage(links: PageLinks, samples: WebhookSamples): string {
  return renderPage(links, {
    path: '/docs/webhooks',
    title: 'Webhooks',
    body: html`<main class="prose">
      <h1>Webhooks</h1>
      <p>
        Register an HTTPS address with <code>POST /webhook-endpoints</code>. Keep the
        <code>secret</code> from the response: it is shown only there. Events are then sent to the
        address by POST. Each event is delivered at least once, and events come in no particular
        order.
      </p>
      ${describeVerification(samples)}
      <h2>Respond to a delivery</h2>
      <p>
        Respond with any 2xx status within 10 seconds. Every other result is a failure, also a
        redirect. After a failure the delivery is repeated after 1 min, 5 min, 30 min, 2 h, 6 h, 12
        h and 24 h. If deliveries to a webhook endpoint fail for three days without a success, it is
        paused, and the team’s admins get a mail.
      </p>
      <h2>Events</h2>
      ${EVENT_TYPES.map(describeEvent)}
    </main>`,
  });
}

function describeVerification(samples: WebhookSamples): Html {
  return html`<h2>Verify a delivery</h2>
    <ol>
      <li>
        Take <code>t</code> and <code>v1</code> from
        <code>Svc-Signature: t=&lt;unix time&gt;,v1=&lt;hex&gt;</code>.
      </li>
      <li>
        Compute the HMAC-SHA256 of <code>&lt;t&gt;.&lt;raw body&gt;</code> in lowercase hex. Use the
        bytes of the body as you received them, and the whole secret (<code>whsec_…</code>) as the
        key.
      </li>
      <li>
        Compare it with <code>v1</code> in constant time. Refuse the delivery if <code>t</code> is
        older than five minutes.
      </li>
      <li>
        Skip an event whose <code>Svc-Event-Id</code> you have seen before: every repetition of an
        event has the same id.
      </li>
    </ol>
    <h3>With our package</h3>
    <p>
      On Node, <code>verifyWebhook</code> does steps 1 to 3 and returns the event, typed by its
      <code>type</code>. It throws a <code>WebhookVerificationError</code> if the delivery is not
      valid; <code>reason</code> says why.
    </p>
    <pre><code>${samples.receive}</code></pre>
    <h3>Without our package</h3>
    <p>The same check for Node. Copy it, or translate it into your language:</p>
    <pre><code>${samples.verify}</code></pre>
    <h3>In a shell</h3>
    <p>Check a delivery that you have captured:</p>
    <pre><code>${samples.verifyInShell}</code></pre>
    <p>Send a delivery to your own receiver to test it:</p>
    <pre><code>${samples.sendInShell}</code></pre>`;
}

function describeEvent(type: EventType): Html {
  return html`<section class="event" id="${type}">
    <h3><code>${type}</code></h3>
    <p>${EVENTS[type].trigger} ${withCode(describeDelivery(type))}</p>
    <pre><code>${JSON.stringify(eventExample(type), null, 2)}</code></pre>
  </section> `;
}

const LABELS: Record<Language, { readonly cause: string; readonly remedy: string }> = {
  en: { cause: 'Cause', remedy: 'Remedy' },
  de: { cause: 'Ursache', remedy: 'Abhilfe' },
};

function describeProblem(code: ProblemCode): Html {
  const texts = (['en', 'de'] as const).map((language) => {
    const { title, cause, remedy } = PROBLEMS[code];
    return html`<div lang="${language}">
      <h3>${title[language]}</h3>
      <dl>
        <dt>${LABELS[language].cause}</dt>
        <dd>${withCode(cause[language])}</dd>
        <dt>${LABELS[language].remedy}</dt>
        <dd>${withCode(remedy[language])}</dd>
      </dl>
    </div> `;
  });
  return html`<section class="problem" id="${code}">
    <h2>
      <span class="status">${PROBLEMS[code].status}</span>
      <a href="#${code}"><code>${code}</code></a>
    </h2>
    <div class="languages">${texts}</div>
  </section> `;
}

function renderPage({ prefix, asset }: PageLinks, { path, title, head, body }: Page): string {
  const items = NAVIGATION.map((item) =>
    item.path === path
      ? html`<a href="${prefix}${item.path}" aria-current="page">${item.label}</a>`
      : html`<a href="${prefix}${item.path}">${item.label}</a>`,
  );
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} – Team Customer API</title>
        <link rel="icon" href="${asset('icon.svg')}" type="image/svg+xml" />
        ${head ?? []}
        <link rel="stylesheet" href="${asset('docs.css')}" />
      </head>
      <body>
        <header class="bar">
          <strong>Team Customer API</strong>
          <nav aria-label="Pages">
            ${items}<a href="${prefix}${BASE_PATH}/openapi.v1.json">openapi.v1.json</a>
          </nav>
        </header>
        ${body}
      </body>
    </html> `.html;
}
