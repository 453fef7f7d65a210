import { checkOfDatabase, fail, orOk, warn, type Finding } from '../check.ts';

/** The service needs no extension. Those that are there must fit the server's programs. */
export const extensions = checkOfDatabase('extensions', 'Upgrade and rollback', async (ask) => {
  const rows = await ask<{ name: string; version: string; offered: string | null }>(
    `select e.extname as name, e.extversion as version, a.default_version as offered
     from pg_extension e
     left join pg_available_extensions a on a.name = e.extname
     order by 1`,
  );
  const findings = rows.flatMap(({ name, version, offered }): Finding[] => {
    if (offered === null)
      return [fail(`the files of ${name} are missing`, 'Install its package for this Postgres.')];
    if (offered === version) return [];
    const remedy = `Run "ALTER EXTENSION ${name} UPDATE", on Citus on every node.`;
    return [warn(`${name} is ${version}, and its programs are ${offered}`, remedy)];
  });
  const names = rows.map(({ name, version }) => `${name} ${version}`).join(', ');
  return orOk(findings, `none is needed; there are ${names}`);
});
