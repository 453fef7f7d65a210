// A production install starts the same programs as npm's scripts, with the same options of Node.
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { makeFolder } from '../support/folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** It refuses an old Node, which a production install does not have. */
const CHECK = ['--import', './src/runtime/node-version.js'];

/** What `run` hands to Node: an install whose Node prints its arguments. */
async function argumentsOfRun(...args: readonly string[]): Promise<string[]> {
  const install = await makeFolder('install');
  const node = join(install, 'node_modules/.bin/node');
  const run = join(install, 'scripts/deploy/run');
  await mkdir(join(node, '..'), { recursive: true });
  await mkdir(join(run, '..'), { recursive: true });
  await writeFile(node, '#!/bin/sh\nprintf "%s\\n" "$@"\n');
  await chmod(node, 0o755);
  await copyFile(join(root, 'scripts/deploy/run'), run);
  const { stdout } = await promisify(execFile)(run, [...args]);
  return stdout
    .trimEnd()
    .split('\n')
    .map((arg) => (arg.startsWith('/') ? relative(install, arg) : arg));
}

test.each(['api', 'worker'] as const)(
  'starts the %s like npm, arguments included',
  async (name) => {
    const npm = packageJson.scripts[`start:${name}`].split(' ');
    const [exec, node, ...options] = npm;
    expect([exec, node, ...options.slice(0, CHECK.length)]).toEqual(['exec', 'node', ...CHECK]);
    expect(await argumentsOfRun(name, '--some', 'two words')).toEqual([
      ...options.slice(CHECK.length),
      '--some',
      'two words',
    ]);
  },
);

test.each([
  ['operator', 'team', 'suspend', 'team_x'],
  ['team', 'suspend', 'team_x'],
])('starts the commands of operators: %s %s', async (...args) => {
  const expected = ['scripts/operator.ts', 'team', 'suspend', 'team_x'];
  expect(await argumentsOfRun(...args)).toEqual(expected);
});

test('refuses an unknown command', async () => {
  await expect(argumentsOfRun('unknown')).rejects.toMatchObject({ code: 64 });
});
