/** A list of operations with links to their pages. */
import { block, type Block } from '../block.ts';
import { html, type Html } from '../html.ts';
import type { Site } from '../page.ts';
import type { Operation } from './operations.ts';
import { pathOfOperation } from './paths.ts';

export function operationList(site: Site, operations: readonly Operation[]): Block {
  return block(
    () =>
      html`<ul class="operations">
        ${operations.map(
          ({ slug, method, path, summary }) =>
            html`<li>
              ${methodBadge(method)} <a href="${site.prefix}${pathOfOperation(slug)}">${summary}</a>
              <code>${path}</code>
            </li> `,
        )}
      </ul>`,
    operations
      .map(
        ({ slug, method, path, summary, scope }) =>
          `- [${summary}](${pathOfOperation(slug)}): \`${method} ${path}\`` +
          (scope === null ? '' : `, scope \`${scope}\``),
      )
      .join('\n'),
  );
}

export function methodBadge(method: string): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`;
}
