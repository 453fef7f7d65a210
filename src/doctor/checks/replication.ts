import { sizeOf, spanOf } from '../../core/terminal.ts';
import { checkOfDatabase, fail, ok, orOk, unknown, warn, type Finding } from '../check.ts';

/** A row of pg_stat_replication. `state` null: the role may not see it. */
export interface Standby {
  readonly name: string;
  readonly state: string | null;
  readonly sync_state: string | null;
  readonly behind_bytes: number | null;
  readonly behind_s: number;
}

const WARN_BYTES = 256 * 2 ** 20;
const WARN_S = 30;

/** The standbys: whether writes wait for one that is not there, and how late they are. */
export const replication = checkOfDatabase('replication', 'Patroni', async (ask) => {
  const [wanted] = await ask<{ names: string }>(
    `select current_setting('synchronous_standby_names') as names`,
  );
  const standbys = await ask<Standby>(
    `select application_name as name, state, sync_state,
       pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::float8 as behind_bytes,
       coalesce(extract(epoch from replay_lag), 0)::float8 as behind_s
     from pg_stat_replication
     where coalesce(state, '') <> 'backup'
     order by 1`,
  );
  const findings = standbys.map(findingOfStandby);
  const waiting = findingOfSynchronous(wanted?.names ?? '', standbys);
  if (waiting !== null) findings.unshift(waiting);
  return orOk(findings, 'there is no standby');
});

/**
 * What to say when writes wait for standbys that are not there; null: they do not. `names` is
 * synchronous_standby_names: `FIRST 2 (a, b)`, `ANY 2 (a, b)`, `2 (a, b)`, or names without a
 * number, of which one is enough.
 */
export function findingOfSynchronous(
  names: string,
  standbys: readonly Pick<Standby, 'state' | 'sync_state'>[],
): Finding | null {
  if (names === '' || standbys.some(({ state }) => state === null)) return null;
  const wanted = Number(/^\s*(?:(?:FIRST|ANY)\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1);
  const found = standbys.filter(({ sync_state }) => /^(?:sync|quorum)$/.test(sync_state ?? ''));
  if (found.length >= wanted) return null;
  const whom = wanted === 1 ? 'a synchronous standby' : `${wanted} synchronous standbys`;
  return fail(
    `writes wait for ${whom}, and there ${countOf(found.length)}`,
    'Start a standby, or let synchronous_standby_names want fewer until there is one.',
  );
}

const countOf = (count: number): string =>
  count === 0 ? 'is none' : count === 1 ? 'is 1' : `are ${count}`;

/** Says how late a standby is. */
export function findingOfStandby({
  name,
  state,
  sync_state,
  behind_bytes,
  behind_s,
}: Standby): Finding {
  if (state === null) return unknown(`of ${name} nothing is seen: "GRANT pg_monitor" to this role`);
  const late = `${sizeOf(behind_bytes ?? 0)} and ${spanOf(behind_s * 1000)} behind`;
  const text = `${name} (${sync_state}) is ${state}, ${late}`;
  if ((behind_bytes ?? 0) < WARN_BYTES && behind_s < WARN_S) return ok(text);
  return warn(text, 'Look at its disk and network, and for long queries on it.');
}
