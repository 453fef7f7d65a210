/**
 * `npm run build:admin`: builds the admin page from `src/admin-ui` into `build/admin`, with each
 * file compressed, so that the API process serves them without work. `prepare` runs it after each
 * install. Fails if the page has outgrown its budget.
 */
import { execFile as execFileCallback } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { de } from '../src/admin-ui/i18n/de.ts';
import { en } from '../src/admin-ui/i18n/en.ts';
import { MODE_PATHS } from '../src/admin-ui/lib/navigation.ts';
import { waitingHtml } from '../src/admin-ui/waiting.ts';
import { MODES } from '../src/core/sandbox.ts';

const root = join(import.meta.dirname, '..');
const SOURCE = join(root, 'src/admin-ui');
const TARGET = join(root, 'build/admin');
/** In bytes after brotli: what the first load needs, any other script, and all styles. */
const BUDGET = { first: 180 * 1024, page: 12 * 1024, styles: 10 * 1024 };

const EMPTY_ROOT = '<div id="root"></div>';
/** The server knows the path of the page. */
const BASE = '__BASE__';

const execFile = promisify(execFileCallback);
const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

/** Builds the page unless the last build is of the same sources. */
export async function buildAdminIfChanged(): Promise<void> {
  const wanted = await hashSources();
  const built = await readFile(join(TARGET, 'source-hash'), 'utf8').catch(() => null);
  if (built === wanted) return;
  // A process of its own: the build depends on NODE_ENV.
  const env = { ...process.env, NODE_ENV: 'production' };
  await execFile(process.execPath, [import.meta.filename], { env });
}

async function buildAdmin(): Promise<void> {
  // Only a build needs them, and each run of the tests imports this file.
  const [{ build }, { default: react }] = await Promise.all([
    import('vite'),
    import('@vitejs/plugin-react'),
  ]);
  const hash = await hashSources();
  // Beside the target, because two processes may build at once.
  const folder = join(root, `build/admin-${process.pid}`);
  await build({
    configFile: false,
    root: SOURCE,
    // Addresses relative to the importing file. The server adds the public path to the shell.
    base: './',
    publicDir: false,
    logLevel: 'warn',
    plugins: [react()],
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: 'es2023',
      // Those that know `light-dark()`, which the colours of the host application are set with.
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      // The content security policy allows neither `data:` addresses nor inline scripts.
      assetsInlineLimit: 0,
      rolldownOptions: { input: join(SOURCE, 'index.html') },
      modulePreload: { polyfill: false },
      // Their licences want to go with the code; scripts/sbom.ts reads their names.
      license: { fileName: 'licenses.json' },
      reportCompressedSize: false,
    },
  });
  const sizes = await compressAll(join(folder, 'assets'));
  const document = await readFile(join(folder, 'index.html'), 'utf8');
  requireBudget(sizes, document);
  await writeDocuments(folder, document);
  await writeFile(join(folder, 'source-hash'), hash);
  await rm(TARGET, { recursive: true, force: true });
  await rename(folder, TARGET);
}

/**
 * Writes a document for each language, of the live team and of the sandbox. It shows the navigation
 * before its scripts are here.
 */
async function writeDocuments(folder: string, document: string): Promise<void> {
  const texts = { de, en };
  for (const [language, t] of Object.entries(texts))
    for (const mode of MODES) {
      const waiting = waitingHtml(t, mode, BASE + MODE_PATHS[mode]);
      const html = document
        .replace('<html lang="en"', `<html lang="${language}"`)
        .replace('__MODE__', mode)
        .replace('<title>', mode === 'test' ? `<title>${t.sandbox.name}: ` : '<title>')
        .replace(EMPTY_ROOT, () => `<div id="root">${waiting}</div>`);
      if (!html.includes('class="frame"'))
        throw new Error('the document has no place for the page');
      await writeFile(join(folder, `index.${mode}.${language}.html`), html);
    }
}

/** Writes each file of the folder as `.br` and `.gz`, too. Resolves with the sizes after brotli. */
async function compressAll(folder: string): Promise<ReadonlyMap<string, number>> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  const sizes = await Promise.all(
    (await readdir(folder)).map(async (name) => {
      const body = await readFile(join(folder, name));
      const [br, gz] = await Promise.all([
        compressBrotli(body, { params }),
        compressGzip(body, { level: 9 }),
      ]);
      await writeFile(join(folder, `${name}.br`), br);
      await writeFile(join(folder, `${name}.gz`), gz);
      return [name, br.length] as const;
    }),
  );
  return new Map(sizes);
}

function requireBudget(sizes: ReadonlyMap<string, number>, shell: string): void {
  const sum = (names: readonly string[]) =>
    names.reduce((total, name) => total + (sizes.get(name) ?? 0), 0);
  const names = [...sizes.keys()];
  const first = names.filter((name) => shell.includes(name));
  const pages = names.filter((name) => name.endsWith('.js') && !first.includes(name));
  const largest = pages.toSorted((a, b) => sum([b]) - sum([a]))[0] ?? '';
  const figures = {
    first: sum(first),
    page: sum([largest]),
    styles: sum(names.filter((name) => name.endsWith('.css'))),
  };
  const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;
  console.log(
    `admin page: first load ${kib(figures.first)}, styles ${kib(figures.styles)}, ` +
      `largest of ${pages.length} lazy files ${kib(figures.page)} (${largest})`,
  );
  const over = (Object.keys(BUDGET) as (keyof typeof BUDGET)[]).filter(
    (part) => figures[part] > BUDGET[part],
  );
  for (const part of over)
    console.error(`admin page: ${part} is over its budget of ${kib(BUDGET[part])}`);
  if (over.length > 0) process.exitCode = 1;
}

async function hashSources(): Promise<string> {
  const names = await readdir(SOURCE, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((e) => join(e.parentPath, e.name));
  const hash = createHash('sha256');
  for (const file of [import.meta.filename, join(root, 'package-lock.json'), ...files.toSorted()]) {
    if (existsSync(file)) hash.update(file).update(await readFile(file));
  }
  return hash.digest('hex');
}

if (import.meta.main) {
  process.env['NODE_ENV'] = 'production';
  await buildAdmin();
}
