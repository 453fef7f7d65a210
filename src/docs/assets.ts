/** The files of `assets/`: the stylesheet, its fonts, the scripts and the icon. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createResource, type Resource } from '../http/api/resource.ts';

const FOLDER = join(import.meta.dirname, 'assets');

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};

/** A file comes after those that it imports. */
const NAMES = [
  'geist.woff2',
  'geist-mono.woff2',
  'icon.svg',
  'docs.css',
  'start.js',
  'key.js',
  'words.js',
  'theme.js',
  'contents.js',
  'minisearch.js',
  'synonyms.js',
  'search.js',
  'search-box.js',
  'soft-navigation.js',
  'try.js',
  'docs.js',
] as const;

/** The one library. Node finds it by its name, browsers at an address of ours. */
const LIBRARY = 'minisearch';
const IMPORTED = new RegExp(String.raw`'(?:(${LIBRARY})|\./([\w-]+\.(?:js|svg|woff2)))'`, 'g');

function sourceOf(name: (typeof NAMES)[number]): string {
  if (name !== `${LIBRARY}.js`) return readFileSync(join(FOLDER, name), 'utf8');
  const source = readFileSync(fileURLToPath(import.meta.resolve(LIBRARY)), 'utf8');
  // There is no such map here.
  return source.replace(/^\/\/# sourceMappingURL=.*$/m, '');
}

/** Reads all files. They import each other by addresses that name the content (`?v=`). */
export function readAssets(): ReadonlyMap<string, Resource> {
  const assets = new Map<string, Resource>();
  for (const name of NAMES) {
    const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
    if (name.endsWith('.woff2')) {
      assets.set(name, createResource(type, readFileSync(join(FOLDER, name)), false));
      continue;
    }
    const text = sourceOf(name).replaceAll(IMPORTED, (_match, library?: string, own?: string) => {
      const imported = own ?? `${library}.js`;
      const asset = assets.get(imported);
      if (!asset) throw new Error(`${name} imports ${imported}, which must come before it`);
      return `'./${imported}?v=${asset.version}'`;
    });
    assets.set(name, createResource(type, text));
  }
  return assets;
}
