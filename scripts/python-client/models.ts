/** The models of the Python client: a TypedDict for each object of the document. */
import type { oas31 } from 'zod-openapi';
import { literal, schemasOf, type Schemas } from './schema.ts';
import { annotationOf, type Definitions } from './types.ts';

/** Returns the text of models.py. `definitions` may hold more, as those of inline bodies. */
export function modelsModule(document: oas31.OpenAPIObject, definitions: Definitions): string {
  const schemas = schemasOf(document);
  const sent = namesSent(document);
  const aliases: string[] = [];
  for (const [name, schema] of Object.entries(schemas)) {
    const direction = sent.has(name) ? 'sent' : 'received';
    const annotation = annotationOf(schema, { name, direction, definitions });
    if (annotation !== name) aliases.push(`${name}: TypeAlias = ${literal(annotation)}\n`);
  }
  const events = eventNames(document, schemas);
  const union = `WebhookEvent: TypeAlias = Union[
${events.map((one) => `    ${one},\n`).join('')}]
"""What a delivery holds. Its \`type\` says what \`data\` is. Later versions may add types."""
`;
  const body = [...definitions.values(), ...aliases, union].join('\n\n');
  const moments = ['date', 'datetime'].filter((one) => new RegExp(`str \\| ${one}\\b`).test(body));
  const dates = moments.length > 0 ? `from datetime import ${moments.join(', ')}\n` : '';
  const names = [...definitions.keys(), ...aliases.map((one) => one.split(':')[0] ?? '')];
  return `"""The objects of the API: plain dicts, described for editors and type checkers.

Texts with known values accept others, too: later versions may add values and fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
${dates}from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, Union

__all__ = [
${[...names, 'WebhookEvent']
  .toSorted()
  .map((name) => `    ${literal(name)},\n`)
  .join('')}]


${body}`;
}

/** The schemas of bodies that callers send, with those that they refer to. */
function namesSent(document: oas31.OpenAPIObject): ReadonlySet<string> {
  const refsIn = (value: unknown): string[] =>
    [...JSON.stringify(value ?? null).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
      ([, name = '']) => name,
    );
  const operations = Object.values(document.paths ?? {}).flatMap((item) =>
    Object.values(item as Record<string, oas31.OperationObject>),
  );
  const reach = (names: readonly string[]): Set<string> => {
    const reached = new Set(names);
    for (const name of reached)
      for (const more of refsIn(schemasOf(document)[name])) reached.add(more);
    return reached;
  };
  const sent = reach(operations.flatMap(({ requestBody }) => refsIn(requestBody)));
  const received = reach(operations.flatMap(({ responses }) => refsIn(responses)));
  return new Set([...sent].filter((name) => !received.has(name)));
}

function eventNames({ webhooks = {} }: oas31.OpenAPIObject, schemas: Schemas): string[] {
  const found = JSON.stringify(webhooks).matchAll(/#\/components\/schemas\/(\w+Event)"/g);
  return [...new Set([...found].map(([, name = '']) => name))].filter((name) => name in schemas);
}
