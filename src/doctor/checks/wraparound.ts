import { checkOfDatabase, fail, ok, warn } from '../check.ts';

/** Postgres stops at 2.1 thousand million transactions without a vacuum of every table. */
const WARN_AGES = 1.5;
const FAIL_AGES = 3;
const FAIL_AT_MOST = 1_500_000_000;

/** How old the oldest row is that no vacuum has frozen, in transactions. */
export const wraparound = checkOfDatabase('wraparound', 'Doctor', async (ask) => {
  const [row] = await ask<{ name: string; what: string; age: number; limit: number }>(
    `select datname as name, what, age::float8 as age, current_setting(setting)::float8 as limit
     from pg_database
     cross join lateral (
       values
         ('transaction', age(datfrozenxid), 'autovacuum_freeze_max_age'),
         ('multixact', mxid_age(datminmxid), 'autovacuum_multixact_freeze_max_age')
     ) as oldest (what, age, setting)
     order by age / current_setting(setting)::float8 desc
     limit 1`,
  );
  const { name = '', what = '', age = 0, limit = 1 } = row ?? {};
  const text = `the oldest ${what} of ${name} is ${age} ago; autovacuum begins at ${limit}`;
  const vacuum = `run "VACUUM (FREEZE)" in ${name}.`;
  const remedy = `End old transactions, prepared ones and slots, then ${vacuum}`;
  if (age > Math.min(limit * FAIL_AGES, FAIL_AT_MOST)) return [fail(text, remedy)];
  return [age > limit * WARN_AGES ? warn(text, remedy) : ok(text)];
});
