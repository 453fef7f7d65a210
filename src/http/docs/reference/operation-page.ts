/** The page of one operation. */
import { block, codeBlock, columns, heading, repeated, type Block } from '../block.ts';
import { html } from '../html.ts';
import { tableHtml } from '../markdown.ts';
import type { Page, Site } from '../page.ts';
import { jsonText } from '../samples/literals.ts';
import { sampleRequest } from '../samples/sample-request.ts';
import { requestTabs } from '../samples/sample-tabs.ts';
import { fieldList, fieldsOf } from './fields.ts';
import { methodBadge } from './operation-list.ts';
import { itemNameOf, type Operation, type OperationError, type Parameter } from './operations.ts';
import { pathOfObject, pathOfOperation } from './paths.ts';
import { tryForm } from './try-form.ts';

export function operationPage(site: Site, operation: Operation): Page {
  const { summary, method, path } = operation;
  return {
    path: pathOfOperation(operation.slug),
    title: summary,
    description: `${method} ${path}: ${operation.description.split('\n')[0] ?? ''}`,
    isWide: true,
    content: () =>
      columns({
        intro: [address(operation), site.markdown.block(operation.description)],
        beside: [...samples(site, operation), ...tryForm(site, operation), ...answer(operation)],
        rest: [
          ...parameterList(site, operation, 'path', 'Path parameters'),
          ...parameterList(site, operation, 'query', 'Query parameters'),
          ...body(site, operation),
          ...repeated(parameterList(site, operation, 'header', 'Headers')),
          ...response(site, operation),
        ],
        below: repeated(errors(site, operation.errors)),
      }),
  };
}

/** Method, path and scope. */
function address({ method, path, scope, isDeprecated }: Operation): Block {
  const needed =
    scope === null ? html`Needs no scope.` : html`Needs the scope <code>${scope}</code>.`;
  const ending = isDeprecated ? html` <strong class="deprecated">Deprecated.</strong>` : null;
  return block(
    () =>
      html`<p class="address">
          ${methodBadge(method)} <code>${path}</code> <a class="try-link" href="#try">Try it</a>
        </p>
        <p class="scope">${needed}${ending}</p>`,
    [
      `\`${method} ${path}\``,
      scope === null ? 'Needs no scope.' : `Needs the scope \`${scope}\`.`,
      ...(isDeprecated ? ['**Deprecated.**'] : []),
    ].join('\n\n'),
  );
}

function samples(site: Site, operation: Operation): Block[] {
  return [
    heading(2, 'Request', 'request'),
    requestTabs(sampleRequest(operation, site), site.language),
  ];
}

function answer({ success }: Operation): Block[] {
  return repeated([codeBlock(`Response ${success.status}`, jsonText(success.example), 'json')]);
}

function parameterList(
  site: Site,
  { parameters }: Operation,
  wanted: Parameter['place'],
  title: string,
): Block[] {
  const fields = parameters
    .filter(({ place }) => place === wanted)
    .map(({ name, schema, required, description, example }) => ({
      name,
      schema: example === null ? schema : { ...schema, examples: [example] },
      required,
      description,
    }));
  return fields.length === 0
    ? []
    : [heading(2, title, `${wanted}-parameters`), fieldList(site, wanted, fields)];
}

function body(site: Site, { body: one }: Operation): Block[] {
  if (one === null) return [];
  return [heading(2, 'Body', 'body'), fieldList(site, 'body', fieldsOf(one.schema, true))];
}

function response(site: Site, { success }: Operation): Block[] {
  const item = itemNameOf(success);
  const name = item ?? success.name;
  const link = `[${name}](${pathOfObject(name)})`;
  const text = item === null ? link : `a page of ${link}`;
  const description = `${success.status}: ${success.description}`;
  const intro = site.markdown.block(`${description} The body is ${text}.`);
  const fields = fieldList(site, 'response', fieldsOf(success.schema, false));
  return [heading(2, 'Response', 'response'), intro, ...repeated([fields])];
}

function errors(site: Site, list: readonly OperationError[]): Block[] {
  const table = block(
    () =>
      tableHtml(
        html`<tr>
          <th scope="col">Status</th>
          <th scope="col">Code</th>
          <th scope="col">Cause</th>
        </tr>`,
        list.map(
          ({ status, code, cause }) =>
            html`<tr>
              <td>${status}</td>
              <td>
                <a href="${site.prefix}/docs/errors#${code}"><code>${code}</code></a>
              </td>
              <td>${site.markdown.inline(cause)}</td>
            </tr>`,
        ),
      ),
    [
      '| Status | Code | Cause |',
      '| --- | --- | --- |',
      ...list.map(({ status, code, cause }) => `| ${status} | \`${code}\` | ${cause} |`),
    ].join('\n'),
  );
  return [heading(2, 'Errors', 'errors'), table];
}
