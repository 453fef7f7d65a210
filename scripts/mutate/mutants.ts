// All mutants of the project, under names that stay the same while the code does.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadModule, parseSync } from 'libpg-query';
import { declaredStatements } from '../../src/db/statement.ts';
import { findCodeMutants, instrument, type CodeMutant } from './code-mutants.ts';
import { findSqlMutants } from './sql-mutants.ts';
import type { Pass } from './worker.ts';

/** Files whose TypeScript is mutated: decisions without IO. */
const CODE = [
  'src/core/*.ts',
  'src/**/{rules,*-rules}.ts',
  'src/delivery/{schedule,endpoint-queue,endpoint-queues,queues-state,claim-shares}.ts',
  'src/http/api/problem-response.ts',
  // The admin page, as far as it needs no document.
  'src/admin-ui/waiting.ts',
  'src/admin-ui/i18n/{formats,languages}.ts',
  'src/admin-ui/lib/{addresses,colors,days,escape,field-problems,host-choices,host-message}.ts',
  'src/admin-ui/lib/{host-places,ids,key-right,once,pages,preferences,problem,queries}.ts',
  'src/admin-ui/lib/{retries,search,session-rules,shell-facts,shown-first,status}.ts',
  'src/admin-ui/lib/{success,themes,toggled}.ts',
  'src/admin-ui/ui/*.ts',
  'src/admin-ui/pages/!(key-name|key-queries|overview-facts).ts',
];

export interface Mutant {
  /** `file › declaration › change`; equivalent.json names mutants so. */
  readonly id: string;
  readonly file: string;
  readonly line: number;
  /** Hash of what the mutant stands in; a result holds as long as it stays the same. */
  readonly context: string;
  readonly kind: 'code' | 'read' | 'write';
  /** What turns it on. */
  readonly on: Pick<Pass, 'code' | 'sql'>;
}

export interface InstrumentedCode {
  readonly mutants: readonly Mutant[];
  /** File → its text with all of its mutants. */
  readonly texts: ReadonlyMap<string, string>;
}

export function readCode(): InstrumentedCode {
  const texts = new Map<string, string>();
  const mutants: Mutant[] = [];
  for (const file of globSync(CODE).toSorted()) {
    const text = readFileSync(file, 'utf8');
    const found = findCodeMutants(file, text);
    const numbers = new Map(found.map((mutant, place) => [mutant, mutants.length + place]));
    texts.set(
      file,
      instrument(text, found, (mutant) => numbers.get(mutant) ?? -1),
    );
    const nameOf = numbered();
    for (const mutant of found) {
      const id = nameOf(`${file} › ${mutant.declaration} › ${describe(mutant)}`);
      const on = { code: mutants.length, sql: {} };
      const { line } = mutant;
      mutants.push({ id, file, line, context: hash(mutant.context), kind: 'code', on });
    }
  }
  return { mutants, texts };
}

function describe({ original, replacement }: CodeMutant): string {
  return `${shorten(original)} → ${shorten(replacement) || 'nothing'}`;
}

/** A statement's declaration; one with a computed name stands for all names that begin alike. */
export interface Declaration {
  readonly file: string;
  readonly line: number;
  readonly name: string;
  readonly isPrefix: boolean;
}

export function readDeclarations(): Declaration[] {
  return globSync('src/**/*.ts').flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    const calls = text.matchAll(/\bstatement(?:<.*?>)?\(\s*(['"`])([\w.]+)(\$\{)?/gs);
    return calls.toArray().map(({ index, 2: name = '', 3: rest }) => {
      const line = text.slice(0, index).split('\n').length;
      return { file, line, name, isPrefix: rest !== undefined };
    });
  });
}

export function declarationOf(
  declarations: readonly Declaration[],
  name: string,
): Declaration | undefined {
  const exact = declarations.find(
    (declaration) => !declaration.isPrefix && declaration.name === name,
  );
  const prefixes = declarations.filter(
    (declaration) => declaration.isPrefix && name.startsWith(declaration.name),
  );
  return exact ?? prefixes.toSorted((a, b) => b.name.length - a.name.length)[0];
}

/** Loads all stores. Name → text of every statement; those that no test runs count, too. */
export async function readStatements(
  declarations: readonly Declaration[],
): Promise<ReadonlyMap<string, string>> {
  await loadModule();
  for (const file of new Set(declarations.map((declaration) => declaration.file)))
    await import(resolve(file));
  return new Map(declaredStatements().map(({ name, text }) => [name, text]));
}

/**
 * `texts`: name → text of every statement. The variants of one declaration (a list
 * with this or that filter) have one mutant for each change, which is made in all that it fits.
 */
export function sqlMutants(
  declarations: readonly Declaration[],
  texts: ReadonlyMap<string, string>,
): Mutant[] {
  const changes = new Map<string, { declaration: Declaration; sql: Record<string, string> }>();
  for (const [name, text] of texts) {
    const declaration = declarationOf(declarations, name);
    if (!declaration) continue;
    for (const { change, text: mutated } of findSqlMutants(text)) {
      const id = `${declaration.file} › ${declaration.name} › ${change}`;
      const known = changes.get(id) ?? { declaration, sql: {} };
      known.sql[name] = mutated;
      changes.set(id, known);
    }
  }
  return [...changes].map(([id, { declaration, sql }]) => {
    const texts = Object.keys(sql)
      .toSorted()
      .map((name) => `${name}: ${sql[name]}`);
    const { file, line } = declaration;
    const kind = Object.values(sql).some(writes) ? 'write' : 'read';
    return { id, file, line, context: hash(texts.join('\n')), kind, on: { code: null, sql } };
  });
}

/** In any part of it, such as `with … as (delete …)`. Locks of rows write nothing that is read. */
function writes(text: string): boolean {
  return /"(Insert|Update|Delete|Merge)Stmt"/.test(JSON.stringify(parseSync(text)));
}

export function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

/** Tells apart what has the same name. */
function numbered(): (name: string) => string {
  const counts = new Map<string, number>();
  return (name) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count === 1 ? name : `${name} (${count})`;
  };
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}
