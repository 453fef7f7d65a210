// Programs of Debian's packages that the tests of operation need. `.ci/run` installs them; on other
// machines those tests are skipped and say what is missing.
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/**
 * Returns what a test that needs these programs and root has to say when it is skipped, or null if
 * it can run.
 */
export function whyNot(programs: readonly string[]): string | null {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root';
  const missing = programs.filter((program) => !isInstalled(program));
  return missing.length === 0 ? null : `missing on this machine: ${missing.join(', ')}`;
}

/** Ends the title of a suite with the reason, if it is skipped. */
export function because(reason: string | null): string {
  return reason === null ? '' : ` (skipped: ${reason})`;
}

/**
 * Runs a program and resolves with its standard output. Rejects with all that it wrote if it fails.
 */
export async function run(
  program: string,
  args: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
): Promise<string> {
  try {
    const { stdout } = await execute(program, args, {
      maxBuffer: 64 * 1024 * 1024,
      ...options,
      env: { ...process.env, ...options.env },
    });
    return stdout.trim();
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

/** Whether a shell finds the program. */
export function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]).status === 0;
}
