import { checkOfDatabase, fail, orOk, unseen } from '../check.ts';

/**
 * Whether the database finds an address in any case. In a Turkish or Azeri locale the small letter
 * of I is another one than i: KIM@example.com and kim@example.com would be two members.
 */
export const locale = checkOfDatabase('locale', 'Doctor', async (ask) => {
  const { rows, silent } = await ask.everywhere<{ name: string; is_latin: boolean }>(
    // Before Postgres 17, the locale of ICU has another name.
    `select coalesce(named ->> 'datlocale', named ->> 'daticulocale', datcollate) as name,
       lower('ABCDEFGHIJKLMNOPQRSTUVWXYZ') = 'abcdefghijklmnopqrstuvwxyz' as is_latin
     from pg_database d, to_jsonb(d) named
     where datname = current_database()`,
  );
  const findings = rows
    .filter(({ is_latin }) => !is_latin)
    .map(({ name, at }) =>
      fail(
        `in the locale ${name}${at}, capital and small letters of addresses are not the same`,
        'Create a database with another locale, such as en-US, and restore a dump there.',
      ),
    );
  const names = [...new Set(rows.map(({ name }) => name))].join(', ');
  return orOk([...findings, ...unseen(silent)], `addresses are found in any case (${names})`);
});
