import { readFile, statfs } from 'node:fs/promises';
import { isLoopbackHost } from '../../core/loopback.ts';
import { sizeOf } from '../../core/terminal.ts';
import { LITTLE_MEMORY, SPILL } from '../../db/operator/obstacles.ts';
import { checkOfDatabase, fail, ok, unknown, warn, type Finding } from '../check.ts';
import type { Ask } from '../session.ts';

const WARN_SHARE = 0.2;
const FAIL_SHARE = 0.05;
const REMEDY = 'Free or add space; look for an inactive replication slot first.';

/** The size of the database, whether Postgres gets new space, and how much is left. */
export const disk = checkOfDatabase('disk', 'Sizing', async (ask) => {
  const [row] = await ask<{ bytes: number; wal: number | null }>(
    `select pg_database_size(current_database())::float8 as bytes`,
  );
  const size = ok(`the database has ${sizeOf(row?.bytes ?? 0)}`);
  const space = await findFreeSpace(ask);
  try {
    await ask(LITTLE_MEMORY.text);
    await ask(SPILL.text);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '53100')
      return [fail('disk_full: Postgres gets no new space', REMEDY), size];
    throw error;
  }
  return [size, space];
});

/** SQL cannot tell. Where the data folder is on this machine, and may be read, the machine can. */
async function findFreeSpace(ask: Ask): Promise<Finding> {
  const isHere = ask.host.startsWith('/') || isLoopbackHost(ask.host);
  const folder = isHere && !ask.isPooled ? await findFolder(ask) : null;
  if (folder === null)
    return unknown('the free space cannot be seen from here: look at the host of Postgres');
  const { bavail, blocks, bsize } = await statfs(folder);
  const text = `${sizeOf(bavail * bsize)} of ${sizeOf(blocks * bsize)} are free`;
  if (bavail < blocks * FAIL_SHARE) return fail(text, REMEDY);
  return bavail < blocks * WARN_SHARE ? warn(text, REMEDY) : ok(text);
}

/** The data folder, if it is that of this very server. Loopback may lead into a container. */
async function findFolder(ask: Ask): Promise<string | null> {
  const [row] = await ask<{ folder: string | null; started: number }>(
    `select case when pg_has_role('pg_read_all_settings', 'USAGE')
         then current_setting('data_directory') end as folder,
       extract(epoch from pg_postmaster_start_time())::float8 as started`,
  );
  if (!row?.folder) return null;
  const file = await readFile(`${row.folder}/postmaster.pid`, 'utf8').catch(() => '');
  const started = Number(file.split('\n')[2]);
  return Math.abs(started - row.started) <= 2 ? row.folder : null;
}
