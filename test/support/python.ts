// A Python for tests of the Python client, with the client installed as customers install it.
import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildPythonClient } from '../../scripts/python-client/build.ts';
import { makeFolder } from './folder.ts';

const run = promisify(execFile);

/** The first Python of 3.11 or newer; null if there is none. */
const PYTHON = ['python3.11', 'python3'].find(isNewEnough) ?? null;

function isNewEnough(command: string): boolean {
  const check = 'import sys; sys.exit(sys.version_info < (3, 11))';
  try {
    execFileSync(command, ['-c', check], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Why these tests are skipped on this machine, for the name of a suite; empty if they run. */
export const SKIPPED = PYTHON === null ? ' (skipped: there is no python3 of 3.11 or newer)' : '';

export interface PythonClient {
  readonly wheel: string;
  /** The files of the wheel, as they are installed. */
  readonly unpacked: string;
  /** Where the client is installed. */
  readonly python: string;
  /** How it was installed: `pip`, or `path` where Python has no pip. */
  readonly installedBy: 'pip' | 'path';
  /** The environment of a process that runs `python`. */
  env(more?: Readonly<Record<string, string>>): NodeJS.ProcessEnv;
  /** Runs a program. Returns what it prints. */
  run(
    program: string,
    options?: { env?: Readonly<Record<string, string>>; input?: string },
  ): Promise<string>;
}

/** Builds the client and installs its wheel into an environment of its own. */
export async function installPythonClient(): Promise<PythonClient> {
  const folder = await makeFolder('python-client');
  const unpacked = join(folder, 'built');
  const wheel = await buildPythonClient(unpacked);
  const venv = join(folder, 'venv');
  // Debian has Python without pip, and then neither this.
  const hasPip = await run(PYTHON ?? '', ['-c', 'import ensurepip, venv']).then(
    () => true,
    () => false,
  );
  const python = hasPip ? join(venv, 'bin/python') : (PYTHON ?? '');
  if (hasPip) {
    await run(PYTHON ?? '', ['-m', 'venv', venv]);
    const install = ['-m', 'pip', 'install', '--no-index', '--disable-pip-version-check', wheel];
    await run(python, install);
  }
  const env = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => ({
    ...process.env,
    PYTHONDONTWRITEBYTECODE: '1',
    ...(hasPip ? {} : { PYTHONPATH: unpacked }),
    ...more,
  });
  return {
    wheel,
    unpacked,
    python,
    installedBy: hasPip ? 'pip' : 'path',
    env,
    run: async (program, options = {}) => {
      // A warning, as one of a connection that was not closed, is a failure.
      const args = ['-W', 'error', program];
      const child = run(python, args, { env: env(options.env), maxBuffer: 64 << 20 });
      child.child.stdin?.end(options.input ?? '');
      return (await child).stdout;
    },
  };
}
