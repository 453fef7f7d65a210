import { createHash } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { ENCRYPTED_COLUMNS } from '../../core/encrypted-columns.ts';
import { decrypt, encrypt, type AppSecrets } from '../../core/encryption.ts';
import { canonicalJson } from '../../core/json.ts';
import { ProblemError } from '../../core/problem.ts';
import type { Db, Tx } from '../../db/client.ts';
import {
  beginIdempotent,
  findRecord,
  insertRecord,
  type IdempotencyRecord,
  type RecordKey,
} from './idempotency-store.ts';

/** A response as it is stored and replayed. */
export interface KeptResponse {
  readonly status: number;
  readonly body: string;
  readonly location: string | null;
}

export interface IdempotentCall {
  readonly db: Db;
  readonly clock: Clock;
  readonly secrets: AppSecrets;
  readonly teamId: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  /** True when the response holds a secret: its body is then encrypted before it is stored. */
  readonly secret: boolean;
}

export interface IdempotentWork<P> {
  readonly prepare: (() => Promise<P>) | null;
  /** Runs in the transaction that stores the record. `prepared` is undefined without `prepare`. */
  readonly perform: (tx: Tx, prepared: P | undefined) => Promise<KeptResponse>;
  /** Makes the response for a refusal of the operation. */
  readonly refuse: (problem: ProblemError) => KeptResponse;
}

export interface IdempotentOutcome {
  readonly response: KeptResponse;
  readonly replayed: boolean;
}

const VALID_MS = 24 * 60 * 60 * 1000;

/** These say nothing about the operation itself, so a repeated call must run again. */
const NOT_KEPT = new Set(['unauthorized', 'insufficient_scope', 'api_disabled', 'rate_limited']);

/** A key is bound to the method, the path and the parsed JSON body. */
export function fingerprintOf(method: string, path: string, body: unknown): Buffer {
  return createHash('sha256')
    .update(`${method}\n${path}\n`)
    .update(canonicalJson(body ?? null))
    .digest();
}

/**
 * Runs the operation once per key and resolves with its response, or with the stored one.
 *
 * The record commits in the same transaction as the operation's writes, so a crash leaves both or
 * neither. If the operation refuses, its transaction is rolled back and a second one stores the
 * refusal. If another call with the key has committed in between, that call's response wins.
 *
 * Throws `conflict` while another call with the key is running, `idempotency_mismatch` when the key
 * was used for another call, and any error of the operation that is not stored.
 */
export async function runOnce<P>(
  call: IdempotentCall,
  { prepare, perform, refuse }: IdempotentWork<P>,
): Promise<IdempotentOutcome> {
  if (prepare) {
    // A replay must not prepare again. The record is looked up again under the key's lock.
    const record = await findRecord(call.db, recordKeyOf(call));
    if (record) return toOutcome(call, { kind: 'found', record });
  }
  const prepared = await prepare?.();
  const result = await claim(call, (tx) => perform(tx, prepared)).catch((error: unknown) => {
    if (!isKept(error)) throw error;
    return claim(call, async () => refuse(error));
  });
  return toOutcome(call, result);
}

type ClaimResult =
  | { readonly kind: 'running' }
  | { readonly kind: 'found'; readonly record: IdempotencyRecord }
  | { readonly kind: 'performed'; readonly response: KeptResponse };

/**
 * Locks the key and stores what `produce` responds, unless there is a record already. Opens a
 * transaction. Rejects only with errors of `produce` and of the database, so that the caller never
 * takes `conflict` or `idempotency_mismatch` for a refusal of the operation.
 */
async function claim(
  call: IdempotentCall,
  produce: (tx: Tx) => Promise<KeptResponse>,
): Promise<ClaimResult> {
  const recordKey = recordKeyOf(call);
  return call.db.transaction(async (tx) => {
    const found = await beginIdempotent(tx, recordKey);
    if (!found?.locked) return { kind: 'running' };
    if (found.fingerprint !== null) return { kind: 'found', record: found };
    const response = await produce(tx);
    const body = call.secret
      ? encrypt(response.body, call.secrets.current, encryptionContextOf(call))
      : Buffer.from(response.body);
    insertRecord(tx, recordKey, {
      fingerprint: call.fingerprint,
      status: response.status,
      body,
      encrypted: call.secret,
      location: response.location,
    });
    return { kind: 'performed', response };
  });
}

function toOutcome(call: IdempotentCall, result: ClaimResult): IdempotentOutcome {
  switch (result.kind) {
    case 'running':
      throw new ProblemError('conflict', {
        detail: 'A call with this Idempotency-Key is still running.',
      });
    case 'found':
      return { response: toResponse(call, result.record), replayed: true };
    case 'performed':
      return { response: result.response, replayed: false };
  }
}

/** Throws `idempotency_mismatch` when the record belongs to another call. */
function toResponse(call: IdempotentCall, record: IdempotencyRecord): KeptResponse {
  if (!call.fingerprint.equals(record.fingerprint)) throw new ProblemError('idempotency_mismatch');
  const body = record.encrypted
    ? decrypt(record.body, call.secrets, encryptionContextOf(call))
    : record.body.toString();
  return { status: record.status, body, location: record.location };
}

function recordKeyOf({ teamId, key, clock }: IdempotentCall): RecordKey {
  const now = clock.now();
  return { teamId, key, now, validFrom: new Date(now.getTime() - VALID_MS) };
}

function encryptionContextOf(call: IdempotentCall): string {
  return ENCRYPTED_COLUMNS.keptResponse.context(call.teamId, call.key);
}

function isKept(error: unknown): error is ProblemError {
  return error instanceof ProblemError && error.status < 500 && !NOT_KEPT.has(error.code);
}
