/** What the Python client needs of the OpenAPI document, and how Python writes names and text. */
import type { oas31 } from 'zod-openapi';

/** A schema as our document has it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

export type Schemas = Readonly<Record<string, Schema>>;

export function schemasOf({ components }: oas31.OpenAPIObject): Schemas {
  return (components?.schemas ?? {}) as Schemas;
}

/** Returns the name behind `#/components/schemas/`. */
export function nameOfRef(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}

/** `next_cursor` → `NextCursor`, `listEndpoints` → `ListEndpoints`. */
export function toClassName(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

const KEYWORDS = new Set(
  `False None True and as assert async await break class continue def del elif else except finally
   for from global if import in is lambda nonlocal not or pass raise return try while with
   yield`.split(/\s+/),
);

/** Whether a name can be written as it is. */
export function isIdentifier(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !KEYWORDS.has(name);
}

/** A text as a literal of Python. JSON has the same escapes, and no others. */
export function literal(text: string): string {
  return JSON.stringify(text);
}

/** A docstring with its line end, wrapped. */
export function docstring(paragraphs: readonly string[], indent: string): string {
  const lines = paragraphs
    .filter((text) => text !== '')
    .flatMap((text, index) => [...(index > 0 ? [''] : []), ...wrap(text, 95 - indent.length)]);
  const [first = '', ...more] = lines.map((line) =>
    line.replaceAll('\\', '\\\\').replaceAll('"""', '\\"\\"\\"'),
  );
  // A quotation mark at the end would end the docstring too early.
  if (more.length === 0 && !first.endsWith('"')) return `${indent}"""${first}"""\n`;
  const rest = more.map((line) => (line === '' ? '\n' : `${indent}${line}\n`)).join('');
  return `${indent}"""${first}\n${rest}${indent}"""\n`;
}

function wrap(text: string, columns: number): string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines: string[] = [];
    for (const word of paragraph.split(' ')) {
      const last = lines.at(-1);
      if (last === undefined || last.length + 1 + word.length > columns) lines.push(word);
      else lines[lines.length - 1] = `${last} ${word}`;
    }
    return lines;
  });
}
