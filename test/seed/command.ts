// `npm run seed` as a process.
import { execFile, type ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { SOURCES } from '../support/sources.ts';
import { APP_SECRET } from './full-file.ts';

/** Of the tests of a file. */
let database: TestDatabase;
/** Where the command runs. */
let folder: string;

/** Gives the tests of this file a database and a folder. */
export function useSeedCommand(): void {
  beforeAll(async () => {
    database = await createTestDatabase();
    folder = await makeFolder('seed');
  });
  afterAll(() => database.drop());
}

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

export async function writeJson(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

export function seed(
  args: string[],
  env: Record<string, string> = { DATABASE_URL: database.url, APP_SECRET },
  cwd = folder,
): Promise<Outcome> {
  return spawnSeed(args, env, cwd).outcome;
}

/** A seed that may be ended. */
export function spawnSeed(
  args: string[],
  env: Record<string, string>,
  cwd: string,
): { child: ChildProcess; outcome: Promise<Outcome> } {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const child = execFile(
    process.execPath,
    [join(SOURCES, 'scripts/seed.ts'), ...args],
    { cwd, env: { PATH, NODE_COMPILE_CACHE, ...env } },
    (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
  );
  return { child, outcome: promise };
}
