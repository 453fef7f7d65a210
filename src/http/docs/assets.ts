/** The files of `assets/`: the stylesheet, the scripts and the icon. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createResource, type Resource } from '../api/resource.ts';

const FOLDER = join(import.meta.dirname, 'assets');

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** A script comes after those that it imports. */
const NAMES = [
  'docs.css',
  'icon.svg',
  'start.js',
  'key.js',
  'minisearch.js',
  'synonyms.js',
  'search.js',
  'search-box.js',
  'soft-navigation.js',
  'try.js',
  'docs.js',
] as const;

/** What `minisearch.js` exports, as browsers can load it. */
const LIBRARY = fileURLToPath(import.meta.resolve('minisearch'));

function sourceOf(name: (typeof NAMES)[number]): string {
  if (name !== 'minisearch.js') return readFileSync(join(FOLDER, name), 'utf8');
  // There is no such map here.
  return readFileSync(LIBRARY, 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, '');
}

/** Reads all files. Scripts import each other by addresses that name the content (`?v=`). */
export function readAssets(): ReadonlyMap<string, Resource> {
  const assets = new Map<string, Resource>();
  for (const name of NAMES) {
    const text = sourceOf(name).replaceAll(/'\.\/([\w-]+\.js)'/g, (_match, imported: string) => {
      const asset = assets.get(imported);
      if (!asset) throw new Error(`${name} imports ${imported}, which must come before it`);
      return `'./${imported}?v=${asset.version}'`;
    });
    const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
    assets.set(name, createResource(type, text));
  }
  return assets;
}
