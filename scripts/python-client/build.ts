/**
 * Builds the Python client: the files of `src/client/python` with those that are made of the
 * OpenAPI document, as a wheel. It needs no Python.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { oas31 } from 'zod-openapi';
import { errorsModule } from './errors.ts';
import { modelsModule } from './models.ts';
import { operationsModule } from './operations.ts';
import { literal } from './schema.ts';
import type { Definitions } from './types.ts';
import { zip, type ZipFile } from './zip.ts';
import { readSheet } from '../../src/docs/front-matter.ts';

const root = join(import.meta.dirname, '../..');
const SOURCES = join(root, 'src/client/python/team_customer_client');
const MODULE = 'team_customer_client';
const WHEEL_MAX_BYTES = 100_000;

/**
 * Writes the wheel into `folder`, which it empties before, and beside it its files as they are
 * installed. Returns the path of the wheel. Throws if it has outgrown its budget.
 */
export async function buildPythonClient(folder: string): Promise<string> {
  const text = await readFile(join(root, 'openapi.v1.json'), 'utf8');
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const files = [
    ...(await writtenFiles()),
    ...generatedFiles(JSON.parse(text) as oas31.OpenAPIObject, version),
    ...(await infoFiles(version)),
  ];
  const record = `${MODULE}-${version}.dist-info/RECORD`;
  const lines = files.map(({ name, content }) => {
    const hash = createHash('sha256').update(content).digest('base64url');
    return `${name},sha256=${hash},${content.length}\n`;
  });
  files.push(fileOf(record, `${lines.join('')}${record},,\n`));
  await rm(folder, { recursive: true, force: true });
  for (const { name, content } of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  const wheel = join(folder, `${MODULE}-${version}-py3-none-any.whl`);
  const bytes = zip(files);
  if (bytes.length > WHEEL_MAX_BYTES) throw new Error(`${wheel} has ${bytes.length} bytes`);
  await writeFile(wheel, bytes);
  return wheel;
}

function fileOf(name: string, content: string): ZipFile {
  return { name, content: Buffer.from(content) };
}

async function writtenFiles(): Promise<ZipFile[]> {
  // Running Python there leaves its cache.
  const names = (await readdir(SOURCES)).filter((name) => /\.py$|^py\.typed$/.test(name));
  return Promise.all(
    names.toSorted().map(async (name) => ({
      name: `${MODULE}/${name}`,
      content: await readFile(join(SOURCES, name)),
    })),
  );
}

function generatedFiles(document: oas31.OpenAPIObject, version: string): ZipFile[] {
  const definitions: Definitions = new Map();
  const operations = operationsModule(document, definitions);
  const address = document.servers?.[0]?.url ?? '';
  const facts = `"""Facts of the service and of this release."""

VERSION = ${literal(version)}
BASE_PATH = ${literal(new URL(address).pathname)}
`;
  const HEADER = '# Written by `npm run build:client` from the OpenAPI document.\n';
  return Object.entries({
    '_facts.py': facts,
    '_operations.py': operations,
    'errors.py': errorsModule(document),
    'models.py': modelsModule(document, definitions),
  }).map(([name, text]) => fileOf(`${MODULE}/${name}`, HEADER + text));
}

async function infoFiles(version: string): Promise<ZipFile[]> {
  const info = `${MODULE}-${version}.dist-info`;
  // The guide of the developer pages, which knows the address of its service.
  const { text: guide } = readSheet(
    await readFile(join(root, 'src/docs/guides/python.md'), 'utf8'),
  );
  const readme = guide
    .replaceAll('{{api_url}}', 'https://api.example.com/api/public/v1')
    // The developer pages are on the same host as the API.
    .replaceAll('](/docs/', '](https://api.example.com/docs/');
  const metadata = `Metadata-Version: 2.1
Name: team-customer-client
Version: ${version}
Summary: Client of the Team Customer API, and verification of its webhooks.
License: see the file LICENSE, which is not that of the service
License-File: LICENSE
Requires-Python: >=3.11
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

# team-customer-client

${readme}
`;
  const wheel = `Wheel-Version: 1.0
Generator: team-customer-api
Root-Is-Purelib: true
Tag: py3-none-any
`;
  return [
    { name: `${info}/LICENSE`, content: await readFile(join(root, 'LICENSE')) },
    fileOf(`${info}/METADATA`, metadata),
    fileOf(`${info}/WHEEL`, wheel),
  ];
}
