import '../src/runtime/node-version.ts';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withEventTypes } from './webhook-types.ts';

const path = join(import.meta.dirname, '../src/client/webhook-delivery.ts');
await writeFile(path, withEventTypes(await readFile(path, 'utf8')));
console.log(`wrote ${path}`);
