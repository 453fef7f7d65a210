#!/usr/bin/env node
/**
 * The command for development: forwards a team's events to a local port, sends an example, or plays
 * something in a sandbox. It needs the public API and nothing else: no tunnel, no public address.
 */
import { modeOf } from './client.ts';
import { readOptions, USAGE, UsageError, type Options } from './command-options.ts';
import { ApiError } from './ask.ts';
import { keepSecret, secretFile } from './kept-secret.ts';
import { listen, type Terminal } from './listen.ts';
import { hasColors, printable } from './output.ts';
import { play } from './play.ts';
import { trigger } from './trigger.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const printError = (line: string): void => void process.stderr.write(`${line}\n`);

/** Returns whether all went well. */
async function main(): Promise<boolean> {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    print(USAGE);
    return true;
  }
  const options = readOptions(args, process.env);
  const ended = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ended.abort());
  const note = options.isJson ? printError : print;
  if (options.command === 'play') {
    note('Playing in the sandbox');
    await play(options, { print, signal: ended.signal });
    return true;
  }
  const secret = await requireSecret(options, note);
  const isColored = hasColors(process.stdout.isTTY, process.env);
  const terminal: Terminal = { print, note, isColored, signal: ended.signal };
  if (options.command === 'trigger') return trigger(options, secret, terminal);
  const team = modeOf(options.apiKey) === 'test' ? 'the sandbox' : 'the live team';
  note(`Forwarding events of ${team} to ${options.forwardTo}`);
  return listen(options, secret, terminal);
}

async function requireSecret(options: Options, note: (line: string) => void): Promise<string> {
  if (options.secret !== null) return options.secret;
  const kept = await keepSecret(secretFile(process.env));
  if (kept.note !== null) printError(kept.note);
  note(`Signing with ${kept.secret}`);
  return kept.secret;
}

// Who reads the output has gone, such as `head`.
process.stdout.on('error', () => process.exit(1));
try {
  if (!(await main())) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof UsageError) && !(error instanceof ApiError)) throw error;
  printError(printable(error.message));
  if (error instanceof UsageError) printError(`\n${USAGE}`);
  process.exitCode = 1;
}
