// The secret of the command, of which several may start at once.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { keepSecret } from '../../src/client/kept-secret.ts';

test('all that start at once for the first time sign with the one that is kept', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kept-secret-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'of', 'the', 'user');
  const secrets = await Promise.all(Array.from({ length: 8 }, () => keepSecret(file)));
  const kept = (await readFile(file, 'utf8')).trim();
  expect(kept).toMatch(/^whsec_/);
  expect(secrets).toEqual(secrets.map(() => ({ secret: kept, note: null })));
});
