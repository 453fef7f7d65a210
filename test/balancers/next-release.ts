// The next release of the project: a copy of this one with more migrations.
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '../support/folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Those that a request, a delivery and a job read and write. */
const TABLES = ['team', 'member', 'assignment', 'event', 'webhook_endpoint', 'webhook_delivery'];

/** Resolves with its folder. */
export async function makeNextRelease(): Promise<string> {
  const folder = await makeFolder('next-release');
  for (const part of ['src', 'scripts', 'prisma', 'package.json'])
    await cp(join(root, part), join(folder, part), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  // One for each table: a migration that holds the lock of one table should wait for no other.
  for (const table of TABLES) {
    const migration = join(folder, `prisma/migrations/99990101000000_extend_${table}`);
    await mkdir(migration);
    // A new column changes the rows of statements that the previous release has prepared.
    const column = `ALTER TABLE "${table}" ADD COLUMN "next_release" text NOT NULL DEFAULT '';\n`;
    const index = `CREATE INDEX "${table}_next_release_idx" ON "${table}" ("next_release");\n`;
    await writeFile(join(migration, 'migration.sql'), column + index);
  }
  return folder;
}
