// The secret of the command, of which several may start at once.
import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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

test('only its user can read it from the first moment, whoever can read its folder', async () => {
  const folder = await makeFolder('kept-secret');
  const modeOf = async (path: string) => (await stat(path)).mode & 0o777;
  const own = join(folder, 'own', 'secret');
  await keepSecret(own);
  expect(await modeOf(dirname(own))).toBe(0o700);
  const open = join(folder, 'open', 'secret');
  await mkdir(dirname(open), { mode: 0o755 });
  await keepSecret(open);
  expect([await modeOf(own), await modeOf(open)]).toEqual([0o600, 0o600]);
});

test('a file that cannot be read is reported, since each start has another secret', async () => {
  // A folder cannot be read by root either.
  const file = await makeFolder('kept-secret');
  const { secret, note } = await keepSecret(file);
  expect(secret).toMatch(/^whsec_/);
  expect(note).toBe(`The secret cannot be kept in ${file} (EISDIR): the next is another.`);
});
