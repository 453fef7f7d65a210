import { sizeOf } from '../../core/terminal.ts';
import { checkOfDatabase, fail, orOk, warn, type Check } from '../check.ts';

interface Slot {
  readonly name: string;
  readonly status: string | null;
  readonly held_bytes: number;
}

/** An inactive slot keeps the log of all writes, until the disk is full. */
export function replicationSlots(failBytes: number = 2 ** 30): Check {
  return checkOfDatabase('replication_slots', 'ApiUnavailable', async (ask) => {
    const rows = await ask<Slot>(
      `select slot_name as name, wal_status as status,
         coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::float8 as held_bytes
       from pg_replication_slots
       where not active
       order by 3 desc`,
    );
    const findings = rows.map(({ name, status, held_bytes }) => {
      const text = `nobody reads the slot ${name}, which keeps ${sizeOf(held_bytes)} of WAL`;
      const remedy =
        'Start the standby that it belongs to, or run ' +
        `"SELECT pg_drop_replication_slot('${name}')".`;
      if (status === 'lost')
        return fail(`the slot ${name} has lost its WAL`, `${remedy} That standby is made anew.`);
      return held_bytes >= failBytes ? fail(text, remedy) : warn(text, remedy);
    });
    return orOk(findings, 'all are in use');
  });
}
