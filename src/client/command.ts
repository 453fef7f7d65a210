#!/usr/bin/env node
/**
 * The command for development: forwards a team's events to a local port, sends an example, or plays
 * something in a sandbox. It needs the public API and nothing else: no tunnel, no public address.
 */
import { runCommand } from './run-command.ts';

// Who reads the output has gone, such as `head`.
process.stdout.on('error', () => process.exit(1));
const ended = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ended.abort());
const code = await runCommand(process.argv.slice(2), {
  env: process.env,
  print: (line) => void process.stdout.write(`${line}\n`),
  printError: (line) => void process.stderr.write(`${line}\n`),
  isTerminal: process.stdout.isTTY,
  signal: ended.signal,
});
if (code !== 0) process.exitCode = code;
