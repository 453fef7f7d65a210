/** The index of all operations by resource. */
import { block, heading, repeated, type Block } from '../block.ts';
import { html } from '../html.ts';
import type { Page, Site } from '../page.ts';
import { slugOf } from '../slug.ts';
import { objectNames } from './operations.ts';
import { operationList } from './operation-list.ts';
import { pathOfObject, REFERENCE_PATH } from './paths.ts';

const INTRODUCTION = `
Every operation has a page with its parameters, its response, every error, and code samples. You can
call it from there with your own key. The same as a file for programs:
[openapi.v1.json](/api/public/v1/openapi.v1.json) (OpenAPI 3.1).
`.trim();

export function referenceIndex(site: Site): Page {
  const { tags, operations } = site.reference;
  return {
    path: REFERENCE_PATH,
    title: 'API reference',
    description: 'All operations by resource, and all objects.',
    content: () => [
      ...repeated([site.markdown.block(`${INTRODUCTION}\n\n\`\`\`\n${site.apiUrl}\n\`\`\``)]),
      ...tags.flatMap(({ name, description }) => [
        heading(2, name, slugOf(name)),
        site.markdown.block(description),
        ...repeated([
          operationList(
            site,
            operations.filter(({ tag }) => tag === name),
          ),
        ]),
      ]),
      ...repeated([heading(2, 'Objects', 'objects'), objectList(site)]),
    ],
  };
}

function objectList(site: Site): Block {
  const names = objectNames(site.reference);
  const link = (name: string) =>
    html`<li><a href="${site.prefix}${pathOfObject(name)}">${name}</a></li> `;
  return block(
    () =>
      html`<ul class="names">
        ${names.map(link)}
      </ul>`,
    names.map((name) => `- [${name}](${pathOfObject(name)})`).join('\n'),
  );
}
