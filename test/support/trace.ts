// Helpers for tests of traces.
import type { Database } from '../../src/db/connections/database.ts';
import { trace } from '../../src/trace/service.ts';
import type { TraceResult } from '../../src/trace/view.ts';

/** Asks in this process. */
export function traceOf(
  db: Database,
  id: string,
  { teamId = null, now = new Date() }: { teamId?: string | null; now?: Date } = {},
): Promise<TraceResult> {
  return trace(db, { id, teamId, now });
}

/** The codes of the reasons of all rows of a kind. */
export function codesOf(rows: readonly { readonly why: readonly { readonly code: string }[] }[]) {
  return rows.flatMap(({ why }) => why.map(({ code }) => code));
}
