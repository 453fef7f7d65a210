/** The blocks that a guide can name. Each is made from the declarations or from a file. */
import { extname } from 'node:path';
import { ERROR_MEANINGS } from '../core/delivery-errors.ts';
import type { Language } from '../core/language.ts';
import { sandboxIdOf } from '../core/sandbox.ts';
import { SCOPE_DESCRIPTIONS } from '../core/scopes.ts';
import {
  block,
  briefly,
  codeBlock,
  fence,
  joinMarkdown,
  type Block,
  type Reader,
} from './block.ts';
import { html } from './html.ts';
import type { Site } from './page.ts';
import { readEvent } from './reference/events.ts';
import type { Operation } from './reference/operations.ts';
import { jsonText } from './samples/literals.ts';
import {
  programSamples,
  PROGRAMS,
  readExample,
  READERS,
  RECEIVERS,
  type Program,
} from './samples/programs.ts';
import { GERMAN_SCOPES, WORDS } from './words.ts';
import { sampleRequest } from './samples/sample-request.ts';
import { requestTabs, sampleTabs } from './samples/sample-tabs.ts';

/** Those of files that are not JavaScript. Nothing of Power Query is coloured. */
const GRAMMARS: Readonly<Record<string, string>> = { '.sh': 'bash', '.pq': 'powerquery' };

export type Directive = (argument: string) => Block;

/**
 * The guide that `showsAll` can be followed command by command. In Markdown, other guides show how
 * to send a request once, and then only method, path and body. Who reads all pages at once gets
 * that from the first guide alone, and a program from the page at `path`.
 */
export function makeDirectives(
  site: Site,
  { showsAll, path }: { readonly showsAll: boolean; readonly path: string },
): Readonly<Record<string, Directive>> {
  const words = WORDS[site.language];
  const once = (one: Block, elsewhere: string): Block => (showsAll ? one : briefly(one, elsewhere));
  const kindsShown = new Set<'body' | 'no body'>();
  return {
    /**
     * `{{request POST /users}}`: the call in every language. With JSON behind it, that is its body
     * instead of the example, which the page of the operation has.
     */
    request: (argument) => {
      const { name, json } = readCall(argument);
      const request = sampleRequest(findOperation(site, name), site);
      const body = json === null ? request.body : { ...json };
      const tabs = requestTabs({ ...request, body }, site.language);
      const kind = body === null ? 'no body' : 'body';
      const isFirst = !kindsShown.has(kind);
      kindsShown.add(kind);
      const markdown = (reader: Reader): string => {
        const isAlone = reader.hasAllPages !== true;
        const isWhole = showsAll ? isAlone || isFirst : isAlone && isFirst;
        if (isWhole) return joinMarkdown([tabs], reader);
        const hasBody = body !== null && (showsAll || isAlone || json !== null);
        return `\`${name}\`${hasBody ? `:\n\n${fence(jsonText(body), 'json')}` : ''}`;
      };
      return { ...tabs, markdown };
    },
    /** `{{response GET /me}}`: an example of its response. JSON behind it changes its fields. */
    response: (argument) => {
      const { name, json } = readCall(argument);
      const { success } = findOperation(site, name);
      const example = jsonText({ ...(success.example as object), ...json });
      return codeBlock(`${words.response} ${success.status}`, example, 'json');
    },
    /** `{{problem not_found}}`: an example of an error. */
    problem: (code) => codeBlock(words.response, jsonText(findProblem(site, code)), 'json'),
    /** `{{event ping}}`: an example of a body; `{{event ping test}}`: one of a sandbox. */
    event: (argument) => {
      const [type = '', mode] = argument.split(' ');
      const { example } = readEvent(site, type);
      const { tenant_id: team } = example as { readonly tenant_id: string };
      const live = jsonText(example);
      const ofSandbox = live.replaceAll(`"${team}"`, `"${sandboxIdOf(team)}"`);
      return codeBlock(words.body, mode === 'test' ? ofSandbox : live, 'json');
    },
    /** `{{file send-delivery.sh}}`: a file of examples/. */
    file: (name) => {
      const grammar = GRAMMARS[extname(name)] ?? 'javascript';
      const { markdown } = codeBlock(name, withoutTags(readExample(name)), grammar);
      const whole = { ...codeBlock(name, readExample(name), grammar), markdown };
      return briefly(whole, `\`${name}\`: see ${site.publicUrl}${path}.md`);
    },
    /** A program that reads all pages of a list. */
    pages: () => sampleTabs(programSamples(READERS, site.apiUrl), site.language),
    /** A program that receives webhooks. */
    receiver: () =>
      once(
        sampleTabs(programSamples(RECEIVERS, site.apiUrl), site.language),
        'The receiver of the _Quickstart_ does it.',
      ),
    /** `{{program nightly}}`: a program in the languages that it is written in. */
    program: (name) => sampleTabs(programSamples(findPrograms(name), site.apiUrl), site.language),
    /** An HTTP request of our sender. */
    delivery: () => {
      const written = (write: (value: object) => string): Block =>
        codeBlock(words.delivery, deliveryText(site, 'evaluation.completed', write), 'http');
      return { ...written(jsonText), markdown: written(JSON.stringify).markdown };
    },
    scopes: () => site.markdown.block(scopeTable(site)),
    /** What `error` of a delivery can say. */
    delivery_errors: () => site.markdown.block(errorTable(site)),
    key: () => keyField(site),
    cards: () => cards(site),
  };
}

