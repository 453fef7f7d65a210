import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { spanOf } from '../../core/terminal.ts';
import { obstacleOf } from '../../db/operator/obstacles.ts';
import { fail, ok, unknown, warn, type Check, type Finding, type World } from '../check.ts';
import type { Ask } from '../session.ts';

const HOUR_MS = 3_600_000;
/** A nightly backup may take some hours. */
const WARN_MS = 30 * HOUR_MS;
const FAIL_MS = 54 * HOUR_MS;
/** Segments are archived when they are full, or after archive_timeout. */
const ARCHIVE_WARN_MS = HOUR_MS;

/** How old the newest backup is, if the operator has named it, and the archive of the WAL. */
export const backup: Check = {
  id: 'backup',
  section: 'Backup and restore',
  // The files are there without it.
  needsDatabase: false,
  run: async (world) => {
    const [archive, files] = await Promise.all([lookAtArchive(world), findFiles(world)]);
    if (archive.length + files.length > 0) return [...files, ...archive];
    return [unknown('archive_mode is off, and no --backup FILE_OR_FOLDER says where backups are')];
  },
};

async function lookAtArchive({ inspect }: World): Promise<Finding[]> {
  try {
    return await inspect(findArchive);
  } catch (error) {
    return [unknown(`the archive of the WAL cannot be seen: ${obstacleOf(error)}`)];
  }
}

async function findFiles({ backup: path }: World): Promise<Finding[]> {
  if (path === null) return [];
  const newest = await findNewest(path);
  const remedy = 'Look at the log of what makes backups, and make one now.';
  if (newest === null) return [fail(`there is no backup in ${path}`, remedy)];
  const age = Date.now() - newest;
  const text = `the newest backup in ${path} is ${spanOf(age)} old`;
  if (age >= FAIL_MS) return [fail(text, remedy)];
  return [age >= WARN_MS ? warn(text, remedy) : ok(text)];
}

/**
 * When the newest file was written, in ms. null: there is none that can be seen. A backup that has
 * failed leaves an empty file, or by the runbook's commands one whose name ends with `.new`.
 */
async function findNewest(path: string): Promise<number | null> {
  const isFolder = (await stat(path).catch(() => null))?.isDirectory();
  const names = isFolder ? await readdir(path).catch(() => []) : [''];
  let newest: number | null = null;
  for (const name of names) {
    if (name.endsWith('.new')) continue;
    const found = await stat(join(path, name)).catch(() => null);
    if (found && found.size > 0) newest = Math.max(newest ?? 0, found.mtimeMs);
  }
  return newest;
}

interface Archiver {
  readonly mode: string;
  readonly fails: boolean;
  readonly archived_ms: number | null;
  readonly failed_count: number;
}

async function findArchive(ask: Ask): Promise<Finding[]> {
  const [row] = await ask<Archiver>(
    `select current_setting('archive_mode') as mode, failed_count::int,
       coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) as fails,
       extract(epoch from now() - last_archived_time)::float8 * 1000 as archived_ms
     from pg_stat_archiver`,
  );
  if (!row || row.mode === 'off') return [];
  const remedy = 'Read the log of Postgres for what archive_command says.';
  if (row.fails) return [fail(`archiving the WAL fails, ${row.failed_count} times so far`, remedy)];
  if (row.archived_ms === null)
    return [warn('no segment of the WAL is archived yet', 'Run "SELECT pg_switch_wal()".')];
  const text = `the last segment of the WAL was archived ${spanOf(row.archived_ms)} ago`;
  if (row.archived_ms < ARCHIVE_WARN_MS) return [ok(text)];
  return [warn(text, 'Set archive_timeout, for instance to 5min, or look whether it has stopped.')];
}
