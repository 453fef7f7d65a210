/** What our client package knows about the API: types and a table, from the OpenAPI document. */
import openapiTS, { astToString } from 'openapi-typescript';
import type { oas31 } from 'zod-openapi';

type Operation = oas31.OperationObject;

/** Stands for the type of an event, which is that of webhooks: a union by `type`. */
const EVENT = 'an event';
const EVENT_SCHEMA: oas31.SchemaObject = {
  type: 'string',
  enum: [EVENT],
  description: 'Something that happened in the team. Narrow it by `type`.',
};

const HEAD = '// Written by `npm ci` and `npm run openapi` from openapi.v1.json. Do not edit.\n';

/** Returns the written files of src/client: name → text. */
export async function clientFiles(
  document: oas31.OpenAPIObject,
): Promise<Readonly<Record<string, string>>> {
  return {
    'operations.ts': await operationsText(document),
    'webhook-events.ts': await eventsText(document),
  };
}

async function operationsText(document: oas31.OpenAPIObject): Promise<string> {
  const reduced = reduce(document);
  const types = await typesOf(reduced);
  return `${HEAD}import type { WebhookEvent } from './webhook-delivery.ts';

${types.replaceAll(`"${EVENT}"`, 'WebhookEvent')}
${modelsOf(reduced)}
/** Method and path of each operation, by the name that the client gives it. */
export const OPERATIONS = {
${tableOf(document)}} as const;
`;
}

async function eventsText(document: oas31.OpenAPIObject): Promise<string> {
  const { components, webhooks = {} } = document;
  const properties = Object.entries(webhooks).map(([type, item]) => {
    const { operationId = '', description = '' } = (item as { readonly post: Operation }).post;
    const event = components?.schemas?.[operationId.replace(/^on/, '')] as oas31.SchemaObject;
    const [about = ''] = description.split('\n');
    const data = { ...event.properties?.['data'], description: about };
    return [type, data] as const;
  });
  const schema: oas31.SchemaObject = {
    type: 'object',
    description:
      'The fields of `data`, by event type. A later version of the API may add fields and types, ' +
      'but does not remove any.',
    properties: Object.fromEntries(properties),
    required: Object.keys(webhooks),
  };
  const described = { ...reduce(document), paths: {}, components: { schemas: { [DATA]: schema } } };
  return `${HEAD}${await typesOf(described)}${modelsOf(described)}`;
}

const DATA = 'WebhookEventData';

async function typesOf(document: oas31.OpenAPIObject): Promise<string> {
  const nodes = await openapiTS(JSON.stringify(document), {
    // What has a default may be left out of a body. Of a response it is always there.
    defaultNonNullable: false,
  });
  const wanted = nodes.filter((node) =>
    ['components', 'operations'].includes((node as { name?: { text?: string } }).name?.text ?? ''),
  );
  // A union of known values and `string` is `string` to TypeScript, and editors show nothing.
  return astToString(wanted).replaceAll(/(?<=[")]) \| \(?string\b(?: \| null\))?/g, (text) =>
    text.includes('null') ? ' | (string & {}) | null' : ' | (string & {})',
  );
}

/**
 * Leaves out what types do not need: problems are one type, and the client sets the headers. Values
 * of `Accept-Language` and `Idempotency-Key` are options of the client.
 */
function reduce(document: oas31.OpenAPIObject): oas31.OpenAPIObject {
  const { schemas = {} } = document.components ?? {};
  const described = Object.entries(schemas).filter(([name]) => !name.endsWith('Event'));
  return {
    openapi: document.openapi,
    info: { title: '', version: '' },
    paths: Object.fromEntries(
      Object.entries(document.paths ?? {}).map(([path, item]) => [
        path,
        Object.fromEntries(
          Object.entries(item as Record<string, Operation>).map(([method, operation]) => [
            method,
            reduceOperation(operation),
          ]),
        ),
      ]),
    ),
    components: { schemas: { ...Object.fromEntries(described), Event: EVENT_SCHEMA } },
  };
}

function reduceOperation({ operationId, summary, description, ...rest }: Operation): Operation {
  const { parameters = [], requestBody, responses = {} } = rest;
  const successes = Object.entries(responses).filter(([status]) => status < '300');
  return {
    ...(operationId === undefined ? {} : { operationId }),
    ...(summary === undefined ? {} : { summary }),
    ...(description === undefined ? {} : { description }),
    parameters: parameters.filter((one) => 'in' in one && one.in !== 'header'),
    ...(requestBody === undefined ? {} : { requestBody }),
    responses: Object.fromEntries(
      successes.map(([status, response]) => {
        const { headers: _headers, ...others } = response as oas31.ResponseObject;
        return [status, others];
      }),
    ),
  };
}

/** `export type Training = components['schemas']['Training'];`, for each model. */
function modelsOf({ components }: oas31.OpenAPIObject): string {
  return Object.entries(components?.schemas ?? {})
    .map(([name, { description = '' }]) => {
      const about = description.split(/\n+/).map((line) => ` * ${line}\n`);
      return `/**\n${about.join('')} */\nexport type ${name} = components['schemas']['${name}'];\n`;
    })
    .join('');
}

/** `members: { list: ['membersList', 'GET', '/users'] }`, each with what editors show of it. */
function tableOf({ paths = {} }: oas31.OpenAPIObject): string {
  const entries = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => {
      const { operationId = '', summary = '', description = '' } = operation;
      const [, group = '', first = '', rest = ''] = /^([a-z]+)([A-Z])(.*)$/.exec(operationId) ?? [];
      const entry = [operationId, method.toUpperCase(), path];
      const about = [`${summary}.`, ...description.split(/\n+/)].map((line) => `     * ${line}\n`);
      const name = first.toLowerCase() + rest;
      const text = `    /**\n${about.join('')}     */\n    ${name}: ${JSON.stringify(entry)},\n`;
      return { group, text };
    }),
  );
  const groups = Map.groupBy(entries, ({ group }) => group);
  return [...groups]
    .map(([group, of]) => `  ${group}: {\n${of.map(({ text }) => text).join('')}  },\n`)
    .join('');
}
