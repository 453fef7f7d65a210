// A file system that a test can fill.
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { atEnd } from './at-end.ts';
import { makeFolder } from './folder.ts';

const BLOCK = Buffer.alloc(64 * 1024);

/** Mounts a file system of this size until the test file ends. null: this process may not. */
export async function mountSmallDisk(megabytes: number): Promise<string | null> {
  const folder = await makeFolder('small-disk');
  try {
    const options = `size=${megabytes}m,mode=755`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return null;
  }
  atEnd(() => execFileSync('umount', ['--lazy', folder]));
  return folder;
}

/**
 * Writes until the disk is full, which Postgres may fill at the same time. Returns the function
 * that makes room again.
 */
export function fillDisk(folder: string): () => void {
  const file = join(folder, 'filler');
  const filler = openSync(file, 'w');
  const fillsUp = (): boolean => {
    try {
      writeSync(filler, BLOCK);
      return false;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      return true;
    }
  };
  while (!fillsUp());
  closeSync(filler);
  return () => rmSync(file);
}
