/**
 * Runs a POST with an `Idempotency-Key` once, and keeps its response.
 *
 * Not everybody may see the whole of a kept response at any time, so it is kept in two forms:
 * whole, and without its private fields (`core/private-fields.ts`).
 *  * A replay shows emails and other details of persons only while `member_detail_enabled` is on.
 *    What the first response withheld stays withheld.
 *  * A replay shows a secret only to the API key, or in the app the member, that made the call.
 *    Others of the team get the same response without the secret, as every later read shows it.
 *  * When the member or the webhook endpoint goes that the fields belong to, they go from the kept
 *    response (`db/kept-responses.ts`). The rest stays, so that a repeated call still acts once.
 *  * A reset of a sandbox removes the responses of what it removes: a repeated call acts again.
 *
 * What the call was is kept as a fingerprint, encrypted: whoever reads the table could otherwise
 * try addresses until one has the same hash, after the address itself is gone. It is encrypted, and
 * no keyed hash, because `npm run rotate-secret` can then do without the secret of before.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import { ENCRYPTED_COLUMNS } from '../../core/encrypted-columns.ts';
import { decrypt, encrypt, type AppSecrets } from '../../core/encryption.ts';
import { canonicalJson } from '../../core/json.ts';
import { showsMemberDetail, type Privacy } from '../../core/privacy.ts';
import { ProblemError } from '../../core/problem.ts';
import { isRemovedByReset } from '../../core/sandbox.ts';
import type { Db, Tx } from '../../db/client.ts';
import type { WithheldOutput } from '../../trpc/call.ts';
import {
  beginIdempotent,
  findRecord,
  insertRecord,
  isTeamGone,
  type IdempotencyRecord,
  type NewRecord,
  type RecordKey,
} from './idempotency-store.ts';

/** A response of the API. */
export interface ApiResponse {
  readonly status: number;
  readonly body: string;
  readonly location: string | null;
}

/** A response to keep. */
export interface KeptResponse extends ApiResponse {
  /** The output without its private fields; null without such fields. */
  readonly withheld: WithheldOutput | null;
}

export interface IdempotentCall {
  readonly db: Db;
  readonly clock: Clock;
  readonly secrets: AppSecrets;
  readonly teamId: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  /** The path of the operation, or the name of the procedure. */
  readonly operation: string;
  /** The API key that calls, or the member in the app. */
  readonly keyId: string;
  /** The current switches of the team. */
  readonly privacy: Privacy;
}

export interface IdempotentWork<P> {
  readonly prepare: (() => Promise<P>) | null;
  /** Runs in the transaction that stores the record. `prepared` is undefined without `prepare`. */
  readonly perform: (tx: Tx, prepared: P | undefined) => Promise<KeptResponse>;
  /** Makes the response for a refusal of the operation. */
  readonly refuse: (problem: ProblemError) => KeptResponse;
}

export interface IdempotentOutcome {
  readonly response: ApiResponse;
  readonly replayed: boolean;
}

const KEY_MAX_LENGTH = 100;
const VALID_MS = 24 * 60 * 60 * 1000;

/** These say nothing about the operation itself, so a repeated call must run again. */
const NOT_KEPT = new Set(['unauthorized', 'insufficient_scope', 'api_disabled', 'rate_limited']);

/**
 * The `Idempotency-Key`, or null without one. An empty one is none: a tool that imports the OpenAPI
 * document sends the header with its default, and a default of any other text would be one key for
 * all calls. Throws `validation_error` for a long key and for two of them.
 */
export function idempotencyKeyOf(request: IncomingMessage): string | null {
  const keys = request.headersDistinct['idempotency-key'];
  if (keys === undefined) return null;
  const [key = ''] = keys;
  if (keys.length === 1 && key.length <= KEY_MAX_LENGTH) return key === '' ? null : key;
  const max = KEY_MAX_LENGTH;
  throw refuseKey(`There may be one Idempotency-Key, of at most ${max} characters.`);
}

/** Returns the `validation_error` of the header. */
export function refuseKey(detail: string, code = 'invalid_length'): ProblemError {
  const error = { path: 'header.Idempotency-Key', message: detail, code };
  return new ProblemError('validation_error', {
    errors: [error],
    field: 'Idempotency-Key',
    detail,
  });
}

/** A key is bound to the method, the path and the parsed JSON body. 32 bytes. */
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
 * Throws `conflict` while another call with the key is running, or if no secret of this process
 * opens the record, `idempotency_mismatch` when the key was used for another call, and any error of
 * the operation that is not stored.
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
  | { readonly kind: 'performed'; readonly response: ApiResponse };

/**
 * Locks the key and stores what `produce` responds, unless there is a record already. Opens a
 * transaction. Rejects only with errors of `produce` and of the database, so that the caller never
 * takes `conflict` or `idempotency_mismatch` for a refusal of the operation. If the team was erased
 * meanwhile it rejects with `unauthorized`: a team that is gone has no key.
 */
