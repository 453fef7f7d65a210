// Another revision of the service, in a work tree of its own.
import { mkdtempSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, runAfterOurEnd } from './processes.ts';

/** Removes the tree, and what git notes of it. */
const REMOVE = 'git worktree remove --force "$1"; rm -rf "$1"; git worktree prune';

/**
 * Checks the revision out and builds it. Returns the folder, which disposing `stack` removes. The
 * installed packages are shared if both revisions lock the same ones.
 */
export async function checkOut(
  stack: AsyncDisposableStack,
  root: string,
  revision: string,
): Promise<string> {
  // Variables of the `npm` that runs this program would lead the one below to this folder.
  const entries = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  const env = Object.fromEntries(entries);
  const git = (...args: string[]) => run(stack, 'git', args, { cwd: root, env });
  const commit = await git('rev-parse', '--verify', '--end-of-options', `${revision}^{commit}`);
  // A signal must not come between the folder and its removal.
  const folder = mkdtempSync(join(tmpdir(), 'customer-api-against-'));
  runAfterOurEnd(stack, `sleep 1; cd "$2"; ${REMOVE}`, [folder, root]);
  stack.defer(async () => {
    await using own = new AsyncDisposableStack();
    await run(own, '/bin/sh', ['-c', REMOVE, 'sh', folder], { cwd: root, env });
  });
  await git('worktree', 'add', '--detach', folder, commit.trim());
  const lockOf = (where: string) => readFile(join(where, 'package-lock.json'), 'utf8');
  const npm = (...args: string[]) => run(stack, 'npm', args, { cwd: folder, env });
  if ((await lockOf(root)) === (await lockOf(folder))) {
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    await npm('run', 'prepare');
  } else {
    // `prepare` runs with it.
    await npm('ci', '--prefer-offline');
  }
  return folder;
}