/** The method and path of an operation, and what may follow them: an object in JSON. */
function readCall(argument: string): { readonly name: string; readonly json: object | null } {
  const [, name = argument, json = null] = /^(\S+ \S+) (\{.*\})$/.exec(argument) ?? [];
  return { name, json: json === null ? null : (JSON.parse(json) as object) };
}

function findOperation({ reference }: Site, name: string): Operation {
  const [method, path] = name.split(' ');
  const found = reference.operations.find((one) => one.method === method && one.path === path);
  if (found === undefined) throw new Error(`A guide names the unknown operation ${name}.`);
  return found;
}

/** Types in comments are for editors. */
function withoutTags(code: string): string {
  return code.replaceAll(/(?:^ \*\n)?(?:^ \* @.*\n)+/gm, '');
}

function findPrograms(name: string): readonly Program[] {
  const found = Object.entries(PROGRAMS).find(([known]) => known === name);
  if (found === undefined) throw new Error(`A guide names the unknown program ${name}.`);
  return found[1];
}

function findProblem({ reference }: Site, code: string): object {
  const errors = reference.operations.flatMap((operation) => operation.errors);
  const found = errors.find((error) => error.code === code);
  if (found === undefined) throw new Error(`A guide names the unknown problem ${code}.`);
  return found.example;
}

function deliveryText(site: Site, type: string, write: (value: object) => string): string {
  const { headers, example } = readEvent(site, type);
  const lines = headers.map(({ name, example: value }) => `${name}: ${String(value)}`);
  return [
    'POST /webhooks HTTP/1.1',
    'Content-Type: application/json',
    ...lines,
    '',
    write(example),
  ].join('\n');
}

function scopeTable({ language }: Site): string {
  const { scope: scopeTitle, allows } = WORDS[language];
  const rows = Object.entries(language === 'de' ? GERMAN_SCOPES : SCOPE_DESCRIPTIONS).map(
    ([scope, description]) => `| \`${scope}\` | ${description} |`,
  );
  return [`| ${scopeTitle} | ${allows} |`, '| --- | --- |', ...rows].join('\n');
}

function errorTable({ language }: Site): string {
  const { deliveryError, means } = WORDS[language];
  const rows = Object.entries(ERROR_MEANINGS).map(
    ([error, meaning]) => `| \`${error}\` | ${meaning[language]} |`,
  );
  return [`| ${deliveryError} | ${means} |`, '| --- | --- |', ...rows].join('\n');
}

/** Where the reader types the key that samples show. It is shown only with JavaScript. */
function keyField({ language }: Site): Block {
  const { key } = WORDS[language];
  return block(
    () =>
      html`<form class="key-field" data-key-form>
        <label for="your-key">${key.label}</label>
        <input
          id="your-key"
          type="password"
          autocomplete="off"
          spellcheck="false"
          placeholder="svck_test_…"
          data-key-input
        />
        <p>${key.text}</p>
      </form>`,
    '',
  );
}

const CARDS: Readonly<Record<Language, readonly (readonly [string, string, string])[]>> = {
  en: [
    ['/docs/quickstart', 'Quickstart', 'From a test key to a verified webhook in five minutes.'],
    ['/docs/webhooks', 'Webhooks', 'Receive events, verify them, handle duplicates and retries.'],
    ['/docs/reference', 'API reference', 'Every operation, to try with your key.'],
    ['/docs/errors', 'Errors', 'Every error code with its cause and what to do.'],
  ],
  de: [
    [
      '/docs/quickstart',
      'Schnellstart',
      'In fünf Minuten vom Testschlüssel zum geprüften Webhook.',
    ],
    ['/docs/webhooks', 'Webhooks', 'Ereignisse empfangen, prüfen, Duplikate behandeln.'],
    ['/docs/reference', 'API-Referenz', 'Jede Operation, mit eigenem Schlüssel zum Ausprobieren.'],
    ['/docs/errors', 'Fehler', 'Jeder Fehlercode mit Ursache und Abhilfe.'],
  ],
};

function cards({ prefix, language, pathOf }: Site): Block {
  const listed = CARDS[language];
  return block(
    () =>
      html`<ul class="cards">
        ${listed.map(
          ([path, title, text]) =>
            html`<li>
              <a href="${prefix}${pathOf(path)}"><strong>${title}</strong></a>
              <p>${text}</p>
            </li> `,
        )}
      </ul>`,
    ({ hasAllPages = false }) =>
      hasAllPages
        ? ''
        : listed.map(([path, title, text]) => `- [${title}](${path}): ${text}`).join('\n'),
  );
}
