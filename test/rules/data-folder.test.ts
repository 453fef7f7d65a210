import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EMBEDDED, openDataFolder } from '../../src/runtime/data-folder.ts';
import { makeFolder } from '../support/folder.ts';

const KEYS = { state: 'loaded', apiKey: 'svck_live_1', testKey: 'svck_test_1' } as const;

it('keeps what became of the demo team of each database', async () => {
  const folder = openDataFolder(join(await makeFolder('data-folder'), '.data'));
  expect(folder?.readDemo(EMBEDDED)).toBeNull();
  folder?.writeDemo(EMBEDDED, KEYS);
  folder?.writeDemo('other', { state: 'loading' });
  expect(folder?.readDemo(EMBEDDED)).toEqual(KEYS);
  expect(folder?.readDemo('other')).toEqual({ state: 'loading' });
  expect(folder?.readDemo('third')).toBeNull();
});

it('is closed to other users, also if it was not', async () => {
  const path = join(await makeFolder('data-folder'), '.data');
  await mkdir(path, { mode: 0o755 });
  openDataFolder(path);
  // Of root, the embedded Postgres is another user.
  const isRoot = process.getuid?.() === 0;
  expect((await stat(path)).mode & 0o777).toBe(isRoot ? 0o711 : 0o700);
});
