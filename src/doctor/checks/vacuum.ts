import { spanOf } from '../../core/terminal.ts';
import { checkOfDatabase, fail, orOk, OUR_SCHEMAS, unseen, warn } from '../check.ts';

interface Bloated {
  readonly name: string;
  readonly dead: number;
  readonly live: number;
  readonly vacuumed_s: number | null;
}

const DEAD_MIN = 10_000;
const DEAD_SHARE = 0.2;

/** How many tables are told. */
const SHOWN = 5;

/** Tables with many dead rows, and whether anything removes them; on Citus, the nodes' shards. */
export const vacuum = checkOfDatabase('vacuum', 'Doctor', async (ask) => {
  const settings = await ask.everywhere<{ is_on: boolean }>(
    `select current_setting('autovacuum')::boolean and current_setting('track_counts')::boolean
       as is_on`,
  );
  const excluded = await ask.everywhere<{ name: string }>(
    `select oid::regclass::text as name
     from pg_class, pg_options_to_table(reloptions)
     where relnamespace::regnamespace::text in (${OUR_SCHEMAS})
       and option_name = 'autovacuum_enabled' and not option_value::boolean`,
  );
  const bloated = await ask.everywhere<Bloated>(
    `select relid::regclass::text as name, n_dead_tup::float8 as dead, n_live_tup::float8 as live,
       extract(epoch from now() - greatest(last_vacuum, last_autovacuum))::float8 as vacuumed_s
     from pg_stat_user_tables
     where n_dead_tup > ${DEAD_MIN} and n_dead_tup > ${DEAD_SHARE} * n_live_tup
     order by n_dead_tup desc
     limit ${SHOWN}`,
  );
  const most = bloated.rows.toSorted((one, other) => other.dead - one.dead).slice(0, SHOWN);
  const findings = most.map(({ name, dead, live, vacuumed_s, at }) => {
    const when =
      vacuumed_s === null ? 'never vacuumed' : `vacuumed ${spanOf(vacuumed_s * 1000)} ago`;
    return warn(
      `${name}${at} has ${dead} dead rows beside ${live}, ${when}`,
      `Look for long transactions; then run${at} "VACUUM (ANALYZE) ${name}".`,
    );
  });
  for (const { name, at } of excluded.rows)
    findings.push(
      fail(
        `autovacuum is off for ${name}${at}`,
        `Run${at} "ALTER TABLE ${name} RESET (autovacuum_enabled)".`,
      ),
    );
  const off = settings.rows.filter(({ is_on }) => !is_on);
  findings.unshift(
    ...off.map(({ at }) =>
      fail(`autovacuum is off${at}`, `Set autovacuum = on and track_counts = on${at}.`),
    ),
  );
  return orOk(
    [...findings, ...unseen(bloated.silent)],
    'autovacuum is on, and no table has many dead rows',
  );
});
