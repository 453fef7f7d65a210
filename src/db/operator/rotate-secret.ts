import { ENCRYPTED_COLUMNS, type EncryptedColumn } from '../../core/encrypted-columns.ts';
import { reencrypt, type AppSecrets } from '../../core/encryption.ts';
import { statement, type Db, type Statement } from '../client.ts';
import { queryTeams } from '../parts.ts';

/** The result of a rotation: counts of values, by column (`table.column`). */
export interface Rotation {
  /** Values that were encrypted again with the current secret. */
  readonly rotated: Readonly<Record<string, number>>;
  /** Values that neither secret can decrypt. They are unchanged. */
  readonly unreadable: Readonly<Record<string, number>>;
}

const BATCH_SIZE = 500;
/**
 * A second pass finds the values that changed during the first. If passes never end, some process
 * still encrypts with the previous secret.
 */
const PASSES_MAX = 10;

/**
 * Encrypts all values of the previous APP_SECRET again with the current one. Resolves after a pass
 * that finds no value of the previous secret. Rejects if every pass finds some.
 *
 * Each batch is one statement. After an interruption the finished batches stay, and the next run
 * continues with the rest. API processes and workers may run meanwhile: a value that one of them
 * changes between our read and our write is left alone, and read again in the next pass.
 */
export async function rotateSecret(db: Db, secrets: AppSecrets): Promise<Rotation> {
  const rotated: Record<string, number> = {};
  const unreadable: Record<string, number> = {};
  for (const target of TARGETS) {
    const name = `${target.column.table}.${target.column.column}`;
    rotated[name] = 0;
    for (let passes = 1; ; passes += 1) {
      const pass = await rotateColumn(db, secrets, target);
      rotated[name] += pass.rotated;
      unreadable[name] = pass.unreadable;
      if (pass.found === 0) break;
      if (passes === PASSES_MAX)
        throw new Error(`${name}: some process still writes with APP_SECRET_PREVIOUS.`);
    }
  }
  return { rotated, unreadable };
}

/** An encrypted value, and the context that it is bound to. */
interface EncryptedValue {
  readonly sealed: Buffer;
  readonly context: string;
}

/** Returns the first encrypted values of each column. Empty if nothing is encrypted yet. */
export async function readSomeEncrypted(db: Db): Promise<EncryptedValue[]> {
  const found: EncryptedValue[] = [];
  for (const { column, read } of TARGETS) {
    const rows = await db.query(read, ['', '', BATCH_SIZE]);
    for (const { team_id, key, sealed } of rows)
      if (sealed !== null) found.push({ sealed, context: column.context(team_id, key) });
  }
  return found;
}

/** The counts of one pass over a column. */
interface Pass {
  /** Values of the previous secret, including those that changed before they were written. */
  found: number;
  rotated: number;
  unreadable: number;
}

interface Row {
  readonly team_id: string;
  readonly key: string;
  /** null: this row's value is not encrypted. */
  readonly sealed: Buffer | null;
}

async function rotateColumn(
  db: Db,
  secrets: AppSecrets,
  { column, read, write }: Target,
): Promise<Pass> {
  const pass: Pass = { found: 0, rotated: 0, unreadable: 0 };
  let after: readonly [string, string] = ['', ''];
  for (;;) {
    const rows = await db.query(read, [...after, BATCH_SIZE]);
    const last = rows.at(-1);
    if (!last) return pass;
    after = [last.team_id, last.key];
    const changes = rows.flatMap((row) => changeOf(row, { secrets, column, pass }));
    if (changes.length === 0) continue;
    pass.found += changes.length;
    const written = await queryTeams(db, write, [
      changes.map(({ row }) => row.team_id),
      changes.map(({ row }) => row.key),
      changes.map(({ old }) => old),
      changes.map(({ sealed }) => sealed),
    ]);
    pass.rotated += written.length;
  }
}

function changeOf(
  { sealed: old, ...row }: Row,
  { secrets, column, pass }: { secrets: AppSecrets; column: EncryptedColumn; pass: Pass },
): { row: Omit<Row, 'sealed'>; old: Buffer; sealed: Buffer }[] {
  if (old === null) return [];
  try {
    const sealed = reencrypt(old, secrets, column.context(row.team_id, row.key));
    return sealed === null ? [] : [{ row, old, sealed }];
  } catch {
    // This value is lost in any case. It must not block the rotation of the others.
    pass.unreadable += 1;
    return [];
  }
}

interface Target {
  readonly column: EncryptedColumn;
  readonly read: Statement<Row>;
  readonly write: Statement<{ team_id: string }>;
}

const TARGETS = Object.values(ENCRYPTED_COLUMNS).map(declareTarget);

/**
 * Declares the statements for a column. `write` locks the rows in the order of their keys, like all
 * code that locks several rows, and changes only rows that still have the value that was read.
 */
function declareTarget(encrypted: EncryptedColumn): Target {
  const { table, column, key, isEncrypted } = encrypted;
  const sealed =
    isEncrypted === null ? `t.${column}` : `case when ${isEncrypted} then t.${column} end`;
  return {
    column: encrypted,
    read: statement(
      `rotation.read.${table}.${column}`,
      // The limit includes rows that are not encrypted. Otherwise a statement might have to read
      // over millions of them.
      `select t.team_id, t.${key} as key, ${sealed} as sealed
       from ${table} t
       where (t.team_id, t.${key}) > ($1, $2)
       order by t.team_id, t.${key}
       limit $3`,
    ),
    write: statement(
      `rotation.write.${table}.${column}`,
      `with given as (
         select *
         from unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[])
           as g (team_id, key, old, new)
       ), held as materialized (
         select t.team_id, t.${key} as key, g.new
         from ${table} t
         join given g on g.team_id = t.team_id and g.key = t.${key} and g.old = t.${column}
         order by t.team_id, t.${key}
         for no key update of t
       )
       update ${table} t
       set ${column} = held.new
       from held
       where t.team_id = held.team_id and t.${key} = held.key
       returning t.team_id`,
    ),
  };
}
