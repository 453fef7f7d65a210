/**
 * The guides: Markdown files in `guides/`. Three things are replaced in them:
 *  * lines between `{{if local_receivers}}`, `{{else}}` and `{{end}}`: the first part stays where
 *    webhooks may go to `http://localhost`, and else the second one;
 *  * `{{name}}` within a line, by a fact of the service (`factsOf`);
 *  * a line that is only `{{name argument}}`, by a block (`makeDirectives`).
 * An unknown name throws, so a test that renders all guides finds it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVENT_API_VERSION, PERSONAL_EVENT_FIELDS } from '../core/events.ts';
import type { Language } from '../core/language.ts';
import { COMMAND, PACKAGE_NAME, tarballOf } from '../client/package-name.ts';
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../core/page.ts';
import { POLL_OVERLAP } from '../core/polling.ts';
import { listFields } from '../http/openapi/webhooks.ts';
import type { Block } from './block.ts';
import { makeDirectives } from './directives.ts';
import type { Page, Site } from './page.ts';

const { version } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
) as { readonly version: string };

interface Guide {
  readonly path: string;
  readonly file: string;
  readonly title: string;
  readonly description: string;
}

/** Makes the page of a guide. `after` adds blocks that are not in the file. */
export function guidePage(
  site: Site,
  guide: Guide,
  after: () => readonly Block[] = () => [],
): Page {
  const { path, title, description } = guide;
  return { path, title, description, content: () => [...readGuide(site, guide), ...after()] };
}

/** The file of the guide with this path. */
export function guideFileOf(path: string): string {
  return `${path === '/docs' ? 'introduction' : path.replace('/docs/', '')}.md`;
}

const CHOICE = /^\{\{if local_receivers\}\}\n(.*?)^\{\{else\}\}\n(.*?)^\{\{end\}\}\n/gms;
const FACT = /\{\{(\w+)\}\}/g;
/** The argument may hold path parameters in braces. */
const DIRECTIVE = /^\{\{(\w+) ?(.*)\}\}$/gm;

/** It comes before all others that show requests. */
const FIRST = 'quickstart.md';

function readGuide(site: Site, { file, path }: Guide): Block[] {
  const facts = factsOf(site);
  const partsIn = (language: Language): string[] =>
    readSource(language, file)
      .replaceAll(CHOICE, site.allowsLocalReceivers ? '$1' : '$2')
      .replaceAll(FACT, (match, name: string) => facts[name] ?? match)
      // With two groups, this yields text, name, argument, text, name, …
      .split(DIRECTIVE);
  const directives = makeDirectives(site, { showsAll: file === FIRST, path });
  const english = partsIn('en');
  return partsIn(site.language).flatMap((part, index, parts) => {
    if (index % 3 === 0)
      return part.trim() === '' ? [] : [site.markdown.block(part.trim(), english[index])];
    if (index % 3 === 2) return [];
    const directive = directives[part];
    if (!directive) throw new Error(`guides/${file}: nothing is called ${part}`);
    return [directive(parts[index + 1] ?? '')];
  });
}

/**
 * Reads the text of a guide. Code has one source: where the English text has a block of it, the
 * German one has `{{code}}`.
 */
function readSource(language: Language, file: string): string {
  const read = (name: string): string =>
    readFileSync(join(import.meta.dirname, 'guides', name), 'utf8');
  const english = read(file);
  if (language === 'en') return english;
  const blocks = english.match(/^```[\s\S]*?^```$/gm) ?? [];
  return read(join(language, file)).replaceAll(/^\{\{code\}\}$/gm, () => blocks.shift() ?? '');
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
