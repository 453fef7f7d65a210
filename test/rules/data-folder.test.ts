import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EMBEDDED, openDataFolder } from '../../src/runtime/data-folder.ts';
import { makeFolder } from '../support/folder.ts';

const KEYS = { state: 'loaded', apiKey: 'svck_live_1', testKey: 'svck_test_1' } as const;

async function open(record?: object) {
  const path = join(await makeFolder('data-folder'), '.data');
  await mkdir(path);
  const file = join(path, 'demo.json');
  if (record) await writeFile(file, JSON.stringify(record));
  return { folder: openDataFolder(path), read: () => readFile(file, 'utf8') };
}

it('keeps what became of the demo team of each database', async () => {
  const { folder } = await open();
  expect(folder?.readDemo(EMBEDDED)).toBeNull();
  folder?.writeDemo(EMBEDDED, KEYS);
  folder?.writeDemo('other', { state: 'loading' });
  expect(folder?.readDemo(EMBEDDED)).toEqual(KEYS);
  expect(folder?.readDemo('other')).toEqual({ state: 'loading' });
  expect(folder?.readDemo('third')).toBeNull();
});

it('takes the record of an earlier version for that of the embedded database', async () => {
  const { folder, read } = await open(KEYS);
  expect(folder?.readDemo('other')).toBeNull();
  expect(folder?.readDemo(EMBEDDED)).toEqual(KEYS);
  folder?.writeDemo('other', { state: 'loading' });
  expect(folder?.readDemo(EMBEDDED)).toEqual(KEYS);
  expect(JSON.parse(await read())).toEqual({
    databases: { [EMBEDDED]: KEYS, other: { state: 'loading' } },
  });
});
