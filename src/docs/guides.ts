/**
 * The pages that are files: guides and recipes in `guides/`, what is mostly generated in `pages/`,
 * each with its German in `de/`. Three things are replaced in a text:
 *  * lines between `{{if local_receivers}}`, `{{else}}` and `{{end}}`: the first part stays where
 *    webhooks may go to `http://localhost`, and else the second one;
 *  * `{{name}}` within a line, by a fact of the service (`factsOf`);
 *  * a line that is only `{{name argument}}`, by Markdown (`makeDirectives`).
 * An unknown name throws, so a test that renders all guides finds it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { COMMAND, PACKAGE_NAME, tarballOf } from '../client/package-name.ts';
import { EVENT_API_VERSION, PERSONAL_EVENT_FIELDS } from '../core/events.ts';
import { once } from '../core/once.ts';
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../core/page.ts';
import { POLL_OVERLAP } from '../core/polling.ts';
import { listFields } from '../http/openapi/webhooks.ts';
import { makeDirectives } from './directives.ts';
import { readSheet, type Sheet } from './front-matter.ts';
import { joined, withIds } from './markdown.ts';
import type { Page, Site } from './page.ts';

const { version } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
) as { readonly version: string };

interface Guide {
  /** Of the English page. */
  readonly path: string;
  readonly group: string;
  readonly order: number;
  readonly sheets: Readonly<Record<'en', Sheet>> & { readonly de?: Sheet };
}

/** All of them, in their order within groups. */
export const readGuides = once((): readonly Guide[] =>
  ['guides', 'pages']
    .flatMap((folder) => readFolder(join(import.meta.dirname, folder)))
    .toSorted((one, other) => one.order - other.order),
);

function readFolder(folder: string): Guide[] {
  const read = (name: string): Sheet => readSheet(readFileSync(join(folder, name), 'utf8'));
  const translated = new Set(readdirSync(join(folder, 'de')));
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => {
      const en = read(name);
      return {
        path: name === 'introduction.md' ? '/docs' : `/docs/${basename(name, '.md')}`,
        group: en.facts.get('group') ?? '',
        order: Number(en.facts.get('order')),
        sheets: translated.has(name) ? { en, de: read(join('de', name)) } : { en },
      };
    });
}

const HOME = '/docs/de';

/** The path of the German page, or that of the English one if there is none. */
export function germanPathOf(path: string): string {
  const isTranslated = readGuides().some((guide) => guide.path === path && guide.sheets.de);
  return isTranslated ? path.replace('/docs', HOME) : path;
}

/** The page of a guide in the language of the site, or in English. */
export function guidePage(site: Site, guide: Guide): Page {
  const { path, group, sheets } = guide;
  const sheet = sheets[site.language] ?? sheets.en;
  const languages = sheets.en.facts.get('languages')?.split(', ');
  const changed = sheet.facts.get('changed');
  return {
    path: site.pathOf(path),
    title: sheet.facts.get('title') ?? '',
    description: sheet.facts.get('description') ?? '',
    isRecipe: group === 'Recipes',
    isHistory: sheets.en.facts.has('history'),
    ...(languages ? { languages } : {}),
    ...(changed === undefined ? {} : { changed }),
    source: () => sourceOf(site, guide),
  };
}

/** Its name in the navigation, if that is not the title. */
export function labelOf({ language }: Site, { sheets }: Guide): string | undefined {
  return (sheets[language] ?? sheets.en).facts.get('label');
}

/**
 * What readers ask for who should find a part of the documentation: words of other services, of the
 * question instead of the answer, and German ones. By the path of the English page with the part,
 * from the lines `search` of front matter. `search reference/me-get` names another page.
 */
export const phrases = once((): ReadonlyMap<string, string> => {
  const listed = readGuides().flatMap(({ path, sheets }) =>
    [...sheets.en.facts].flatMap(([name, value]) => {
      const [, part] = /^search ?(.*)$/.exec(name) ?? [];
      if (part === undefined) return [];
      const place = part.includes('/') ? `/docs/${part}` : `${path}${part && `#${part}`}`;
      return [[place, value] as const];
    }),
  );
  return new Map(listed);
});

const CHOICE = /^\{\{if local_receivers\}\}\n(.*?)^\{\{else\}\}\n(.*?)^\{\{end\}\}\n/gms;
const FACT = /\{\{(\w+)\}\}/g;
/** The argument may hold path parameters in braces. */
const DIRECTIVE = /^\{\{(\w+) ?(.*)\}\}$/gm;

/** It comes before all others that show requests. */
const FIRST = '/docs/quickstart';

function sourceOf(site: Site, { path, sheets }: Guide): string {
  const facts = factsOf(site);
  const chosen = (text: string): string =>
    `${text}\n`.replaceAll(CHOICE, site.allowsLocalReceivers ? '$1' : '$2');
  const english = chosen(sheets.en.text);
  const translated = sheets[site.language];
  const text = translated ? withCode(chosen(translated.text), english) : english;
  const directives = makeDirectives(site, { showsAll: path === FIRST, path: site.pathOf(path) });
  return withIds(text, english)
    .replaceAll(FACT, (match, name: string) => facts[name] ?? match)
    .replaceAll(DIRECTIVE, (_line, name: string, argument: string) => {
      const directive = directives[name];
      if (!directive) throw new Error(`${path}: nothing is called ${name}`);
      return joined('', directive(argument));
    });
}

/** Code has one source: where the English text has a block of it, the German one has `{{code}}`. */
function withCode(text: string, english: string): string {
  const blocks = english.match(/^```[\s\S]*?^```$/gm) ?? [];
  return text.replaceAll(/^\{\{code\}\}$/gm, () => blocks.shift() ?? '');
}

function factsOf({ apiUrl, language }: Site): Readonly<Record<string, string>> {
  return {
    api_url: apiUrl,
    client_package: PACKAGE_NAME,
    client_command: COMMAND,
    client_tarball: tarballOf(version),
    page_limit_default: String(PAGE_LIMIT_DEFAULT),
    page_limit_max: String(PAGE_LIMIT_MAX),
    poll_overlap: POLL_OVERLAP[language],
    personal_fields: listFields(PERSONAL_EVENT_FIELDS, language),
    event_version: EVENT_API_VERSION,
  };
}
