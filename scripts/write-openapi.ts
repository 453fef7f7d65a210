import '../src/runtime/node-version.ts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { committedDocument } from '../src/http/openapi/document.ts';

const path = join(import.meta.dirname, '..', 'openapi.v1.json');
await writeFile(path, committedDocument());
console.log(`wrote ${path}`);
