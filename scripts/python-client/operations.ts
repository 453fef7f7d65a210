/** The operations of the Python client: a class for each group, once for asyncio and once not. */
import type { oas31 } from 'zod-openapi';
import {
  docstring,
  isIdentifier,
  literal,
  nameOfRef,
  schemasOf,
  toClassName,
  type Schema,
} from './schema.ts';
import { annotationOf, type Definitions } from './types.ts';

type Where = 'parameters' | 'query' | 'body';

interface Argument {
  /** The name on the wire. */
  readonly name: string;
  readonly python: string;
  readonly where: Where;
  readonly annotation: string;
  readonly isRequired: boolean;
  readonly about: string;
}

interface Operation {
  readonly group: string;
  readonly name: string;
  readonly tag: string;
  readonly method: string;
  readonly path: string;
  readonly about: readonly string[];
  readonly arguments: readonly Argument[];
  /** Whether there is always a body: one of no fields is `{}`. */
  readonly hasBody: boolean;
  readonly result: string;
  /** Of a list: its entries; null otherwise. */
  readonly entry: string | null;
}

/** Returns the text of _operations.py. Adds to `definitions` what only operations have. */
export function operationsModule(document: oas31.OpenAPIObject, definitions: Definitions): string {
  const operations = operationsOf(document, definitions);
  const groups = [...Map.groupBy(operations, ({ group }) => group)];
  const tags = new Map((document.tags ?? []).map((tag) => [tag.name, tag.description ?? '']));
  const classes = (['', 'Async'] as const).flatMap((prefix) =>
    groups.map(([group, of]) => {
      const about = tags.get(of[0]?.tag ?? '') || `The operations of ${group}.`;
      return `class ${classOf(group, prefix)}:
${docstring([about], '    ')}
    def __init__(self, caller: ${prefix}Caller) -> None:
        self._caller = caller

${of.map((operation) => methodOf(operation, prefix)).join('\n')}`;
    }),
  );
  const roots = (['', 'Async'] as const).map(
    (prefix) => `class ${prefix}Operations:
    """Every operation, by group."""

    def __init__(self, caller: ${prefix}Caller) -> None:
${groups.map(([group]) => `        self.${group} = ${classOf(group, prefix)}(caller)\n`).join('')}`,
  );
  const text = [...classes, ...roots].join('\n\n');
  const known = [...definitions.keys(), ...Object.keys(schemasOf(document))];
  const used = new Set([...text.matchAll(/\w+/g)].map(([word]) => word));
  const imported = [...new Set(known)].filter((name) => used.has(name)).toSorted();
  return `"""The operations of the API, from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal

from ._callers import AsyncCaller, Caller
from ._inputs import OMIT, Omitted
from ._pages import AsyncPagedList, PagedList
from .models import (
${imported.map((name) => `    ${name},\n`).join('')})


${text}`;
}

/** Models have the names of things, so these have others. */
function classOf(group: string, prefix: string): string {
  return `${prefix}${toClassName(group)}Operations`;
}

function operationsOf(document: oas31.OpenAPIObject, definitions: Definitions): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item as Record<string, oas31.OperationObject>).map(([method, operation]) => {
      const { operationId = '', summary = '', description = '', tags = [] } = operation;
      const [, group = '', rest = ''] = /^([a-z]+)([A-Z].*)$/.exec(operationId) ?? [];
      const className = toClassName(operationId);
      const success = successOf(operation);
      const result = annotationOf(success, {
        name: `${className}Result`,
        direction: 'received',
        definitions,
      });
      const entries = resolve(document, success).properties?.['data'];
      const isList = method === 'get' && entries?.type === 'array';
      return {
        group,
        name: toSnake(rest),
        tag: tags[0] ?? '',
        method: method.toUpperCase(),
        path,
        about: [`${summary}.`, ...description.split(/\n{2,}/)],
        arguments: argumentsOf(document, operation, { className, definitions }),
        hasBody: isBodyRequired(operation),
        result,
        entry: isList
          ? annotationOf(entries.items ?? {}, {
              name: `${result}Entry`,
              direction: 'received',
              definitions,
            })
          : null,
      };
    }),
  );
}

