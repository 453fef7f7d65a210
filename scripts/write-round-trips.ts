import '../src/runtime/node-version.ts';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withRoundTrips } from '../test/contract/round-trips.ts';

const path = join(import.meta.dirname, '../src/http/api/README.md');
await writeFile(path, withRoundTrips(await readFile(path, 'utf8')));
console.log(`wrote ${path}`);
