import { statement, type Db, type Tx } from '../../db/client.ts';
import { listed, parameters, valuesIn, type RowOf } from '../../db/rows.ts';

const RECORD = [
  'fingerprint',
  'status',
  'body',
  'encrypted',
  'location',
  'open_body',
  'key_id',
] as const;
const STORED = [...RECORD, 'subject_id', 'other_subject_ids', 'removed_by_reset'] as const;

/**
 * A stored response. The fingerprint is that of the call, encrypted; `encrypted`: the body
 * is; `open_body`: the body without its private fields, null if it has none. `key_id` alone may see
 * the whole body; null: that depends on the privacy switches.
 */
export type IdempotencyRecord = RowOf<'IdempotencyRecord', (typeof RECORD)[number]>;

/** A response to store. `subject_id`: whom its private fields belong to, beside the others. */
export interface NewRecord extends RowOf<
  'IdempotencyRecord',
  Exclude<(typeof STORED)[number], 'other_subject_ids'>
> {
  readonly other_subject_ids: readonly string[] | null;
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
  `select locked, ${listed(RECORD)}
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
  `select ${listed(RECORD)}
   from idempotency_record
   where team_id = $1 and key = $2 and created_at >= $3`,
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
  `insert into idempotency_record (team_id, key, created_at, ${listed(STORED)})
   values ($1, $2, $3, ${parameters(STORED, 4)})
   on conflict (team_id, key) do update
   set ${['created_at', ...STORED].map((name) => `${name} = excluded.${name}`).join(',\n     ')}`,
);

/** On Citus, the number of the shard follows. */
const TEAM_OF_RECORD = /^idempotency_record_team_id_fkey(?:_\d+)?$/;

/** Whether a record was refused because its team is gone. */
export function isTeamGone(error: unknown): boolean {
  if (!(error instanceof Error) || !('constraint' in error)) return false;
  return typeof error.constraint === 'string' && TEAM_OF_RECORD.test(error.constraint);
}

/** Sends the record without waiting. Needs the key's lock (`beginIdempotent`). */
export function insertRecord(tx: Tx, { teamId, key, now }: RecordKey, record: NewRecord): void {
  tx.send(INSERT, [teamId, key, now, ...valuesIn(STORED, record)]);
}
