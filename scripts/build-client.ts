/**
 * `npm run build:client`: builds the client package from `src/client` into `build/client`, or into
 * the folder that is named, with the tarball that customers install, and the Python client into
 * `build/python-client`, with its wheel. Fails if one of them has outgrown its budget.
 */
import '../src/runtime/node-version.ts';
import { execFile as execFileCallback } from 'node:child_process';
import { cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { buildPythonClient } from './python-client/build.ts';
import { PACKAGE_NAME, tarballOf } from '../src/client/package-name.ts';
import { readSheet } from '../src/docs/front-matter.ts';

const root = join(import.meta.dirname, '..');
const TARGET = resolve(process.argv[2] ?? join(root, 'build/client'));
const SOURCE = join(root, 'src/client');
/** Entries by what they may use: the library runs everywhere, the command on Node. */
const ENTRIES = {
  library: { types: [], files: ['index.ts', 'admin-frame.ts'] },
  command: { types: ['node'], files: ['command.ts'] },
};
const TARBALL_MAX_BYTES = 100_000;

const execFile = promisify(execFileCallback);

const COMPILER_OPTIONS = {
  strict: true,
  declaration: true,
  target: 'es2022',
  lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
  module: 'nodenext',
  rewriteRelativeImportExtensions: true,
  rootDir: SOURCE,
  typeRoots: [join(root, 'node_modules/@types')],
  outDir: 'dist',
};

const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
};

const PACKAGE = {
  name: PACKAGE_NAME,
  version,
  description:
    'Client of the Team Customer API, verification of its webhooks, and a command for development.',
  // Not that of the service.
  license: 'SEE LICENSE IN LICENSE',
  // Until the operator owns the scope: npm refuses to publish it.
  private: true,
  type: 'module',
  sideEffects: false,
  engines: { node: '>=20.3' },
  exports: {
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './admin-frame': { types: './dist/admin-frame.d.ts', default: './dist/admin-frame.js' },
  },
  // With one command only, `npx NAME` runs it, whatever it is called.
  bin: { 'team-customer-api': './dist/command.js' },
  files: ['dist'],
};

await rm(TARGET, { recursive: true, force: true });
await mkdir(TARGET, { recursive: true });
const tsc = join(root, 'node_modules/typescript-native/bin/tsc');
for (const [name, { types, files }] of Object.entries(ENTRIES)) {
  const config = {
    compilerOptions: { ...COMPILER_OPTIONS, types },
    files: files.map((file) => join(SOURCE, file)),
  };
  await writeFile(join(TARGET, `${name}.json`), JSON.stringify(config));
  await execFile(process.execPath, [tsc, '-p', join(TARGET, `${name}.json`)]);
}
await writeFile(join(TARGET, 'package.json'), `${JSON.stringify(PACKAGE, null, 2)}\n`);
// The guide of the developer pages, which knows the address of its service.
const { text: guide } = readSheet(await readFile(join(root, 'src/docs/guides/client.md'), 'utf8'));
const facts: Readonly<Record<string, string>> = {
  api_url: 'https://api.example.com/api/public/v1',
  client_package: PACKAGE_NAME,
  client_tarball: tarballOf(version ?? ''),
};
const readme = guide
  .replaceAll(/ \{#\S+\}$/gm, '')
  .replaceAll(/\{\{(\w+)\}\}/g, (match, name: string) => facts[name] ?? match)
  // The developer pages are on the same host as the API.
  .replaceAll('](/docs/', '](https://api.example.com/docs/');
if (readme.includes('{{')) throw new Error('The README has a fact that is not known.');
await writeFile(join(TARGET, 'README.md'), `# ${PACKAGE.name}\n\n${readme}\n`);
await cp(join(root, 'LICENSE'), join(TARGET, 'LICENSE'));

const { stdout } = await execFile('npm', ['pack', '--json', '--ignore-scripts'], { cwd: TARGET });
const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
const tarball = join(TARGET, filename);
const { size } = await stat(tarball);
if (filename !== tarballOf(version ?? '')) throw new Error(`npm calls the tarball ${filename}`);
if (size > TARBALL_MAX_BYTES) throw new Error(`${filename} has ${size} bytes`);
console.log(`wrote ${tarball}, ${size} bytes`);

const wheel = await buildPythonClient(join(root, 'build/python-client'));
console.log(`wrote ${wheel}, ${(await stat(wheel)).size} bytes`);
