/** The page of one operation. */
import { block, briefly, codeBlock, columns, heading, repeated, type Block } from '../block.ts';
import { html } from '../html.ts';
import { PROBLEMS } from '../../core/problem.ts';
import { tableHtml } from '../markdown.ts';
import type { Page, Site } from '../page.ts';
import { jsonText } from '../samples/literals.ts';
import { sampleRequest } from '../samples/sample-request.ts';
import { requestTabs } from '../samples/sample-tabs.ts';
import { fieldList, fieldsOf, fieldsText } from './fields.ts';
import { methodBadge } from './operation-list.ts';
import { ownErrors } from './conventions.ts';
import { itemNameOf, type Operation, type Parameter } from './operations.ts';
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
          // The path names them.
          ...repeated(parameterList(site, operation, 'path', 'Path parameters')),
          ...parameterList(site, operation, 'query', 'Query parameters'),
          ...body(site, operation),
          ...repeated(parameterList(site, operation, 'header', 'Headers')),
          ...response(site, operation),
        ],
        below: errors(site, operation),
      }),
  };
}

/** Method, path and scope. */
function address({ method, path, scope, isDeprecated }: Operation): Block {
  const needed =
    scope === null ? html`Needs no scope.` : html`Needs the scope <code>${scope}</code>.`;
  const ending = isDeprecated ? html` <strong class="deprecated">Deprecated.</strong>` : null;
  const name = `\`${method} ${path}\``;
  const scopeText = scope === null ? 'Needs no scope.' : `Needs the scope \`${scope}\`.`;
  const brief = `${name} ${scope === null ? 'No scope.' : `Scope \`${scope}\`.`}`;
  const end = isDeprecated ? ['**Deprecated.**'] : [];
  return block(
    () =>
      html`<p class="address">
          ${methodBadge(method)} <code>${path}</code> <a class="try-link" href="#try">Try it</a>
        </p>
        <p class="scope">${needed}${ending}</p>`,
    ({ hasAllPages = false }) =>
      hasAllPages ? [brief, ...end].join(' ') : [name, scopeText, ...end].join('\n\n'),
  );
}

/** Who reads all pages knows from the guides how to send a request, and from the fields what. */
function samples(site: Site, operation: Operation): Block[] {
  const request = sampleRequest(operation, site);
  return repeated([heading(2, 'Request', 'request'), requestTabs(request, site.language)]);
}

function answer({ success }: Operation): Block[] {
  return repeated([codeBlock(`Response ${success.status}`, jsonText(success.example), 'json')]);
}

/** The same in each list that has pages. The guide about them tells it. */
const PAGING = new Set(['cursor', 'limit']);

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
      isSent: true,
    }));
  if (fields.length === 0) return [];
  const own = fields.filter(({ name }) => !PAGING.has(name));
  const brief =
    own.length === 0
      ? ''
      : `${title.replace(' parameters', '')}:\n\n${fieldsText(site, own, true)}`;
  const list = fieldList(site, wanted, fields);
  return [...repeated([heading(2, title, `${wanted}-parameters`)]), briefly(list, brief)];
}

function body(site: Site, { body: one }: Operation): Block[] {
  if (one === null) return [];
  const list = fieldList(site, 'body', fieldsOf(one.schema, true));
  return [briefly(heading(2, 'Body', 'body'), 'Body:'), list];
}

function response(site: Site, { success }: Operation): Block[] {
  const item = itemNameOf(success);
  const name = item ?? success.name;
  const link = `[${name}](${pathOfObject(name)})`;
  const text = item === null ? link : `a page of ${link}`;
  const description = `${success.status}: ${success.description}`;
  const intro = site.markdown.block(`${description} The body is ${text}.`);
  const fields = fieldList(site, 'response', fieldsOf(success.schema, false));
  return [
    ...repeated([heading(2, 'Response', 'response')]),
    briefly(intro, `${description.replace(' Done.', '')} ${text}.`),
    ...repeated([fields]),
  ];
}

function errors(site: Site, operation: Operation): Block[] {
  const list = operation.errors;
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
  return [...repeated([heading(2, 'Errors', 'errors')]), briefly(table, ownErrorsText(operation))];
}

const USUAL_CAUSES: ReadonlyMap<string, string> = new Map(
  Object.entries(PROBLEMS).map(([code, { cause }]) => [code, cause.en]),
);

/** A cause that the code has everywhere is on the page of errors. */
function ownErrorsText(operation: Operation): string {
  const list = ownErrors(operation).map(({ status, code, cause }) =>
    cause === USUAL_CAUSES.get(code) ? `${status} \`${code}\`.` : `${status} \`${code}\`: ${cause}`,
  );
  return list.length === 0 ? '' : `Errors: ${list.join(' ')}`;
}
