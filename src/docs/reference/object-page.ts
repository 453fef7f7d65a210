/** The page of one object: its fields, an example, and the operations that return it. */
import { codeBlock, columns, heading, repeated, type Block } from '../block.ts';
import type { Page, Site } from '../page.ts';
import { jsonText } from '../samples/literals.ts';
import { fieldList, fieldsOf } from './fields.ts';
import { operationList } from './operation-list.ts';
import { itemNameOf, type Operation } from './operations.ts';
import { pathOfObject } from './paths.ts';

export function objectPage(site: Site, name: string): Page {
  const { schemas, operations } = site.reference;
  const schema = schemas[name] ?? {};
  const returning = operations.filter(
    ({ success }) => success.name === name || itemNameOf(success) === name,
  );
  return {
    path: pathOfObject(name),
    title: name,
    description: schema.description ?? `The fields of the object ${name}.`,
    isWide: true,
    content: () =>
      columns({
        intro: schema.description === undefined ? [] : [site.markdown.block(schema.description)],
        // The fields say what is in it, and the guides have examples of the form.
        beside: repeated([example(site, name, returning)]),
        rest: [
          ...repeated([heading(2, 'Fields', 'fields')]),
          fieldList(site, 'field', fieldsOf(schema, false)),
          ...repeated(usedBy(site, returning)),
        ],
      }),
  };
}

function usedBy(site: Site, returning: readonly Operation[]): Block[] {
  if (returning.length === 0) return [];
  return [heading(2, 'Operations', 'operations'), operationList(site, returning)];
}

function example(site: Site, name: string, returning: readonly Operation[]): Block {
  const [operation] = returning;
  const value = operation ? exampleOf(operation, name) : problemExample(site);
  return codeBlock('Example', jsonText(value), 'json');
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
