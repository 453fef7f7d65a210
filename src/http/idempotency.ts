import { createHash } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import { ENCRYPTED_COLUMNS } from '../core/encrypted-columns.ts';
import { decrypt, encrypt, type AppSecrets } from '../core/encryption.ts';
import { canonicalJson } from '../core/json.ts';
import { ProblemError } from '../core/problem.ts';
import { statement, type Db, type Tx } from '../db/client.ts';

/** A response as it is kept and replayed. */
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
  /** The response holds a secret: encrypt what is kept. */
  readonly secret: boolean;
}

export interface IdempotentWork<P> {
  readonly prepare: (() => Promise<P>) | null;
  readonly perform: (tx: Tx, prepared: P | undefined) => Promise<KeptResponse>;
  /** The response that tells a refusal. */
  readonly refuse: (problem: ProblemError) => KeptResponse;
}

export type IdempotentOutcome = { readonly response: KeptResponse; readonly replayed: boolean };

const VALID_MS = 24 * 60 * 60 * 1000;

/** Answers that say nothing about the operation itself are not kept (decisions 27). */
const NOT_KEPT = new Set(['unauthorized', 'insufficient_scope', 'api_disabled', 'rate_limited']);

/** What a key is bound to: method, path and the body as parsed JSON. */
export function fingerprintOf(method: string, path: string, body: unknown): Buffer {
  return createHash('sha256')
    .update(`${method}\n${path}\n`)
    .update(canonicalJson(body ?? null))
    .digest();
}

/**
 * Runs the operation once per key (decisions 26 to 28). The record commits in the transaction of what the operation wrote, so a crash leaves both or
 * neither. A refusal rolls the operation back and is kept in a transaction of its own; should another call have come first meanwhile, its response counts.
 *
 * What the operation needs and no transaction may wait for, it prepares before, and not for a replay.
 *
 * Throws `conflict` while a call with the key runs, `idempotency_mismatch` when the key was used for something else, and what the operation throws.
 */
export async function runOnce<P>(
  call: IdempotentCall,
  { prepare, perform, refuse }: IdempotentWork<P>,
): Promise<IdempotentOutcome> {
  // A record is looked for here only to spare a replay the preparation; under the key's lock it is looked for again.
  const known = prepare ? await findKept(call) : null;
  if (known) return known;
  const prepared = await prepare?.();
  let refused: ProblemError | null = null;
  try {
    return await keep(call, async (tx) => {
      try {
        return await perform(tx, prepared);
      } catch (error) {
        refused = problemIn(error);
        throw error;
      }
    });
  } catch (error) {
    const problem: ProblemError | null = refused;
    if (problem === null || !isKept(problem)) throw error;
    const outcome = await keep(call, async () => refuse(problem));
    if (outcome.replayed) return outcome;
    throw error;
  }
}

async function keep(call: IdempotentCall, produce: (tx: Tx) => Promise<KeptResponse>): Promise<IdempotentOutcome> {
  const now = call.clock.now();
  return call.db.transaction(async (tx) => {
    const [found] = await tx.query(BEGIN, [call.teamId, call.key, validFrom(now)]);
    if (!found?.locked)
      throw new ProblemError('conflict', { detail: 'A call with this Idempotency-Key is still running.' });
    if (found.fingerprint !== null) return { response: replay(call, found), replayed: true };
    const response = await produce(tx);
    const body = call.secret
      ? encrypt(response.body, call.secrets.current, contextOf(call))
      : Buffer.from(response.body);
    tx.send(INSERT, [
      call.teamId,
      call.key,
      call.fingerprint,
      response.status,
      body,
      call.secret,
      response.location,
      now,
    ]);
    return { response, replayed: false };
  });
}

async function findKept(call: IdempotentCall): Promise<IdempotentOutcome | null> {
  const [found] = await call.db.query(FIND, [call.teamId, call.key, validFrom(call.clock.now())]);
  return found ? { response: replay(call, found), replayed: true } : null;
}

function validFrom(now: Date): Date {
  return new Date(now.getTime() - VALID_MS);
}

function replay(call: IdempotentCall, found: FoundRecord): KeptResponse {
  if (!call.fingerprint.equals(found.fingerprint)) throw new ProblemError('idempotency_mismatch');
  const body = found.encrypted ? decrypt(found.body, call.secrets, contextOf(call)) : found.body.toString();
  return { status: found.status, body, location: found.location };
}

function contextOf(call: IdempotentCall): string {
  return ENCRYPTED_COLUMNS.keptResponse.context(call.teamId, call.key);
}

function problemIn(error: unknown): ProblemError | null {
  if (error instanceof ProblemError) return error;
  return error instanceof Error && error.cause !== undefined ? problemIn(error.cause) : null;
}

function isKept(problem: ProblemError): boolean {
  return problem.status < 500 && !NOT_KEPT.has(problem.code);
}

interface FoundRecord {
  fingerprint: Buffer;
  status: number;
  body: Buffer;
  encrypted: boolean;
  location: string | null;
}

const BEGIN = statement<(FoundRecord & { locked: boolean }) | { locked: boolean; fingerprint: null }>(
  'idempotency.begin',
  'select * from begin_idempotent($1, $2, $3)',
);

const FIND = statement<FoundRecord>(
  'idempotency.find',
  'select fingerprint, status, body, encrypted, location from idempotency_record where team_id = $1 and key = $2 and created_at >= $3',
);

// A record past its 24 hours may still be there: the key is free again, so it is replaced.
const INSERT = statement(
  'idempotency.insert',
  `insert into idempotency_record (team_id, key, fingerprint, status, body, encrypted, location, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)
   on conflict (team_id, key) do update set fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body,
     encrypted = excluded.encrypted, location = excluded.location, created_at = excluded.created_at`,
);
