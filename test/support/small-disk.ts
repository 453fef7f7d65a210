// A file system that a test can fill.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const BLOCK = Buffer.alloc(64 * 1024);

/** Mounts a file system of this size. Returns null if this process may not. */
export function mountSmallDisk(megabytes: number): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'));
  try {
    const options = `size=${megabytes}m,mode=755`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
    return folder;
  } catch {
    rmdirSync(folder);
    return null;
  }
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
