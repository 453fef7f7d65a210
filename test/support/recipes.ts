// The programs of the guides, run as a reader runs them: the files of `examples/`, in a folder of
// their own, with the client packages installed.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { PACKAGE_NAME, tarballOf } from '../../src/client/package-name.ts';
import { makeFolder } from './folder.ts';
import { installPythonClient } from './python.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const EXAMPLES = join(root, 'src/docs/examples');
const run = promisify(execFile);

/** What a program came to. */
export interface Ended {
  readonly code: number | null;
  /** What it printed, and its errors. */
  readonly output: string;
  readonly ms: number;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  output(): string;
}

export interface Recipes {
  /** Makes an empty folder, in which programs find the packages. */
  makeFolder(): Promise<string>;
  /** Starts an example there. `port` replaces the 4000 of its text. */
  start(
    folder: string,
    file: string,
    env: Readonly<Record<string, string>>,
    options?: { readonly port?: number; readonly args?: readonly string[] },
  ): Promise<Started>;
  /** The Python of the programs. */
  readonly python: string;
}

export const readRecipe = (file: string): Promise<string> => readFile(join(EXAMPLES, file), 'utf8');

/** Builds and installs both packages. */
export async function installRecipes(): Promise<Recipes> {
  const home = await makeFolder('recipes');
  const built = join(home, 'built');
  await run(process.execPath, [join(root, 'scripts/build-client.ts'), built], { cwd: root });
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const client = join(home, 'node_modules', PACKAGE_NAME);
  await mkdir(client, { recursive: true });
  await run('tar', ['-xzf', join(built, tarballOf(version)), '-C', client, '--strip-components=1']);
  await writeFile(join(home, 'package.json'), '{ "private": true, "type": "module" }');
  const python = await installPythonClient();
  return {
    python: python.python,
    makeFolder: () => makeFolder('run', home),
    start: async (folder, file, env, { port, args = [] } = {}) => {
      const path = join(folder, file);
      if (port === undefined) await cp(join(EXAMPLES, file), path);
      else await writeFile(path, (await readRecipe(file)).replaceAll(/\b4000\b/g, String(port)));
      const program = file.endsWith('.py') ? [python.python, '-W', 'error'] : [process.execPath];
      const [command = '', ...options] = program;
      const began = performance.now();
      const child = spawn(command, [...options, file, ...args], {
        cwd: folder,
        env: python.env(env),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      const chunks: string[] = [];
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
      const output = (): string => chunks.join('');
      const ended = new Promise<Ended>((done) => {
        child.once('close', (code) =>
          done({ code, output: output(), ms: Math.round(performance.now() - began) }),
        );
      });
      return { child, ended, output };
    },
  };
}
