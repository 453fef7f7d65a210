/**
 * Writes src/client/operations.ts from openapi.v1.json: the types of the client package. `npm ci`
 * runs it, like Prisma's generator.
 */
import '../src/runtime/node-version.ts';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { oas31 } from 'zod-openapi';
import { clientOperations } from './client-operations.ts';

const root = join(import.meta.dirname, '..');
const document = JSON.parse(await readFile(join(root, 'openapi.v1.json'), 'utf8'));
// An image's build has no sources yet.
await mkdir(join(root, 'src/client'), { recursive: true });
await writeFile(
  join(root, 'src/client/operations.ts'),
  await clientOperations(document as oas31.OpenAPIObject),
);
