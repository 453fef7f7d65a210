import { EVENT_API_VERSION } from '../../core/events.ts';
import type { Page, Site } from '../page.ts';
import { pathOfOperation } from '../reference/paths.ts';

/** Which versions exist and when they end. */
export function versionsPage(site: Site): Page {
  return {
    path: '/docs/versions',
    title: 'Status of versions',
    description: 'Which versions of the API and of events exist, and when they end.',
    content: () => [site.markdown.block(versions(site))],
  };
}

/** Returns the text in Markdown. */
function versions({ document, reference, deprecation }: Site): string {
  const ended = reference.operations.filter((operation) => operation.isDeprecated);
  const list = ended.map(
    ({ slug, method, path, summary }) =>
      `- [${summary}](${pathOfOperation(slug)}): \`${method} ${path}\``,
  );
  return [
    '## Versions of the API',
    [
      '| Version | Status | Deprecated from | May be gone from |',
      '| --- | --- | --- | --- |',
      deprecation === null
        ? '| v1 | current | – | – |'
        : `| v1 | deprecated | ${deprecation.since} | ${deprecation.sunset} |`,
    ].join('\n'),
    `[openapi.v1.json](/api/public/v1/openapi.v1.json) has the version ${document.info.version}.`,
    '## Versions of events',
    [
      '| Version | Status |',
      '| --- | --- |',
      `| ${EVENT_API_VERSION} | current: new webhook endpoints get it |`,
    ].join('\n'),
    '## Deprecated operations',
    list.length === 0 ? 'There are none.' : list.join('\n'),
    '[Versioning and deprecation](/docs/versioning) explains what the words mean.',
  ].join('\n\n');
}
