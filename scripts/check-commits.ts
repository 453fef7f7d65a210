// `npm run check-commits`, for `.ci/run`: each commit has a subject of 72 characters at most, a
// blank line, and a body that says why. Only commits after the one that added this file are read,
// because older ones do not keep the rule. Merges are left out. In a shallow clone, these are the
// commits that the clone has.
import '../src/runtime/node-version.ts';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const SUBJECT_MAX = 72;
/** `Co-authored-by: …`, which is no reason. */
const TRAILER = /^[A-Z][\w-]+: /;

interface Checked {
  /** How many commits were read; null: there is no history to read. */
  readonly count: number | null;
  readonly faults: readonly string[];
}

/** Checks the commits of the repository in `folder` that follow the one that added `since`. */
export function checkCommits(folder: string, since: string): Checked {
  const base = git(folder, ['log', '-1', '--diff-filter=A', '--format=%H', '--', since])?.trim();
  if (!base) return { count: null, faults: [] };
  const format = ['--no-merges', '--reverse', '-z', '--format=%h %B'];
  const log = git(folder, ['log', ...format, `${base}..HEAD`]);
  if (log === null) return { count: null, faults: [] };
  const commits = log.split('\0').filter((commit) => commit !== '');
  return { count: commits.length, faults: commits.flatMap(findFaults) };
}

function findFaults(commit: string): string[] {
  const [id, message] = splitOnce(commit);
  const [subject = '', blank = '', ...body] = message.split('\n');
  const faults: string[] = [];
  const length = Array.from(subject).length;
  if (length > SUBJECT_MAX) faults.push(`its subject has ${length} characters`);
  if (blank !== '') faults.push('its second line is not blank');
  else if (!body.some((line) => line.trim() !== '' && !TRAILER.test(line)))
    faults.push('it has no body that says why');
  return faults.map((fault) => `${id} ${subject}: ${fault}`);
}

function splitOnce(text: string): [string, string] {
  const at = text.indexOf(' ');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** null: git is not installed, or refuses, for instance because there is no repository. */
function git(folder: string, args: readonly string[]): string | null {
  const { status, stdout } = spawnSync('git', args, { cwd: folder, encoding: 'utf8' });
  return status === 0 ? stdout : null;
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const { count, faults } = checkCommits(root, 'scripts/check-commits.ts');
  for (const fault of faults) console.error(fault);
  console.log(count === null ? 'No history of commits to check.' : `${count} commits checked.`);
  if (faults.length > 0) process.exitCode = 1;
}
