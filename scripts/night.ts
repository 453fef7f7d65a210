// `npm run night -- start --seed N --round N` starts a small site and breaks one thing, as practice
// for operators. It prints what the operator on call is told, and not what it was. `answer`, with
// the same seed and round, prints that, and `stop` ends the site. It needs what test/deploy needs.
// test/night/README.md says how to play.
import '../src/runtime/node-version.ts';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { chooseFault, FAULTS } from '../test/night/faults.ts';

const USAGE = 'Usage: npm run night -- start|answer|stop [--seed N] [--round N]';
/** There is one night at a time. */
const FOLDER = join(tmpdir(), 'night');
const START_MS = 180_000;
const STOP_MS = 60_000;

const root = join(import.meta.dirname, '..');
const { values, positionals } = parseArgs({
  options: { seed: { type: 'string' }, round: { type: 'string' } },
  allowPositionals: true,
});
const name = chooseFault(values.seed ?? '1', Number(values.round ?? '1'));
const commands: Readonly<Record<string, () => Promise<string>>> = { start, answer, stop };

try {
  const command = commands[positionals.join(' ')];
  if (!command || !FAULTS[name]) throw new Error(USAGE);
  console.log(await command());
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function start(): Promise<string> {
  if (existsSync(FOLDER)) throw new Error(`${FOLDER} is there: run "npm run night -- stop" first`);
  await mkdir(FOLDER);
  const output = await open(join(FOLDER, 'stage.log'), 'w');
  const vitest = ['node_modules/.bin/vitest', 'run', '--config', 'test/vitest.config.ts'];
  const stage = spawn(process.execPath, [...vitest, '--project', 'night'], {
    cwd: root,
    // So that all of it can be ended, also by another process.
    detached: true,
    stdio: ['ignore', output.fd, output.fd],
    env: { ...process.env, NIGHT_FOLDER: FOLDER, NIGHT_FAULT: name },
  });
  stage.unref();
  await writeFile(join(FOLDER, 'pid'), String(stage.pid));
  const page = join(FOLDER, 'page.txt');
  const isThere = await waitFor(() => existsSync(page) || stage.exitCode !== null, START_MS);
  if (!isThere || !existsSync(page))
    throw new Error(`no night: see ${join(FOLDER, 'stage.log')}, then run "npm run night -- stop"`);
  return readFile(page, 'utf8');
}

async function answer(): Promise<string> {
  const { answer: said, pages } = FAULTS[name] ?? { answer: '', pages: [] };
  return `${name}: ${said}\nPages of the runbook: ${pages.join(', ')}`;
}

async function stop(): Promise<string> {
  const pid = Number(await readFile(join(FOLDER, 'pid'), 'utf8').catch(() => '0'));
  if (pid > 0 && isAlive(pid)) {
    await writeFile(join(FOLDER, 'stop'), '');
    if (!(await waitFor(() => !isAlive(pid), STOP_MS))) process.kill(-pid, 'SIGKILL');
  }
  await rm(FOLDER, { recursive: true, force: true });
  return 'The night is over.';
}

/** Resolves with whether it became so in time. */
async function waitFor(isSo: () => boolean, ms: number): Promise<boolean> {
  for (const end = Date.now() + ms; Date.now() < end; await delay(200)) if (isSo()) return true;
  return isSo();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
