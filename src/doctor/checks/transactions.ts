import { spanOf } from '../../core/terminal.ts';
import { checkOfDatabase, fail, orOk, unknown, warn, type Check } from '../check.ts';

interface Open {
  readonly pid: number;
  readonly program: string;
  readonly state: string;
  readonly age_s: number;
}

/** Ages in seconds. */
export interface Ages {
  readonly warnS: number;
  readonly failS: number;
}

/**
 * Transactions that are open for long. Until their end, no vacuum removes what was deleted since
 * they began, migrations wait for their locks, and so do rows.
 */
export function openTransactions({ warnS, failS }: Ages = { warnS: 300, failS: 3600 }): Check {
  return checkOfDatabase('transactions', 'ApiUnavailable', async (ask) => {
    const rows = await ask<Open>(
      `select pid, application_name as program, coalesce(state, '') as state,
         extract(epoch from clock_timestamp() - xact_start)::float8 as age_s
       from pg_stat_activity
       where backend_type = 'client backend' and pid <> pg_backend_pid()
         and clock_timestamp() - xact_start >= interval '${warnS} seconds'
       order by xact_start
       limit 5`,
    );
    const [sees] = await ask<{ all: boolean }>(
      `select pg_has_role('pg_read_all_stats', 'USAGE') as all`,
    );
    const findings = rows.map(({ pid, program, state, age_s }) => {
      const who = program === '' ? `process ${pid}` : `process ${pid} (${program})`;
      const text = `a transaction of ${who} is open for ${spanOf(age_s * 1000)}, ${state}`;
      const remedy = `End it by its program, or by "SELECT pg_terminate_backend(${pid})".`;
      return age_s >= failS ? fail(text, remedy) : warn(text, remedy);
    });
    if (!sees?.all)
      findings.push(unknown('of other roles nothing is seen: "GRANT pg_monitor" to this one'));
    return orOk(findings, `none is open for ${spanOf(warnS * 1000)}`);
  });
}
