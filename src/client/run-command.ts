import { modeOf } from './client.ts';
import { readOptions, USAGE, UsageError, type Options } from './command-options.ts';
import { ApiError } from './ask.ts';
import { keepSecret, secretFile } from './kept-secret.ts';
import { listen, type Terminal } from './listen.ts';
import { hasColors, printable } from './output.ts';
import { play } from './play.ts';
import { trigger } from './trigger.ts';

/** What a start of the command has from its process. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
  /** Writes a line to standard error. */
  readonly printError: (line: string) => void;
  readonly isTerminal: boolean;
  /** Ends what would go on for ever. */
  readonly signal: AbortSignal;
}

/** Runs the command and resolves with its exit code. */
export async function runCommand(args: string[], surroundings: Surroundings): Promise<number> {
  const { printError } = surroundings;
  try {
    return (await run(args, surroundings)) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof ApiError)) throw error;
    printError(printable(error.message));
    if (error instanceof UsageError) printError(`\n${USAGE}`);
    return 1;
  }
}

/** Returns whether all went well. */
async function run(args: string[], surroundings: Surroundings): Promise<boolean> {
  const { env, print, printError, isTerminal, signal } = surroundings;
  if (args.includes('--help')) {
    print(USAGE);
    return true;
  }
  const options = readOptions(args, env);
  const note = options.isJson ? printError : print;
  if (options.command === 'play') {
    note('Playing in the sandbox');
    await play(options, { print, signal });
    return true;
  }
  const secret = await requireSecret(options, surroundings, note);
  const terminal: Terminal = { print, note, isColored: hasColors(isTerminal, env), signal };
  if (options.command === 'trigger') return trigger(options, secret, terminal);
  const team = modeOf(options.apiKey) === 'test' ? 'the sandbox' : 'the live team';
  note(`Forwarding events of ${team} to ${options.forwardTo}`);
  return listen(options, secret, terminal);
}

async function requireSecret(
  options: Options,
  { env, printError }: Surroundings,
  note: (line: string) => void,
): Promise<string> {
  if (options.secret !== null) return options.secret;
  const kept = await keepSecret(secretFile(env));
  if (kept.note !== null) printError(kept.note);
  note(`Signing with ${kept.secret}`);
  return kept.secret;
}
