/** Colours code on the server, so that pages need no script for it. */
import core from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import csharp from 'highlight.js/lib/languages/csharp';
import go from 'highlight.js/lib/languages/go';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import { html, trusted, type Html } from './html.ts';
import { markIds } from './samples/sandbox-ids.ts';

const GRAMMARS = { bash, csharp, go, java, javascript, json, php, python, ruby };
for (const [name, grammar] of Object.entries(GRAMMARS)) core.registerLanguage(name, grammar);

const ALIASES: Readonly<Record<string, string>> = {
  sh: 'bash',
  js: 'javascript',
  ts: 'javascript',
  cs: 'csharp',
};

/** Stands for the reader's key in samples. The script of the pages puts the typed key there. */
export const KEY_PLACEHOLDER = 'YOUR_API_KEY';

/** Returns the code with its tokens marked. Code in an unknown language is only escaped. */
export function highlight(code: string, language: string): Html {
  const name = ALIASES[language] ?? language;
  const coloured =
    name in GRAMMARS
      ? core.highlight(code, { language: name, ignoreIllegals: true }).value
      : html`${code}`.html;
  const key = html`<span class="key" data-key>${KEY_PLACEHOLDER}</span>`.html;
  return markIds(trusted(coloured.replaceAll(KEY_PLACEHOLDER, key)));
}
