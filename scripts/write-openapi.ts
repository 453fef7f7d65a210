import '../src/runtime/node-version.ts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { oas31 } from 'zod-openapi';
import { committedDocument } from '../src/http/openapi/document.ts';
import { clientFiles } from './client-operations.ts';

const path = join(import.meta.dirname, '..', 'openapi.v1.json');
const text = committedDocument();
await writeFile(path, text);
console.log(`wrote ${path}`);

const client = join(import.meta.dirname, '..', 'src/client');
const files = await clientFiles(JSON.parse(text) as oas31.OpenAPIObject);
for (const [name, types] of Object.entries(files)) {
  await writeFile(join(client, name), types);
  console.log(`wrote ${join(client, name)}`);
}
