/** One call, with its input. */
import type { PrivateKind } from '../core/private-fields.ts';
import type { Privacy } from '../core/privacy.ts';
import type { Db, Tx } from '../db/client.ts';

/** One call of an operation with its parsed input. */
export interface OperationCall {
  /**
   * Does the network calls that the work needs. Never run it in a transaction, nor for a replay.
   */
  readonly prepare: (() => Promise<unknown>) | null;
  /** Does the work and resolves with the output, which matches the output schema. */
  readonly perform: (db: Db, prepared: unknown) => Promise<unknown>;
  /** Withholds the private fields of an output of `perform`. Returns null if there are none. */
  readonly withhold: (output: unknown) => WithheldOutput | null;
  /** null: the operation takes no `If-Match`. */
  readonly current: CurrentState | null;
}

/** What a call is about to change or remove. */
export interface CurrentState {
  /**
   * Reads it and locks it. Returns what shows it as a GET shows it to the caller, under the privacy
   * switches that the call has read by then. Throws `not_found`.
   */
  readonly read: (tx: Tx) => Promise<() => unknown>;
  /** Leaves out of it what changes by itself. */
  readonly of: (output: unknown) => unknown;
}

/** An output without its private fields (`core/private-fields.ts`). */
export interface WithheldOutput {
  readonly kind: PrivateKind;
  readonly output: unknown;
  /** The ids of the members or webhook endpoints that the private fields belong to. */
  readonly subjectIds: readonly string[];
}

/** Runs a call without idempotency. */
export async function runCall({ prepare, perform }: OperationCall, db: Db): Promise<unknown> {
  return perform(db, await prepare?.());
}

/**
 * Runs a call if `check` accepts what the call is about to change. The check and the work are in
 * one transaction, in which the row is locked. Throws what `check` throws.
 */
export async function runIf(
  { prepare, perform }: OperationCall,
  { read }: CurrentState,
  { db, check }: { readonly db: Db; readonly check: (state: unknown) => void },
): Promise<unknown> {
  const prepared = await prepare?.();
  return db.transaction(async (tx) => {
    const show = await read(tx);
    check(show());
    const output = await perform(tx, prepared);
    // The work reads the switches anew. A GET may show less now, and so have another tag.
    check(show());
    return output;
  });
}

/** For whom a call is, and what it was called with. */
export interface OnceCall {
  readonly db: Db;
  readonly teamId: string;
  /** Who calls. Only they are shown a secret again. */
  readonly actorId: string;
  readonly privacy: Privacy;
  /** The name of the procedure. */
  readonly name: string;
  readonly input: unknown;
}

/**
 * Runs a call once for its `Idempotency-Key`. Its repetition resolves with the same output, within
 * the limits of kept responses (`http/api/idempotency.ts`).
 */
export type Once = (of: OnceCall, call: OperationCall) => Promise<unknown>;
