/** The blocks that a guide can name. Each is made from the declarations or from a file. */
import { extname } from 'node:path';
import { ERROR_MEANINGS } from '../core/delivery-errors.ts';
import type { Language } from '../core/language.ts';
import { PROBLEMS, type ProblemCode } from '../core/problem.ts';
import { sandboxIdOf } from '../core/sandbox.ts';
import { SCOPE_DESCRIPTIONS } from '../core/scopes.ts';
import { html } from './html.ts';
import { container, fence, joined } from './markdown.ts';
import type { Site } from './page.ts';
import { eventCatalogue, readEvent } from './reference/events.ts';
import type { Operation } from './reference/operations.ts';
import { operationIndex } from './reference/pages.ts';
import { releases, versions } from './releases.ts';
import { jsonText } from './samples/literals.ts';
import {
  programSamples,
  PROGRAMS,
  readExample,
  READERS,
  RECEIVERS,
  requestSamples,
  type Program,
} from './samples/programs.ts';
import { sampleRequest } from './samples/sample-request.ts';
import { GERMAN_SCOPES, WORDS } from './words.ts';

/** Those of files that are not JavaScript. Nothing of Power Query is coloured. */
const GRAMMARS: Readonly<Record<string, string>> = { '.sh': 'bash', '.pq': 'powerquery' };

/** Returns Markdown. */
export type Directive = (argument: string) => string;

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
  const kindsShown = new Set<'body' | 'no body'>();
  const samples = (programs: readonly Program[]): string =>
    programSamples(programs, site.apiUrl, words.run);
  return {
    /**
     * `{{request POST /users}}`: the call in every language. With JSON behind it, that is its body
     * instead of the example, which the page of the operation has.
     */
    request: (argument) => {
      const { name, json } = readCall(argument);
      const request = sampleRequest(findOperation(site, name), site);
      const body = json === null ? request.body : { ...json };
      const kind = body === null ? 'no body' : 'body';
      const isFirst = !kindsShown.has(kind);
      kindsShown.add(kind);
      const short = (hasBody: boolean): string =>
        `\`${name}\`${hasBody ? `:\n\n${fence(jsonText(body), 'json')}` : ''}`;
      const readers = [
        'page',
        ...(showsAll || isFirst ? ['twin'] : []),
        ...(showsAll && isFirst ? ['all'] : []),
      ];
      return joined(
        container(`only ${readers.join(' ')}`, requestSamples({ ...request, body })),
        readers.includes('twin') ? '' : container('only twin', short(body !== null)),
        readers.includes('all')
          ? ''
          : container('only all', short(body !== null && (showsAll || json !== null))),
      );
    },
    /** `{{response GET /me}}`: an example of its response. JSON behind it changes its fields. */
    response: (argument) => {
      const { name, json } = readCall(argument);
      const { success } = findOperation(site, name);
      const example = jsonText({ ...(success.example as object), ...json });
      return fence(example, 'json', `${words.response} ${success.status}`);
    },
    /** `{{problem not_found}}`: an example of an error. */
    problem: (code) => fence(jsonText(findProblem(site, code)), 'json', words.response),
    /** `{{event ping}}`: an example of a body; `{{event ping test}}`: one of a sandbox. */
    event: (argument) => {
      const [type = '', mode] = argument.split(' ');
      const { example } = readEvent(site, type);
      const { tenant_id: team } = example as { readonly tenant_id: string };
      const live = jsonText(example);
      const ofSandbox = live.replaceAll(`"${team}"`, `"${sandboxIdOf(team)}"`);
      return fence(mode === 'test' ? ofSandbox : live, 'json', words.body);
    },
    /** `{{file send-delivery.sh}}`: a file of examples/. */
    file: (name) => {
      const grammar = GRAMMARS[extname(name)] ?? 'javascript';
      const code = readExample(name);
      return joined(
        container('only page', fence(code, grammar, name)),
        container('only twin', fence(withoutTags(code), grammar, name)),
        container('only all', `\`${name}\`: see ${site.publicUrl}${path}.md`),
      );
    },
    /** A program that reads all pages of a list. */
    pages: () => samples(READERS),
    /** A program that receives webhooks. */
    receiver: () =>
      showsAll
        ? samples(RECEIVERS)
        : joined(
            container('only page twin', samples(RECEIVERS)),
            container('only all', 'The receiver of the _Quickstart_ does it.'),
          ),
    /** `{{program nightly}}`: a program in the languages that it is written in. */
    program: (name) => samples(findPrograms(name)),
    /** An HTTP request of our sender. */
    delivery: () => {
      const written = (write: (value: object) => string): string =>
        fence(deliveryText(site, 'evaluation.completed', write), 'http', words.delivery);
      return joined(
        container('only page', written(jsonText)),
        container('only twin all', written(JSON.stringify)),
      );
    },
    /** The life of a delivery, for people: the text around it says the same. */
    life: () => {
      const lines = words.life.map(([state, meaning]) => `1. \`${state}\` ${meaning}`);
      return container('only page', container('life', lines.join('\n')));
    },
    scopes: () => scopeTable(site),
    /** What `error` of a delivery can say. */
    delivery_errors: () => errorTable(site),
    key: () => keyField(site),
    /** `{{cards quickstart events}}`: links to pages, with their descriptions. */
    cards: (names) => {
      const lines = names.split(' ').map((name) => {
        const page = site.guideAt(`/docs/${name}`);
        return `- [${page.title}](/docs/${name}): ${page.description}`;
      });
      return container('only page twin', container('cards', lines.join('\n')));
    },
    errors: () => problems(site),
    events: () => eventCatalogue(site),
    operations: () => operationIndex(site),
    releases,
    versions: () => versions(site),
  };
}

/** A page links to the errors by these ids: the `type` of a problem does, too, so they stay. */
function problems({ language }: Site): string {
  const words = WORDS[language];
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  const rows = codes.map((code) => {
    const { status, title } = PROBLEMS[code];
    return `| ${status} | [\`${code}\`](#${code}) | ${title[language]} |`;
  });
  return joined(
    `## ${words.allCodes} {#all-codes}`,
    container(
      'only page',
      [`| ${words.status} | ${words.code} | ${words.title} |`, '| --- | --- | --- |', ...rows].join(
        '\n',
      ),
    ),
    ...codes.map((code) => describeProblem(code, language)),
    container(
      'only all',
      codes
        .map((code) => {
          const { status, cause, remedy } = PROBLEMS[code];
          return `- \`${code}\` (${status}): ${cause[language]} ${remedy[language]}`;
        })
        .join('\n\n'),
    ),
  );
}

/** English readers may unfold the German text: `title` is German unless they ask for English. */
function describeProblem(code: ProblemCode, language: Language): string {
  const { status, title, cause, remedy } = PROBLEMS[code];
  const told = (one: Language): string =>
    `- ${WORDS[one].cause}: ${cause[one]}\n\n- ${WORDS[one].remedy}: ${remedy[one]}`;
  const titles = language === 'en' ? `“${title.en}” (German: „${title.de}“)` : `„${title.de}“`;
  return container(
    'only page twin',
    container(
      `problem ${code}`,
      joined(
        `### ${code} {#${code}}`,
        `Status \`${status}\`, ${titles}.`,
        told(language),
        language === 'en' ? container('fold de Deutsch', `„${title.de}“\n\n${told('de')}`) : '',
      ),
    ),
  );
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
function keyField({ language }: Site): string {
  const { key } = WORDS[language];
  const form = html`<form class="key-field" data-key-form>
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
  </form>`;
  return container('html', form.html);
}
