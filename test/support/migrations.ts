import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { migrate } from '../../src/db/operator/migrate.ts';
import type { TestDatabase } from './database.ts';
import { makeFolder } from './folder.ts';

const PRISMA = join(import.meta.dirname, '../../prisma');

/** What comes before are the migrations of 1.0.0, and the two that came right after it. */
export const AFTER_100 = '20261120000800';

/** Applies the migrations before this one, and no functions: those of 1.0.0 are in migrations. */
export async function migrateBefore({ url }: TestDatabase, name: string): Promise<void> {
  const folder = await makeFolder('migrations');
  for (const each of await readdir(join(PRISMA, 'migrations')))
    if (each < name)
      await cp(join(PRISMA, 'migrations', each), join(folder, 'migrations', each), {
        recursive: true,
      });
  await mkdir(join(folder, 'functions'));
  await writeFile(join(folder, 'folded.json'), '{}');
  await migrate(url, { folder });
}
