import { parseArgs, type ParseArgsConfig } from 'node:util';
import { printableLines } from '../core/terminal.ts';

/** As `sysexits.h` has it. */
const WRONG_ARGUMENTS = 64;

/**
 * Reads the arguments of a command, before it does anything. `--help` prints the usage and ends the
 * process with 0, an argument that the command does not know with 64: whoever misspells `--dry-run`
 * must not get the real thing.
 */
export function readArguments<T extends ParseArgsConfig>(
  usage: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  if (process.argv.slice(2).some((given) => given === '--help' || given === '-h')) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return refuseArguments(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  }
}

/** Ends the process, because its arguments are wrong. */
export function refuseArguments(message: string): never {
  console.error(printableLines(message));
  process.exit(WRONG_ARGUMENTS);
}
