// The migrations of a checkout with the line ends of Windows are those of any other.
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { expectedMigrations } from '../../src/db/operator/migrations.ts';
import { makeFolder } from '../support/folder.ts';

test('line ends change no checksum', async () => {
  const folder = await makeFolder('migrations');
  await cp('prisma', folder, { recursive: true });
  const texts = (await readdir(folder, { recursive: true })).filter((name) =>
    name.endsWith('.sql'),
  );
  expect(texts.length).toBeGreaterThan(5);
  for (const name of texts) {
    const text = await readFile(join(folder, name), 'utf8');
    await writeFile(join(folder, name), text.replaceAll('\n', '\r\n'));
  }
  expect(await expectedMigrations(folder)).toEqual(await expectedMigrations());
});
