// Helpers for tests of `npm run trace`.
import type { Database } from '../../src/db/connections/database.ts';
import type { Reason } from '../../src/trace/reasons.ts';
import { trace, type TraceResult } from '../../src/trace/service.ts';

/** Asks in this process. */
export function traceOf(
  db: Database,
  id: string,
  { teamId = null, now = new Date() }: { teamId?: string | null; now?: Date } = {},
): Promise<TraceResult> {
  return trace(db, { id, teamId, now });
}

/** The codes of all reasons that are given, each once. */
export function codesOf(result: TraceResult): string[] {
  const rows: readonly { readonly why: readonly Reason[] }[] = [
    result,
    ...[result.events, result.deliveries, result.endpoints, result.keys, result.teams].flat(),
  ];
  return [...new Set(rows.flatMap(({ why }) => why.map(({ code }) => code)))];
}
