/**
 * The guides: Markdown files in `guides/`. Two things are replaced in them:
 *  * `{{name}}` within a line, by a fact of the service (`factsOf`);
 *  * a line that is only `{{name argument}}`, by a block (`makeDirectives`).
 * An unknown name throws, so a test that renders all guides finds it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVENT_API_VERSION, PERSONAL_EVENT_FIELDS } from '../../core/events.ts';
import { COMMAND, PACKAGE_NAME, tarballOf } from '../../client/package-name.ts';
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../../core/page.ts';
import { listFields } from '../openapi/webhooks.ts';
import type { Block } from './block.ts';
import { makeDirectives } from './directives.ts';
import type { Page, Site } from './page.ts';

const { version } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'),
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
  const { path, title, description, file } = guide;
  return { path, title, description, content: () => [...readGuide(site, file), ...after()] };
}

const FACT = /\{\{(\w+)\}\}/g;
/** The argument may hold path parameters in braces. */
const DIRECTIVE = /^\{\{(\w+) ?(.*)\}\}$/gm;

/** It comes before all others that show requests. */
const FIRST = 'quickstart.md';

function readGuide(site: Site, file: string): Block[] {
  const source = readFileSync(join(import.meta.dirname, 'guides', file), 'utf8');
  const facts = factsOf(site);
  const text = source.replaceAll(FACT, (match, name: string) => facts[name] ?? match);
  const directives = makeDirectives(site, { showsAll: file === FIRST });
  // `split` by an expression with two groups yields text, name, argument, text, name, …
  return text.split(DIRECTIVE).flatMap((part, index, parts) => {
    if (index % 3 === 0) return part.trim() === '' ? [] : [site.markdown.block(part.trim())];
    if (index % 3 === 2) return [];
    const directive = directives[part];
    if (!directive) throw new Error(`guides/${file}: nothing is called ${part}`);
    return [directive(parts[index + 1] ?? '')];
  });
}

function factsOf({ apiUrl }: Site): Readonly<Record<string, string>> {
  return {
    api_url: apiUrl,
    client_package: PACKAGE_NAME,
    client_command: COMMAND,
    client_tarball: tarballOf(version),
    page_limit_default: String(PAGE_LIMIT_DEFAULT),
    page_limit_max: String(PAGE_LIMIT_MAX),
    personal_fields: listFields(PERSONAL_EVENT_FIELDS),
    event_version: EVENT_API_VERSION,
  };
}
