// Runs a command of `scripts/` in this process.
import type { Command, Surroundings } from '../../src/runtime/command.ts';
import { TEST_APP_AUTH_SECRET, TEST_APP_SECRET } from './api.ts';
import { bySocket } from './database.ts';
import { openPatiently } from './wire.ts';

/** What a command ended with. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Both, in the order in which they were written. */
  readonly output: string;
}

/** Returns what runs the command with the settings of a test, which knows no person to ask. */
export function commandAt(databaseUrl: string, given: Partial<Surroundings> = {}) {
  return async (
    command: Command,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Ended> => {
    const parts: (readonly ['out' | 'error', string])[] = [];
    const textOf = (stream?: 'out' | 'error'): string =>
      parts
        .filter(([written]) => stream === undefined || written === stream)
        .map(([, text]) => text)
        .join('');
    const code = await command({
      args,
      env: {
        NODE_ENV: 'test',
        LOG_LEVEL: 'warn',
        APP_SECRET: TEST_APP_SECRET,
        APP_AUTH_SECRET: TEST_APP_AUTH_SECRET,
        DATABASE_URL: databaseUrl,
        ...env,
      },
      print: (line) => void parts.push(['out', `${line}\n`]),
      printError: (line) => void parts.push(['error', `${line}\n`]),
      write: (text) => void parts.push(['out', text]),
      columns: undefined,
      ask: null,
      openDatabase: (url) => openPatiently(bySocket(url)),
      ...given,
    });
    return { code, stdout: textOf('out'), stderr: textOf('error'), output: textOf() };
  };
}
