// `npm run trace` as a process.
import { runScript, type Exit } from './processes.ts';

/** Runs the command, and resolves with what it has printed. */
export async function runTrace(
  databaseUrl: string,
  ...args: string[]
): Promise<Exit & { readonly output: string }> {
  const script = runScript(databaseUrl, ['trace', ...args]);
  const exit = await script.exited;
  return { ...exit, output: script.output() };
}
