// The sources of the service, and the statements that they declare.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type ts from 'typescript';
import { namesOfStatements, parseSource } from '../checks/sql/sources.ts';

export const ROOT = join(import.meta.dirname, '../..');

/** Returns the files that may send SQL, by their paths from the root. */
export async function readSources(): Promise<ts.SourceFile[]> {
  const names = (await readdir(join(ROOT, 'src'), { recursive: true })).filter(
    (name) => name.endsWith('.ts') && !name.startsWith(join('db', 'generated')),
  );
  const files = await Promise.all(
    names.map(
      async (name) => [`src/${name}`, await readFile(join(ROOT, 'src', name), 'utf8')] as const,
    ),
  );
  // A file without any of these words cannot send SQL, so it need not be parsed.
  return files
    .filter(([, text]) => /statement|query|prisma|Raw/.test(text))
    .map(([name, text]) => parseSource(name, text));
}

/** Loads the files that declare statements, and returns their paths. */
export async function loadStatements(sources: readonly ts.SourceFile[]): Promise<string[]> {
  const declaring = sources
    .filter((source) => namesOfStatements(source).length > 0)
    .map(({ fileName }) => join(ROOT, fileName));
  for (const path of declaring) await import(path);
  return declaring;
}
