// Helpers for tests of `npm run trace`.
import type { Database } from '../../src/db/connections/database.ts';
import { trace } from '../../src/trace/service.ts';
import type { TraceResult } from '../../src/trace/view.ts';
import { runScript, type Exit } from './processes.ts';

/** Asks in this process. */
export function traceOf(
  db: Database,
  id: string,
  { teamId = null, now = new Date() }: { teamId?: string | null; now?: Date } = {},
): Promise<TraceResult> {
  return trace(db, { id, teamId, now });
}

/** Runs the command, and resolves with what it has printed. */
export async function runTrace(
  databaseUrl: string,
  ...args: string[]
): Promise<Exit & { readonly output: string }> {
  const script = runScript(databaseUrl, ['trace', ...args]);
  const exit = await script.exited;
  return { ...exit, output: script.output() };
}

/** The codes of the reasons of all rows of a kind. */
export function codesOf(rows: readonly { readonly why: readonly { readonly code: string }[] }[]) {
  return rows.flatMap(({ why }) => why.map(({ code }) => code));
}
