/** The attempts of a delivery that its row keeps: those that failed as JSON, and the last one. */
import { z } from 'zod';
import type { RowOf } from './rows.ts';

/** How many failed attempts are kept for the team's admins: the last ones. */
const FAILED_MAX = 10;

const keptAttempt = z.object({
  attempt: z.int(),
  ended_at: z.string(),
  response_code: z.int().nullable(),
  response_ms: z.int().nullable(),
  error: z.string().nullable(),
});
const failedAttempts = z.array(keptAttempt).nullable();

/** An attempt that has ended; `ended_at` is ISO text. */
export type KeptAttempt = Readonly<z.output<typeof keptAttempt>>;

/** What `attemptsOf` reads. */
export type AttemptsRow = RowOf<
  'WebhookDelivery',
  'attempt' | 'last_attempt_at' | 'response_code' | 'response_ms' | 'error' | 'failed_attempts'
>;

/** Returns the failed attempts that are kept and the last one, whatever its end, oldest first. */
export function attemptsOf(row: AttemptsRow): KeptAttempt[] {
  const { attempt, last_attempt_at: ended_at, response_code, response_ms, error } = row;
  const failed = failedAttempts.parse(row.failed_attempts) ?? [];
  if (ended_at === null) return failed;
  return [
    ...failed.filter((other) => other.attempt < attempt),
    { attempt, ended_at, response_code, response_ms, error },
  ];
}

/** SQL: the column `kept` with one more failed attempt, without the oldest one if it is full. */
export const withFailedAttempt = (kept: string, added: string): string =>
  `case
         when jsonb_array_length(${kept}) >= ${FAILED_MAX} then ${kept} - 0
         else coalesce(${kept}, '[]')
       end || ${added}`;
