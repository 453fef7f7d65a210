/** How large tables become, from how fast they grow and how long their rows are kept. */
import { RETENTIONS } from '../features/retention/rules.ts';
import { KEPT_DAYS_MAX } from '../features/requests/rules.ts';

const DAY_MS = 86_400_000;

/**
 * Bytes of a row with its share of the indexes, as tables have them in life. How many a packed
 * table has is measured by `test/features/sizing.heavy.test.ts`, which holds these figures and the
 * runbook's to it.
 */
export const BYTES_PER_ROW = {
  webhook_delivery: 1050,
  event: 950,
  audit_log: 1040,
  request_log: 415,
  idempotency_record: 1150,
  assignment: 650,
} as const;

/** A table whose rows are removed when they are old. */
export interface Growing {
  readonly table: string;
  readonly keptDays: number;
  /** SQL: when a row was written, and which rows an index has by that. null: partitions tell. */
  readonly written: { readonly at: string; readonly condition: string } | null;
}

/** Returns the tables with an end for their rows. */
export function growingTables(requestLogDays = KEPT_DAYS_MAX): readonly Growing[] {
  const kept = RETENTIONS.map(({ table, keepMs, at, condition = 'true' }): Growing => ({
    table,
    keptDays: keepMs / DAY_MS,
    written: { at, condition },
  }));
  // Of a table with several kinds of rows, the first kind is that of most rows.
  const first = kept.filter(
    ({ table }, place) => kept.findIndex((one) => one.table === table) === place,
  );
  // Its whole days, and the one that has begun.
  return [...first, { table: 'request_log', keptDays: requestLogDays + 1, written: null }];
}

/** What a table has now. */
export interface Measured {
  readonly rows: number;
  readonly bytes: number;
  readonly rowsPerDay: number;
}

/** Fewer rows say little about the size of one. */
const ROWS_ENOUGH = 10_000;

/** Returns the bytes that the table has when as many rows are removed as are written. */
export function bytesInTheEnd(
  { table, keptDays }: Pick<Growing, 'table' | 'keptDays'>,
  { rows, bytes, rowsPerDay }: Measured,
): number {
  const known = Object.hasOwn(BYTES_PER_ROW, table)
    ? BYTES_PER_ROW[table as keyof typeof BYTES_PER_ROW]
    : null;
  const perRow = rows >= ROWS_ENOUGH || known === null ? bytes / Math.max(1, rows) : known;
  return rowsPerDay * keptDays * perRow;
}
