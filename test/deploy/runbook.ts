// The commands of the runbook, to be run as they stand there.
import { readFile } from 'node:fs/promises';
import { run } from '../support/debian.ts';
import { PROGRAMS } from '../availability/postgres.ts';

const RUNBOOK = new URL('../../scripts/deploy/README.md', import.meta.url);

/** Resolves with the shell commands of a section, block by block. */
export async function readBlocks(heading: string): Promise<string[]> {
  const [, after] = (await readFile(RUNBOOK, 'utf8')).split(`\n## ${heading}\n`);
  const section = after?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^( *)```sh\n([^]*?)^ *```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** Runs a block as the user postgres, as the runbook says. */
export function runBlock(
  block: string | undefined,
  env: Readonly<Record<string, string>>,
  cwd = '/',
): Promise<string> {
  if (block === undefined) throw new Error('The runbook has no such block.');
  const user = ['--reuid=postgres', '--regid=postgres', '--clear-groups'];
  const path = `${PROGRAMS}:${process.env['PATH']}`;
  return run('setpriv', [...user, 'sh', '-euc', block], { cwd, env: { ...env, PATH: path } });
}
