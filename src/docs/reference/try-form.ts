/** The form that calls an operation of the running service. `assets/try.js` sends it. */
import { BASE_PATH } from '../../http/api/exchange.ts';
import { html, type Html } from '../html.ts';
import { container } from '../markdown.ts';
import type { Site } from '../page.ts';
import { jsonText } from '../samples/literals.ts';
import { sampleRequest } from '../samples/sample-request.ts';
import { testValue } from '../samples/sandbox-ids.ts';
import type { Operation, Parameter } from './operations.ts';

/** The rows of a longer body are scrolled. */
const BODY_MAX_ROWS = 8;

export function tryForm(site: Site, operation: Operation): string {
  const { method, path, parameters, isTestOnly } = operation;
  const { body, isIdempotent } = sampleRequest(operation, site);
  const fields = parameters.filter(({ place }) => place !== 'header');
  const needed = fields.filter(({ required }) => required);
  const optional = fields.filter(({ required }) => !required);
  const form = html`<h2 id="try">Try it</h2>
    <form
      class="try"
      data-method="${method}"
      data-url="${site.prefix}${BASE_PATH}${path}"
      ${isIdempotent ? html`data-idempotent` : null}
      ${isTestOnly ? html`data-test-only` : null}
      data-key-form
    >
      <label for="try-key">API key</label>
      <input
        id="try-key"
        type="password"
        autocomplete="off"
        spellcheck="false"
        placeholder="svck_test_…"
        aria-describedby="try-mode"
        required
        data-key-input
      />
      ${modeNotes(site, operation)} ${needed.map(parameterField)} ${optionalFields(optional)}
      ${body === null ? null : bodyField(jsonText(body))}
      <button type="submit" disabled>Send ${method}</button>
      <div class="answer" role="status"></div>
    </form>
    <p class="no-script">Trying it here needs JavaScript. The samples above do the same.</p>`;
  // Not for programs: they have the samples.
  return container('html', form.html);
}

/** What the key opens, by the word in it: `assets/try.js` chooses one of the sentences. */
function modeNotes({ prefix }: Site, { method, isDeprecated, isTestOnly }: Operation): Html {
  const warning = method === 'GET' ? 'reads data' : 'changes data';
  const ending = isDeprecated ? ', by a deprecated operation' : '';
  const live = isTestOnly
    ? html`Only a test key can call this.`
    : html`This ${warning} of your live team${ending}.`;
  return html`<div class="modes" id="try-mode" aria-live="polite">
    <p data-for="none">
      Begin with a test key: it opens the
      <a href="${prefix}/docs/sandbox">sandbox</a>, where nothing is real.
    </p>
    <p data-for="test">
      <strong>Sandbox</strong> This ${warning} of the sandbox${ending}. The ids here are
      <a href="${prefix}/docs/sandbox#what-is-in-it">those of its scenario</a>.
    </p>
    <p data-for="live"><strong>Live</strong> ${live}</p>
  </div>`;
}

/** They are folded: the reader looks for the button first. */
function optionalFields(parameters: readonly Parameter[]): Html | null {
  if (parameters.length === 0) return null;
  return html`<details>
    <summary>Optional parameters (${parameters.length})</summary>
    ${parameters.map(parameterField)}
  </details>`;
}

/**
 * Path parameters begin with their examples, for a test key with ids of the sandbox. Query
 * parameters are optional, so they are empty.
 */
function parameterField({ name, place, required, example }: Parameter): Html {
  const id = `try-${place}-${name}`;
  const text = example ?? '';
  const isPath = place === 'path';
  return html`<label for="${id}"><code>${name}</code></label>
    <input
      id="${id}"
      name="${name}"
      data-place="${place}"
      autocomplete="off"
      spellcheck="false"
      value="${isPath ? text : ''}"
      placeholder="${isPath || text.length > 40 ? '' : text}"
      ${isPath ? testValue(text) : null}
      ${required ? html`required` : null}
    /> `;
}

function bodyField(json: string): Html {
  return html`<label for="try-body">Body</label>
    <textarea
      id="try-body"
      name="body"
      rows="${Math.min(json.split('\n').length, BODY_MAX_ROWS)}"
      spellcheck="false"
      ${testValue(json)}
    >
${json}</textarea>`;
}
