/** The pages of the reference, written as Markdown from the OpenAPI document. */
import { PROBLEMS } from '../../core/problem.ts';
import { container, fence, joined } from '../markdown.ts';
import type { Page, Site } from '../page.ts';
import { jsonText } from '../samples/literals.ts';
import { requestSamples } from '../samples/programs.ts';
import { sampleRequest } from '../samples/sample-request.ts';
import { slugOf } from '../slug.ts';
import { ownErrors } from './conventions.ts';
import { fieldList, fieldsOf } from './fields.ts';
import { itemNameOf, objectNames, type Operation, type Parameter } from './operations.ts';
import { pathOfObject, pathOfOperation } from './paths.ts';
import { tryForm } from './try-form.ts';

/** For who reads a page, not all at once: these know it from another page. */
const repeated = (...parts: readonly string[]): string =>
  container('only page twin', joined(...parts));
/** For who reads all pages at once. */
const brief = (text: string): string => container('only all', text);

export function operationPage(site: Site, operation: Operation): Page {
  const { summary, method, path, success } = operation;
  return {
    path: pathOfOperation(operation.slug),
    title: summary,
    description: `${method} ${path}: ${operation.description.split('\n')[0] ?? ''}`,
    isWide: true,
    source: () =>
      joined(
        container('intro', joined(address(operation), operation.description)),
        container(
          'beside',
          joined(
            repeated('## Request {#request}', requestSamples(sampleRequest(operation, site))),
            tryForm(site, operation),
            repeated(fence(jsonText(success.example), 'json', `Response ${success.status}`)),
          ),
        ),
        container(
          'rest',
          joined(
            // The path names them.
            repeated(parameters(site, operation, 'path', 'Path parameters')),
            parameters(site, operation, 'query', 'Query parameters'),
            body(site, operation),
            repeated(parameters(site, operation, 'header', 'Headers')),
            response(site, operation),
          ),
        ),
        container('below', errors(operation)),
      ),
  };
}

/** Method, path and scope. */
function address({ method, path, scope, isDeprecated }: Operation): string {
  const ending = isDeprecated ? ' **Deprecated.**' : '';
  const needed = scope === null ? 'Needs no scope.' : `Needs the scope \`${scope}\`.`;
  return joined(
    repeated(container('address', `\`${method} ${path}\``), needed + ending),
    brief(`\`${method} ${path}\` ${scope === null ? 'No scope.' : `Scope \`${scope}\`.`}${ending}`),
  );
}

/** The same in each list that has pages. The guide about them tells it. */
const PAGING = new Set(['cursor', 'limit']);

function parameters(
  site: Site,
  operation: Operation,
  wanted: Parameter['place'],
  title: string,
): string {
  const fields = operation.parameters
    .filter(({ place }) => place === wanted)
    .map(({ name, schema, required, description, example }) => ({
      name,
      schema: example === null ? schema : { ...schema, examples: [example] },
      required,
      description,
      isSent: true,
    }));
  if (fields.length === 0) return '';
  const whole = joined(`## ${title} {#${wanted}-parameters}`, fieldList(site, wanted, fields));
  if (wanted !== 'query') return whole;
  const own = fields.filter(({ name }) => !PAGING.has(name));
  return joined(
    repeated(whole),
    own.length === 0 ? '' : brief(joined('Query:', fieldList(site, wanted, own))),
  );
}

function body(site: Site, { body: one }: Operation): string {
  if (one === null) return '';
  const list = fieldList(site, 'body', fieldsOf(one.schema, true));
  return joined(repeated('## Body {#body}'), brief('Body:'), list);
}

function response(site: Site, { success }: Operation): string {
  const item = itemNameOf(success);
  const name = item ?? success.name;
  const link = `[${name}](${pathOfObject(name)})`;
  const text = item === null ? link : `a page of ${link}`;
  const description = `${success.status}: ${success.description}`;
  return joined(
    repeated(
      '## Response {#response}',
      `${description} The body is ${text}.`,
      fieldList(site, 'response', fieldsOf(success.schema, false)),
    ),
    brief(`${description.replace(' Done.', '')} ${text}.`),
  );
}

function errors(operation: Operation): string {
  const rows = operation.errors.map(
    ({ status, code, cause }) => `| ${status} | [\`${code}\`](/docs/errors#${code}) | ${cause} |`,
  );
  return joined(
    repeated(
      '## Errors {#errors}',
      ['| Status | Code | Cause |', '| --- | --- | --- |', ...rows].join('\n'),
    ),
    brief(ownErrorsText(operation)),
  );
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

export function objectPage(site: Site, name: string): Page {
  const { schemas, operations } = site.reference;
  const schema = schemas[name] ?? {};
  const returning = operations.filter(
    ({ success }) => success.name === name || itemNameOf(success) === name,
  );
  const [first] = returning;
  const example = first ? exampleOf(first, name) : problemExample(site);
  return {
    path: pathOfObject(name),
    title: name,
    description: schema.description ?? `The fields of the object ${name}.`,
    isWide: true,
    source: () =>
      joined(
        container('intro', schema.description ?? ''),
        // The fields say what is in it, and the guides have examples of the form.
        container('beside', repeated(fence(jsonText(example), 'json', 'Example'))),
        container(
          'rest',
          joined(
            repeated('## Fields {#fields}'),
            fieldList(site, 'field', fieldsOf(schema, false)),
            returning.length === 0
              ? ''
              : repeated('## Operations {#operations}', operationList(returning)),
          ),
        ),
      ),
  };
}

function exampleOf({ success }: Operation, name: string): unknown {
  if (success.name === name) return success.example;
  return (success.example as { data: unknown[] }).data[0];
}

function problemExample({ publicUrl }: Site): object {
  return {
    type: `${publicUrl}/docs/errors#not_found`,
    title: 'Not found',
    status: 404,
    code: 'not_found',
    request_id: '0193a1b2-7c4d-7e5f-8a6b-1c2d3e4f5a6b',
  };
}

function operationList(operations: readonly Operation[]): string {
  const lines = operations.map(
    ({ slug, method, path, summary, scope }) =>
      `- [${summary}](${pathOfOperation(slug)}): \`${method} ${path}\`` +
      (scope === null ? '' : `, scope \`${scope}\``),
  );
  return container('operations', lines.join('\n'));
}

/** All operations by resource, and all objects. */
export function operationIndex({ reference }: Site): string {
  const { tags, operations } = reference;
  const objects = objectNames(reference).map((name) => `- [${name}](${pathOfObject(name)})`);
  return joined(
    ...tags.map(({ name, description }) =>
      joined(
        `## ${name} {#${slugOf(name)}}`,
        description,
        repeated(operationList(operations.filter(({ tag }) => tag === name))),
      ),
    ),
    repeated('## Objects {#objects}', container('names', objects.join('\n'))),
  );
}
