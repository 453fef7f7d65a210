/**
 * No line of code, SQL or prose is longer than 100 columns, and no text refers to a document that
 * is not in the tree. oxfmt does not break comments and long strings, so this check reads the
 * lines. To run it alone: node test/checks/width.ts
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAX_COLUMNS = 100;
const FOLDERS = ['src', 'scripts', 'test', 'prisma'];
const CHECKED = /\.(?:tsx?|js|sql|css|md)$/;
const GENERATED = /^src\/(?:db\/generated\/|client\/(?:operations|webhook-events)\.ts$)/;

const DANGLING = /decisions \d|operations\.md|seed-file\.md|\/work\/shared/;

/** Returns the faults of a file as `file:line: fault`. `file` is relative to the root. */
export function findFaults(file: string, text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    const columns = countColumns(file, line);
    return [
      ...(columns > MAX_COLUMNS ? [`${columns} columns`] : []),
      ...(DANGLING.test(line) ? ['refers to a document that is not in the tree'] : []),
    ].map((fault) => `${file}:${index + 1}: ${fault}`);
  });
}

/** In prose, tables and the targets of links do not count, because they cannot be broken. */
function countColumns(file: string, line: string): number {
  if (!file.endsWith('.md')) return Array.from(line).length;
  return line.startsWith('|') ? 0 : Array.from(line.replaceAll(/\]\([^)]*\)/g, ']')).length;
}

async function listFiles(root: string): Promise<string[]> {
  const nested = await Promise.all(
    FOLDERS.map(async (folder) =>
      (await readdir(join(root, folder), { recursive: true })).map((name) => join(folder, name)),
    ),
  );
  return [...(await readdir(root)), ...nested.flat()].filter(
    (file) => CHECKED.test(file) && !GENERATED.test(file),
  );
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const files = await listFiles(root);
  const faults = await Promise.all(
    files.map(async (file) => findFaults(file, await readFile(join(root, file), 'utf8'))),
  );
  for (const fault of faults.flat()) console.error(fault);
  if (faults.flat().length > 0) process.exitCode = 1;
}