async function claim(
  call: IdempotentCall,
  produce: (tx: Tx) => Promise<KeptResponse>,
): Promise<ClaimResult> {
  const recordKey = recordKeyOf(call);
  const claiming = call.db.transaction<ClaimResult>(async (tx) => {
    const found = await beginIdempotent(tx, recordKey);
    if (!found?.locked) return { kind: 'running' };
    if (found.fingerprint !== null) return { kind: 'found', record: found };
    const response = await produce(tx);
    insertRecord(tx, recordKey, toRecord(call, response));
    return { kind: 'performed', response };
  });
  return claiming.catch((error: unknown) => {
    throw isTeamGone(error) ? new ProblemError('unauthorized') : error;
  });
}

function toRecord(call: IdempotentCall, response: KeptResponse): NewRecord {
  const { status, body, location, withheld } = response;
  const openBody = withheld && JSON.stringify(withheld.output);
  const [subject, ...others] = withheld?.subjectIds ?? [];
  // The switches may have withheld all private fields already.
  const isPrivate = withheld !== null && subject !== undefined && openBody !== body;
  const isSecret = isPrivate && withheld.kind === 'secret';
  return {
    fingerprint: sealFingerprint(call),
    status,
    body: isSecret
      ? encrypt(body, call.secrets.current, contextOf(call, 'keptResponse'))
      : Buffer.from(body),
    encrypted: isSecret,
    location,
    open_body: isPrivate && openBody !== null ? Buffer.from(openBody) : null,
    key_id: isSecret ? call.keyId : null,
    subject_id: isPrivate ? subject : null,
    other_subject_ids: isPrivate && others.length > 0 ? others : null,
    removed_by_reset: isRemovedByReset(call.operation),
  };
}

/** Few calls take longer than this. */
const RUNNING_RETRY_AFTER_S = 1;

/**
 * The problem of a call whose key is in use at the moment. Like each `conflict` that says when to
 * try again, it passes by itself.
 */
export function stillRunning(): ProblemError {
  return new ProblemError('conflict', {
    retry_after: RUNNING_RETRY_AFTER_S,
    detail: 'A call with this Idempotency-Key is still running.',
  });
}

function toOutcome(call: IdempotentCall, result: ClaimResult): IdempotentOutcome {
  switch (result.kind) {
    case 'running':
      throw stillRunning();
    case 'found':
      return { response: toResponse(call, result.record), replayed: true };
    case 'performed':
      return { response: result.response, replayed: false };
  }
}

/** Throws `idempotency_mismatch` when the record belongs to another call; see `unseal`. */
function toResponse(call: IdempotentCall, record: IdempotencyRecord): ApiResponse {
  if (!isOf(call, record.fingerprint)) throw new ProblemError('idempotency_mismatch');
  return { status: record.status, body: bodyFor(call, record), location: record.location };
}

function bodyFor(call: IdempotentCall, record: IdempotencyRecord): string {
  const { body, encrypted, open_body, key_id } = record;
  if (open_body === null) return body.toString();
  const mayShow = key_id === null ? showsMemberDetail(call.privacy) : key_id === call.keyId;
  if (!mayShow) return open_body.toString();
  return encrypted ? unseal(call, body, 'keptResponse') : body.toString();
}

function recordKeyOf({ teamId, key, clock }: IdempotentCall): RecordKey {
  const now = clock.now();
  return { teamId, key, now, validFrom: new Date(now.getTime() - VALID_MS) };
}

function sealFingerprint(call: IdempotentCall): Buffer {
  const text = call.fingerprint.toString('base64');
  return encrypt(text, call.secrets.current, contextOf(call, 'fingerprint'));
}

/** Whether a stored fingerprint is that of the call. */
function isOf(call: IdempotentCall, stored: Buffer): boolean {
  return unseal(call, stored, 'fingerprint') === call.fingerprint.toString('base64');
}

/**
 * While APP_SECRET is changed, a process that knows only the old one meets what a newer process has
 * kept. As to a call that is still running, it answers with `conflict`: the caller comes again, and
 * finds a newer process.
 */
function unseal(call: IdempotentCall, sealed: Buffer, column: SealedColumn): string {
  try {
    return decrypt(sealed, call.secrets, contextOf(call, column));
  } catch {
    throw stillRunning();
  }
}

type SealedColumn = 'keptResponse' | 'fingerprint';

function contextOf(call: IdempotentCall, column: SealedColumn): string {
  return ENCRYPTED_COLUMNS[column].context(call.teamId, call.key);
}

function isKept(error: unknown): error is ProblemError {
  if (!(error instanceof ProblemError) || error.status >= 500) return false;
  return !error.passes && !NOT_KEPT.has(error.code) && error.fields['retry_after'] === undefined;
}
