import '../src/runtime/node-version.ts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { oas31 } from 'zod-openapi';
import { committedDocument } from '../src/http/openapi/document.ts';
import { clientOperations } from './client-operations.ts';

const path = join(import.meta.dirname, '..', 'openapi.v1.json');
const text = committedDocument();
await writeFile(path, text);
console.log(`wrote ${path}`);

const operations = join(import.meta.dirname, '..', 'src/client/operations.ts');
await writeFile(operations, await clientOperations(JSON.parse(text) as oas31.OpenAPIObject));
console.log(`wrote ${operations}`);
