import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from './at-end.ts';

/**
 * Makes an empty folder that only our user may open. It is removed when the test file ends, after
 * all that the file starts later.
 */
export async function makeFolder(name: string, parent = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(parent, `${name}-`));
  // Killed processes may still be writing into it.
  atEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}

/**
 * Memory, if it has room for all databases of a run: hundreds are made and dropped, and a disk that
 * others write to stalls each of them for up to a second.
 */
export async function findRoom(): Promise<string> {
  const { bsize, bavail } = await statfs('/dev/shm').catch(() => ({ bsize: 0, bavail: 0 }));
  return bsize * bavail >= 8 * 2 ** 30 ? '/dev/shm' : tmpdir();
}
