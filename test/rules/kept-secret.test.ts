// The secret of the command, of which several may start at once.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keepSecret } from '../../src/client/kept-secret.ts';
import { makeFolder } from '../support/folder.ts';

test('all that start at once for the first time sign with the one that is kept', async () => {
  const folder = await makeFolder('kept-secret');
  const file = join(folder, 'of', 'the', 'user');
  const secrets = await Promise.all(Array.from({ length: 8 }, () => keepSecret(file)));
  const kept = (await readFile(file, 'utf8')).trim();
  expect(kept).toMatch(/^whsec_/);
  expect(secrets).toEqual(secrets.map(() => ({ secret: kept, note: null })));
});

test('a file that cannot be read is reported, since each start has another secret', async () => {
  // A folder cannot be read by root either.
  const file = await makeFolder('kept-secret');
  const { secret, note } = await keepSecret(file);
  expect(secret).toMatch(/^whsec_/);
  expect(note).toBe(`The secret cannot be kept in ${file} (EISDIR): the next is another.`);
});
