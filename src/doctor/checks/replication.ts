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
  const isSynchronous = standbys.some(({ sync_state }) =>
    /^(?:sync|quorum)$/.test(sync_state ?? ''),
  );
  const isHidden = standbys.some(({ state }) => state === null);
  if ((wanted?.names ?? '') !== '' && !isSynchronous && !isHidden)
    findings.unshift(
      fail(
        'writes wait for a synchronous standby, and there is none',
        'Start a standby, or empty synchronous_standby_names until there is one.',
      ),
    );
  return orOk(findings, 'there is no standby');
});

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
