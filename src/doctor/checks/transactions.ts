import { spanOf } from '../../core/terminal.ts';
import { checkOfDatabase, fail, orOk, unknown, unseen, warn, type Check } from '../check.ts';

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
 * they began, migrations wait for their locks, and so do rows. What Citus opens at a node for a
 * transaction of another one is that transaction's part, and is told where it began.
 */
export function openTransactions({ warnS, failS }: Ages = { warnS: 300, failS: 3600 }): Check {
  return checkOfDatabase('transactions', 'ApiUnavailable', async (ask) => {
    const { rows, silent } = await ask.everywhere<Open>(
      `select pid, application_name as program, coalesce(state, '') as state,
         extract(epoch from clock_timestamp() - xact_start)::float8 as age_s
       from pg_stat_activity
       where backend_type = 'client backend' and pid <> pg_backend_pid()
         and application_name not like 'citus_internal %'
         and clock_timestamp() - xact_start >= interval '${warnS} seconds'
       order by xact_start
       limit 5`,
    );
    const sees = await ask.everywhere<{ all: boolean }>(
      `select pg_has_role('pg_read_all_stats', 'USAGE') as all`,
    );
    const findings = rows.map(({ pid, program, state, age_s, at }) => {
      const who = program === '' ? `process ${pid}` : `process ${pid} (${program})`;
      const text = `a transaction of ${who}${at} is open for ${spanOf(age_s * 1000)}, ${state}`;
      const remedy = `End it by its program, or${at} by "SELECT pg_terminate_backend(${pid})".`;
      return age_s >= failS ? fail(text, remedy) : warn(text, remedy);
    });
    for (const { all, at } of sees.rows)
      if (!all)
        findings.push(
          unknown(`of other roles nothing is seen${at}: "GRANT pg_monitor" to this one`),
        );
    return orOk([...findings, ...unseen(silent)], `none is open for ${spanOf(warnS * 1000)}`);
  });
}
