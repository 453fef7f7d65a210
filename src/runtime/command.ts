import { createInterface } from 'node:readline';
import { printableLines } from '../core/terminal.ts';
import { openDatabase, type Database } from '../db/connections/database.ts';
import { EarlyEnd } from './arguments.ts';
import type { Environment } from './secret-files.ts';
import { messageOf } from './process.ts';

/** What a start of a command has from its process, or from a test. */
export interface Surroundings {
  readonly args: readonly string[];
  readonly env: Environment;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
  /** Writes a line to standard error. */
  readonly printError: (line: string) => void;
  /** Writes what programs read to standard output, unchanged. */
  readonly write: (text: string) => void;
  /** How many characters a line of the terminal has; undefined if standard output is none. */
  readonly columns: number | undefined;
  /** Asks a person. null: nobody can be asked. */
  readonly ask: ((question: string) => Promise<string>) | null;
  readonly openDatabase: (url: string) => Database;
}

/** Resolves with the exit code. */
export type Command = (surroundings: Surroundings) => Promise<number>;

/** Makes a command of its work, which may throw: then it says why, and ends with a code for it. */
export function commandOf(work: Command): Command {
  return async (surroundings) => {
    try {
      return await work(surroundings);
    } catch (error) {
      if (!(error instanceof EarlyEnd)) {
        surroundings.printError(messageOf(error));
        return 1;
      }
      if (error.code === 0) surroundings.print(error.message);
      else surroundings.printError(printableLines(error.message));
      return error.code;
    }
  };
}

/** Runs the command with what this process has, and leaves its exit code. */
export async function runHere(command: Command): Promise<void> {
  process.exitCode = await command({
    args: process.argv.slice(2),
    env: process.env,
    // Not earlier: `shapeOutput` replaces them.
    print: (line) => console.log(line),
    printError: (line) => console.error(line),
    write: (text) => void process.stdout.write(text),
    columns: process.stdout.columns,
    ask: process.stdin.isTTY && process.stderr.isTTY ? askHere : null,
    openDatabase: (url) => openDatabase({ url, poolMax: 1, onError: () => undefined }),
  });
}

async function askHere(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await new Promise<string>((resolve) => {
    // Ctrl-C and Ctrl-D close it.
    terminal.once('close', () => resolve(''));
    terminal.question(question, resolve);
  });
  terminal.close();
  return answer;
}
