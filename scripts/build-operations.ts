/**
 * Writes the types of the client package from openapi.v1.json. `npm ci` runs it, like Prisma's
 * generator.
 */
import '../src/runtime/node-version.ts';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { oas31 } from 'zod-openapi';
import { clientFiles } from './client-operations.ts';

const root = join(import.meta.dirname, '..');
const document = JSON.parse(await readFile(join(root, 'openapi.v1.json'), 'utf8'));
const client = join(root, 'src/client');
// An image's build has no sources yet.
await mkdir(client, { recursive: true });
const files = await clientFiles(document as oas31.OpenAPIObject);
for (const [name, text] of Object.entries(files)) await writeFile(join(client, name), text);
