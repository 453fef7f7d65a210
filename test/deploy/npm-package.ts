// Packages of npm that a single test judges files with. They are no dependencies of the project,
// because each install would pay for them.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../support/debian.ts';

/**
 * Installs a package, with what it needs, into a new folder below the temporary one, without
 * running its scripts. Resolves with the folder, which the caller removes.
 */
export async function installPackage(nameAndVersion: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'npm-package-'));
  const options = ['--no-save', '--ignore-scripts', '--omit=peer', '--omit=optional'];
  await run('npm', ['install', ...options, '--prefix', folder, nameAndVersion]);
  return folder;
}
