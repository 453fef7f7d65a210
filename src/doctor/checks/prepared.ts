import { spanOf } from '../../core/terminal.ts';
import { checkOfDatabase, fail, orOk, unseen, warn, type Check } from '../check.ts';
import type { Ages } from './transactions.ts';

/** Prepared transactions that nobody ends. They keep locks, and survive a restart of Postgres. */
export function preparedTransactions({ warnS, failS }: Ages = { warnS: 60, failS: 600 }): Check {
  return checkOfDatabase('prepared_transactions', 'Doctor', async (ask) => {
    const { rows, silent } = await ask.everywhere<{ name: string; age_s: number }>(
      `select quote_literal(gid) as name,
         extract(epoch from clock_timestamp() - prepared)::float8 as age_s
       from pg_prepared_xacts
       where database = current_database()
         and clock_timestamp() - prepared >= interval '${warnS} seconds'
       order by prepared
       limit 5`,
    );
    const findings = rows.map(({ name, age_s, at }) => {
      const text = `${name}${at} waits for its end for ${spanOf(age_s * 1000)}`;
      const remedy = name.startsWith("'citus_")
        ? 'Citus ends it as soon as its nodes reach each other: see the line "citus".'
        : `Ask who has made it; then run "ROLLBACK PREPARED ${name}".`;
      return age_s >= failS ? fail(text, remedy) : warn(text, remedy);
    });
    return orOk([...findings, ...unseen(silent)], `none waits for ${spanOf(warnS * 1000)}`);
  });
}