function argumentsOf(
  document: oas31.OpenAPIObject,
  operation: oas31.OperationObject,
  { className, definitions }: { className: string; definitions: Definitions },
): Argument[] {
  const make = (name: string, where: Where, schema: Schema, isRequired: boolean): Argument => ({
    name,
    python: isIdentifier(name) ? name : `${name}_`,
    where,
    annotation: annotationOf(schema, {
      name: className + toClassName(name),
      direction: 'sent',
      definitions,
    }),
    isRequired,
    about: schema.description ?? '',
  });
  const parameters = (operation.parameters ?? []).flatMap((one) => {
    if (!('in' in one) || one.in === 'header') return [];
    const schema = { ...(one.schema as Schema), description: one.description ?? '' };
    const where = one.in === 'path' ? 'parameters' : 'query';
    return [make(one.name, where, schema, one.required ?? false)];
  });
  const body = bodyOf(operation);
  const { properties = {}, required = [] } = body === null ? {} : resolve(document, body);
  // An object within the body has the name that its model gives it.
  const model = body?.$ref === undefined ? `${className}Body` : nameOfRef(body.$ref);
  const fields = Object.entries(properties).map(([name, schema]) => ({
    ...make(name, 'body', schema, required.includes(name)),
    annotation: annotationOf(schema, {
      name: model + toClassName(name),
      direction: 'sent',
      definitions,
    }),
  }));
  const all = [...parameters, ...fields];
  const names = new Set([...all.map(({ python }) => python), ...OPTIONS, 'self']);
  if (names.size !== all.length + OPTIONS.length + 1 || ![...names].every(isIdentifier))
    throw new Error(`${className}: two arguments have one name, or one has none`);
  return all.toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

/** Arguments that the client adds. */
const OPTIONS = ['idempotency_key', 'timeout_s'];

function methodOf(operation: Operation, prefix: '' | 'Async'): string {
  const { name, method, path, about, entry, result } = operation;
  const isAsync = prefix === 'Async';
  const given = operation.arguments;
  const signature = [
    ...given.map(parameterOf),
    ...(method === 'POST' ? ['idempotency_key: str | None = None'] : []),
    'timeout_s: float | None = None',
  ];
  const passed = [
    ...(entry === null ? [literal(method)] : []),
    literal(path),
    ...mapOf(given, 'parameters'),
    ...mapOf(given, 'query'),
    ...bodyArgument(operation),
    ...(method === 'POST' ? ['idempotency_key=idempotency_key'] : []),
    'timeout_s=timeout_s',
  ];
  const explained = given.filter((one) => one.about !== '');
  const list = explained.map((one) => `* \`${one.python}\`: ${one.about}`).join('\n');
  const returned = entry === null ? result : `${prefix}PagedList[${result}, ${entry}]`;
  const start = isAsync && entry === null ? ['async def', 'return await'] : ['def', 'return'];
  return `    ${start[0]} ${name}(
        self,
        *,
${signature.map((one) => `        ${one},\n`).join('')}    ) -> ${returned}:
${docstring([...about, list], '        ')}        ${start[1]} self._caller.${
    entry === null ? 'call' : 'list'
  }(
${passed.map((one) => `            ${one},\n`).join('')}        )
`;
}

/** In a query, None is left out. In a body it is null, so what is left out has its own value. */
function parameterOf({ python, where, annotation, isRequired }: Argument): string {
  if (isRequired) return `${python}: ${annotation}`;
  if (where === 'body') return `${python}: ${annotation} | Omitted = OMIT`;
  return `${python}: ${annotation.replace(/ \| None$/, '')} | None = None`;
}

function mapOf(given: readonly Argument[], where: Where): string[] {
  const entries = given
    .filter((one) => one.where === where)
    .map(({ name, python }) => `${literal(name)}: ${python}`);
  return entries.length === 0 ? [] : [`${where}={${entries.join(', ')}}`];
}

/** A body that need not be there is there if it has a field. */
function bodyArgument({ arguments: given, hasBody }: Operation): string[] {
  const [map] = mapOf(given, 'body');
  if (map === undefined) return hasBody ? ['body={}'] : [];
  return hasBody ? [map] : [`optional_${map}`];
}

function bodyOf({ requestBody }: oas31.OperationObject): Schema | null {
  if (requestBody === undefined || !('content' in requestBody)) return null;
  return (requestBody.content['application/json']?.schema as Schema | undefined) ?? null;
}

function isBodyRequired({ requestBody }: oas31.OperationObject): boolean {
  return requestBody !== undefined && 'required' in requestBody && requestBody.required === true;
}

function successOf({ operationId, responses = {} }: oas31.OperationObject): Schema {
  const [status] = Object.keys(responses).filter((one) => one.startsWith('2'));
  const response = responses[status as '200'];
  if (!response || !('content' in response)) throw new Error(`${operationId} returns nothing`);
  return response.content?.['application/json']?.schema as Schema;
}

function resolve(document: oas31.OpenAPIObject, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const found = schemasOf(document)[nameOfRef(schema.$ref)];
  if (!found) throw new Error(`${schema.$ref} is missing`);
  return found;
}

function toSnake(name: string): string {
  return name.replaceAll(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}
