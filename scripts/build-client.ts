/**
 * `npm run build:client`: builds the client package from `src/client` into `build/client`, with the
 * tarball that can be installed or published, and the Python client into `build/python-client`,
 * with its wheel. Fails if one of them has outgrown its budget.
 */
import '../src/runtime/node-version.ts';
import { execFile as execFileCallback } from 'node:child_process';
import { cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildPythonClient } from './python-client/build.ts';

const root = join(import.meta.dirname, '..');
const TARGET = join(root, 'build/client');
const ENTRIES = ['../../src/client/index.ts', '../../src/client/admin-frame.ts'];
const TARBALL_MAX_BYTES = 100_000;

const execFile = promisify(execFileCallback);

/** Only what every runtime has: no types of Node. */
const COMPILER_OPTIONS = {
  strict: true,
  declaration: true,
  target: 'es2022',
  lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
  module: 'nodenext',
  types: [],
  rewriteRelativeImportExtensions: true,
  rootDir: '../../src/client',
  outDir: 'dist',
};

const { version, license } = JSON.parse(
  await readFile(join(root, 'package.json'), 'utf8'),
) as Record<string, string>;

const PACKAGE = {
  name: 'team-customer-client',
  version,
  description: 'Client of the Team Customer API, and verification of its webhooks.',
  license,
  type: 'module',
  sideEffects: false,
  engines: { node: '>=20.3' },
  exports: {
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './admin-frame': { types: './dist/admin-frame.d.ts', default: './dist/admin-frame.js' },
  },
  files: ['dist'],
};

await rm(TARGET, { recursive: true, force: true });
await mkdir(TARGET, { recursive: true });
await writeFile(
  join(TARGET, 'tsconfig.json'),
  JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ENTRIES }),
);
const tsc = join(root, 'node_modules/typescript-native/bin/tsc');
await execFile(process.execPath, [tsc, '-p', TARGET]);
await writeFile(join(TARGET, 'package.json'), `${JSON.stringify(PACKAGE, null, 2)}\n`);
// The guide of the developer pages, which knows the address of its service.
const guide = await readFile(join(root, 'src/http/docs/guides/client.md'), 'utf8');
const readme = guide.replaceAll('{{api_url}}', 'https://api.example.com/api/public/v1');
await writeFile(join(TARGET, 'README.md'), `# ${PACKAGE.name}\n\n${readme}`);
await cp(join(root, 'LICENSE'), join(TARGET, 'LICENSE'));

const { stdout } = await execFile('npm', ['pack', '--json', '--ignore-scripts'], { cwd: TARGET });
const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
const tarball = join(TARGET, filename);
const { size } = await stat(tarball);
if (size > TARBALL_MAX_BYTES) throw new Error(`${filename} has ${size} bytes`);
console.log(`wrote ${tarball}, ${size} bytes`);

const wheel = await buildPythonClient(join(root, 'build/python-client'));
console.log(`wrote ${wheel}, ${(await stat(wheel)).size} bytes`);
