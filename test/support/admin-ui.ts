// What the source of the admin page says, for tests whose lists must not be able to miss anything.
import { readdirSync, readFileSync } from 'node:fs';

/** Methods of requests that change nothing. */
const READS = ['GET', 'HEAD'];

const ROOT = new URL('../../src/admin-ui/', import.meta.url);

/** The source files of the admin page by their paths in it. */
export function readAdminSources(): ReadonlyMap<string, string> {
  const paths = readdirSync(ROOT, { recursive: true, encoding: 'utf8' });
  const sources = paths.filter((path) => /\.tsx?$/.test(path));
  return new Map(sources.map((path) => [path, readFileSync(new URL(path, ROOT), 'utf8')]));
}

/**
 * Every place that changes something, as `<file> <procedure>` or `<file> <METHOD> <address>`.
 * Throws for a change in a form that this function cannot read.
 */
export function findMutations(): string[] {
  const found = [...readAdminSources()].flatMap(([file, text]) => {
    const procedures = [...text.matchAll(/(\w+)((?:\s*\.\s*\w+)+?)\s*\.\s*mutationOptions\(/g)];
    // Called, or given to a function that calls it.
    const calls = [...text.matchAll(/(\w+)((?:\s*\.\s*\w+)+?)\s*\.\s*mutate\s*[(,}]/g)];
    for (const [whole, root = ''] of [...procedures, ...calls])
      if (!['api', 'client'].includes(root)) throw new Error(`${file}: write out ${whole}`);
    if (text.split('mutationOptions(').length - 1 !== procedures.length)
      throw new Error(`${file}: write out the procedure of mutationOptions`);
    const paths = [...procedures, ...calls].map(([, , path = '']) =>
      path.replace(/^\s*\.|\s/g, ''),
    );
    const requests = [...text.matchAll(/\bfetch\(\s*([\w.]+),\s*\{\s*method: '(\w+)'/g)];
    if ((text.match(/\bmethod:/g) ?? []).length !== requests.length)
      throw new Error(`${file}: write out the method and the address of fetch`);
    const changes = requests
      .filter(([, , method = '']) => !READS.includes(method))
      .map(([, address, method]) => `${method} ${address}`);
    return [...paths, ...changes].map((change) => `${file} ${change}`);
  });
  return [...new Set(found)].toSorted();
}

/** The keys of the titles of all dialogs, once for each place that opens one, with its file. */
export function findDialogs(): string[] {
  return [...readAdminSources()]
    .filter(([file]) => !file.startsWith('ui/'))
    .flatMap(([file, text]) =>
      text
        .split(/<(?:Dialog|Confirm|SecretDialog)\b/)
        .slice(1)
        .flatMap((part) => {
          const [title = ''] = /\btitle=\{.*\}/.exec(part) ?? [];
          const keys = [...title.matchAll(/\bt\.(\w+\.\w+)\b/g)];
          const [first = ''] = keys.map(([, key = '']) => key);
          if (first === '') throw new Error(`${file}: a dialog without a title of the texts`);
          const own = title.startsWith('title={(') ? keys.map(([, key = '']) => key) : [first];
          return own.map((key) => `${file} ${key}`);
        }),
    )
    .toSorted();
}
