/** What each release brought, and which versions there are. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVENT_API_VERSION } from '../core/events.ts';
import { withIds } from './markdown.ts';
import type { Site } from './page.ts';
import { pathOfOperation } from './reference/paths.ts';

const FILE = join(import.meta.dirname, '../../CHANGELOG.md');

/** What the sections for other readers begin with. */
const OTHERS = /^(?:Operators|Contributors)/;

/** The changelog of the project, without its title and without what is not for customers. */
export function releases(): string {
  const [, ...all] = readFileSync(FILE, 'utf8').split(/^## /m);
  const shown = all.map((release) => {
    const [title = '', ...sections] = release.split(/^### /m);
    const own = sections.filter((section) => !OTHERS.test(section));
    return [`## ${title.replace(/^\[(.*?)\]/, '$1')}`, ...own].join('### ').trim();
  });
  return withIds(shown.join('\n\n'));
}

/** Which versions exist, and when they end. */
export function versions({ document, reference, deprecation }: Site): string {
  const ended = reference.operations.filter((operation) => operation.isDeprecated);
  const list = ended.map(
    ({ slug, method, path, summary }) =>
      `- [${summary}](${pathOfOperation(slug)}): \`${method} ${path}\``,
  );
  return withIds(`
## Versions of the API

| Version | Status | Deprecated from | May be gone from |
| --- | --- | --- | --- |
${
  deprecation === null
    ? '| v1 | current | – | – |'
    : `| v1 | deprecated | ${deprecation.since} | ${deprecation.sunset} |`
}

[openapi.v1.json](/api/public/v1/openapi.v1.json) has the version ${document.info.version}.

## Versions of events

| Version | Status |
| --- | --- |
| ${EVENT_API_VERSION} | current: new webhook endpoints get it |

## Deprecated operations

${list.length === 0 ? 'There are none.' : list.join('\n')}`);
}
