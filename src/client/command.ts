#!/usr/bin/env node
/**
 * The command for development: forwards a team's events to a local port, or sends an example. It
 * needs the public API and nothing else: no tunnel, no public address.
 */
import { readOptions, USAGE, UsageError } from './command-options.ts';
import { ApiError } from './ask.ts';
import { makeSecret } from './forward.ts';
import { listen } from './listen.ts';
import { trigger } from './trigger.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  if (args.length === 0 || args.includes('--help')) {
    print(USAGE);
    return;
  }
  const options = readOptions(args, process.env);
  const secret = options.secret ?? makeSecret();
  if (options.secret === null) print(`Signing with ${secret}`);
  const ended = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ended.abort());
  const terminal = { print, signal: ended.signal };
  if (options.command === 'trigger') return trigger(options, secret, terminal);
  print(`Forwarding events to ${options.forwardTo}`);
  return listen(options, secret, terminal);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof UsageError) && !(error instanceof ApiError)) throw error;
  process.stderr.write(`${error.message}\n`);
  if (error instanceof UsageError) process.stderr.write(`\n${USAGE}\n`);
  process.exitCode = 1;
}
