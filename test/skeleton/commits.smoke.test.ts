import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { checkCommits } from '../../scripts/check-commits.ts';
import { makeFolder } from '../support/folder.ts';

const CHECK = 'check.ts';
const LONG = 'x'.repeat(73);
let folder: string;

describe('the check of commits', () => {
  beforeEach(async () => {
    folder = await makeFolder('commits');
    git('init', '--quiet', '--initial-branch=main');
  });

  it('reads only the commits after the one that added it', async () => {
    commit(LONG);
    await addCheck(LONG);
    expect(check()).toEqual({ count: 0, faults: [] });

    commit('Say what changes\n\nAnd why.');
    expect(check()).toEqual({ count: 1, faults: [] });
  });

  it('names a subject that is too long, a missing body, and a subject of two lines', async () => {
    await addCheck('Check commits');
    commit(`${'ü'.repeat(72)}\n\nWhy.`);
    commit(`${LONG}\n\nWhy.`);
    commit('Nobody knows why');
    commit('Nobody knows why either\n\nCo-authored-by: Somebody <some@body.example>');
    commit('A subject\nof two lines\n\nWhy.');

    const { count, faults } = check();
    expect(count).toBe(5);
    expect(faults.map((fault) => fault.replace(/^[0-9a-f]+ /, ''))).toEqual([
      `${LONG}: its subject has 73 characters`,
      'Nobody knows why: it has no body that says why',
      'Nobody knows why either: it has no body that says why',
      'A subject: its second line is not blank',
    ]);
  });

  it('exempts merges, but not what they merge', async () => {
    await addCheck('Check commits');
    git('checkout', '--quiet', '-b', 'branch');
    commit('Nobody knows why');
    git('checkout', '--quiet', 'main');
    commit('Say what changes\n\nAnd why.');
    git('merge', '--quiet', '--no-ff', '-m', LONG, 'branch');

    expect(check()).toMatchObject({ count: 2, faults: [expect.stringContaining('Nobody knows')] });
  });

  it('checks what a shallow clone has', async () => {
    await addCheck('Check commits');
    commit('Nobody knows why');
    commit('Nobody knows why again');
    const clone = join(folder, 'clone');
    git('clone', '--quiet', '--depth=2', `file://${folder}`, clone);

    const { count, faults } = checkCommits(clone, CHECK);
    expect(count).toBe(1);
    expect(faults).toEqual([expect.stringContaining('Nobody knows why again')]);
  });

  it('has nothing to check without a repository', async () => {
    const nothing = { count: null, faults: [] };
    expect(check()).toEqual(nothing);
    await rm(join(folder, '.git'), { recursive: true });
    expect(check()).toEqual(nothing);
  });
});

const check = () => checkCommits(folder, CHECK);

async function addCheck(message: string): Promise<void> {
  await writeFile(join(folder, CHECK), '');
  git('add', CHECK);
  commit(message);
}

function commit(message: string): void {
  git('commit', '--quiet', '--allow-empty', '-m', message);
}

function git(...args: string[]): void {
  const who = ['user.name=A', 'user.email=a@example.org', 'commit.gpgsign=false'];
  execFileSync('git', [...who.flatMap((setting) => ['-c', setting]), ...args], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_SYSTEM: '/dev/null',
    },
  });
}
