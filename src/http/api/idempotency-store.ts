import { statement, type Db, type Tx } from '../../db/client.ts';

/** A stored response. */
export interface IdempotencyRecord {
  /** Of the call, encrypted or plain. */
  readonly fingerprint: Buffer;
  readonly status: number;
  readonly body: Buffer;
  /** Whether `body` is encrypted. */
  readonly encrypted: boolean;
  readonly location: string | null;
  /** The body without its private fields; null if it has none. */
  readonly open_body: Buffer | null;
  /** The API key that alone may see the whole body. null: it depends on the privacy switches. */
  readonly key_id: string | null;
}

/** A response to store. */
export interface NewRecord extends IdempotencyRecord {
  /** The member or webhook endpoint that the private fields belong to; null without such fields. */
  readonly subject_id: string | null;
  /** Others that they belong to; null if there are none. */
  readonly other_subject_ids: readonly string[] | null;
  /** Whether it goes with a reset of the sandbox. */
  readonly removed_by_reset: boolean;
}

/** The key of a record. Records from before `validFrom` count as missing. */
export interface RecordKey {
  readonly teamId: string;
  readonly key: string;
  readonly now: Date;
  readonly validFrom: Date;
}

/** `locked` is false while another call holds the key. `fingerprint` is null without a record. */
type Beginning =
  | (IdempotencyRecord & { readonly locked: boolean })
  | { readonly locked: boolean; readonly fingerprint: null };

const BEGIN = statement<Beginning>(
  'idempotency.begin',
  `select locked, fingerprint, status, body, encrypted, location, open_body, key_id
   from begin_idempotent_call($1, $2, $3)`,
);

/** Locks the key until the transaction ends, then looks for its record. Never waits for a lock. */
export async function beginIdempotent(
  tx: Tx,
  { teamId, key, validFrom }: RecordKey,
): Promise<Beginning | undefined> {
  const [found] = await tx.query(BEGIN, [teamId, key, validFrom]);
  return found;
}

const FIND = statement<IdempotencyRecord>(
  'idempotency.find',
  `select fingerprint, status, body, encrypted, location, open_body, key_id
   from idempotency_record
   where team_id = $1 and key = $2 and created_at >= $3`,
  { because: 'hot' },
);

/** Looks for a record without locking its key. */
export async function findRecord(
  db: Db,
  { teamId, key, validFrom }: RecordKey,
): Promise<IdempotencyRecord | undefined> {
  const [record] = await db.query(FIND, [teamId, key, validFrom]);
  return record;
}

// An expired record may still be there. Its key is free again, so the row is replaced.
const INSERT = statement(
  'idempotency.insert',
  `insert into idempotency_record
     (team_id, key, fingerprint, status, body, encrypted, location, created_at, open_body, key_id,
      subject_id, other_subject_ids, removed_by_reset)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
   on conflict (team_id, key) do update
   set fingerprint = excluded.fingerprint,
     status = excluded.status,
     body = excluded.body,
     encrypted = excluded.encrypted,
     location = excluded.location,
     created_at = excluded.created_at,
     open_body = excluded.open_body,
     key_id = excluded.key_id,
     subject_id = excluded.subject_id,
     other_subject_ids = excluded.other_subject_ids,
     removed_by_reset = excluded.removed_by_reset`,
);

/** Sends the record without waiting. Needs the key's lock (`beginIdempotent`). */
export function insertRecord(tx: Tx, { teamId, key, now }: RecordKey, record: NewRecord): void {
  const { fingerprint, status, body, encrypted, location, open_body, key_id } = record;
  tx.send(INSERT, [
    teamId,
    key,
    fingerprint,
    status,
    body,
    encrypted,
    location,
    now,
    open_body,
    key_id,
    record.subject_id,
    record.other_subject_ids,
    record.removed_by_reset,
  ]);
}
