// Packages of npm that a single test judges files with. They are no dependencies of the project,
// because each install would pay for them.
import { run } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';

/**
 * Installs a package, with what it needs, into a new folder, without running its scripts. Resolves
 * with the folder.
 */
export async function installPackage(nameAndVersion: string): Promise<string> {
  const folder = await makeFolder('npm-package');
  const options = ['--no-save', '--ignore-scripts', '--omit=peer', '--omit=optional'];
  await run('npm', ['install', ...options, '--prefix', folder, nameAndVersion]);
  return folder;
}
