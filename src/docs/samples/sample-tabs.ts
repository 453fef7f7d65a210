/** Code samples of one thing in several languages, as tabs. */
import { block, codeHtml, fence, type Block } from '../block.ts';
import { html, type Html } from '../html.ts';
import type { Language } from '../../core/language.ts';
import { WORDS, type Words } from '../words.ts';
import { LANGUAGES } from './languages.ts';
import type { SampleRequest } from './sample-request.ts';

export interface Sample {
  /** The id of its language. */
  readonly id: string;
  readonly label: string;
  readonly grammar: string;
  readonly code: string;
  /** The name under which the reader saves it. */
  readonly file?: string;
  /** How the reader starts it. */
  readonly command?: string;
}

/** The request in every language. */
export function requestTabs(request: SampleRequest, language: Language): Block {
  return sampleTabs(
    LANGUAGES.map(({ id, label, grammar, write }) => ({
      id,
      label,
      grammar,
      code: write(request),
    })),
    language,
  );
}

/**
 * Without JavaScript all languages are shown under each other. With it, one is: the one that the
 * reader chose last. `assets/start.js` chooses before the page is painted. A group without that
 * language shows its first one.
 */
export function sampleTabs(samples: readonly Sample[], pageLanguage: Language): Block {
  const words = WORDS[pageLanguage];
  const missing = LANGUAGES.filter(({ id }) => samples.every((sample) => sample.id !== id));
  const classes = ['samples', ...missing.map(({ id }) => `without-${id}`)].join(' ');
  const buttons = samples.map(
    ({ id, label }) => html`<button type="button" data-language="${id}">${label}</button>`,
  );
  return block(
    () =>
      html`<div class="${classes}">
        <div class="tabs" aria-label="${words.sampleLanguage}">${buttons}</div>
        ${samples.map((sample) => panel(sample, words))}
      </div>`,
    ({ language }) => {
      const shown = samples.find(({ id }) => id === language) ?? samples[0];
      return shown ? markdownOf(shown, words) : '';
    },
  );
}

function panel({ id, label, grammar, code, file, command }: Sample, { run }: Words): Html {
  return html`<div class="sample" data-language="${id}">
    <p class="sample-title">${label}</p>
    ${codeHtml(file ?? null, code, grammar)}
    ${command === undefined ? null : html`<p class="command">${run}: <code>${command}</code></p>`}
  </div>`;
}

function markdownOf({ label, grammar, code, file, command }: Sample, words: Words): string {
  const title = file === undefined ? label : `${label}, \`${file}\``;
  const run = command === undefined ? '' : `\n\n${words.run}: \`${command}\``;
  return `${title}:\n\n${fence(code, grammar)}${run}`;
}
