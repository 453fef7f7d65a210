import { block } from '../block.ts';
import { html } from '../html.ts';
import type { Page, Site } from '../page.ts';

export function notFoundPage({ prefix }: Site): Page {
  return {
    path: '/docs/not-found',
    title: 'Not found',
    description: 'There is no such page.',
    content: () => [
      block(
        () =>
          html`<p>
            There is no such page. Search above, or begin with the
            <a href="${prefix}/docs">introduction</a> or the
            <a href="${prefix}/docs/reference">API reference</a>.
          </p>`,
        '',
      ),
    ],
  };
}
