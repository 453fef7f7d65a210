// The mutants of all statements, under names that stay the same while a statement does.
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadModule } from 'libpg-query';
import { declaredStatements } from '../../src/db/statement.ts';
import { findSqlMutants } from './sql-mutants.ts';

export interface Mutant {
  /** `file › declaration › change`; equivalent.json names mutants so. */
  readonly id: string;
  readonly file: string;
  readonly line: number;
  /** Statement name → text to run instead of its own. */
  readonly sql: Readonly<Record<string, string>>;
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

function declarationOf(
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
 * `texts`: name → text of every statement. The variants of one declaration (a list with this or
 * that filter) have one mutant for each change, which is made in all that it fits.
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
  return [...changes].map(
    ([
      id,
      {
        declaration: { file, line },
        sql,
      },
    ]) => ({ id, file, line, sql }),
  );
}

/** Mutant id → why no test could tell it from the original. */
export function readEquivalent(): Readonly<Record<string, string>> {
  const text = readFileSync('scripts/mutate/equivalent.json', 'utf8');
  return JSON.parse(text) as Record<string, string>;
}

/** The entries that name no mutant any more. */
export function staleOf(
  all: readonly Mutant[],
  equivalent: Readonly<Record<string, string>>,
): string[] {
  const ids = new Set(all.map(({ id }) => id));
  return Object.keys(equivalent).filter((id) => !ids.has(id));
}
