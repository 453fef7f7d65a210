import { parseArgs, type ParseArgsConfig } from 'node:util';

/** As `sysexits.h` has it. */
const WRONG_ARGUMENTS = 64;

/** Ends a command before it does anything, with a text and an exit code. */
export class EarlyEnd extends Error {
  override name = 'EarlyEnd';
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

/** Throw it for wrong arguments. The message names them. */
export function usageError(message: string): EarlyEnd {
  return new EarlyEnd(message, WRONG_ARGUMENTS);
}

/**
 * Reads the arguments of a command, before it does anything. `--help` ends it with the usage and 0,
 * an argument that the command does not know with 64: whoever misspells `--dry-run` must not get
 * the real thing.
 */
export function readArguments<T extends ParseArgsConfig>(
  usage: string,
  args: readonly string[],
  config: T,
): ReturnType<typeof parseArgs<T>> {
  if (args.some((given) => given === '--help' || given === '-h')) throw new EarlyEnd(usage, 0);
  try {
    return parseArgs<T>({ ...config, args: [...args] });
  } catch (error) {
    throw usageError(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  }
}
