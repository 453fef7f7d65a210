import type { Ask } from '../session.ts';
import { WORKER_CONNECTIONS_MAX } from '../../runtime/worker-connections.ts';
import { checkOfDatabase, fail, orOk, OUR_SCHEMAS, warn, type Finding } from '../check.ts';

interface Role {
  readonly name: string;
  readonly is_super: boolean;
  readonly connections: number;
  readonly valid_s: number | null;
  readonly may_create: boolean;
  readonly owned_by_others: number;
}

const DAY_S = 86_400;
const GRANT = 'Grant it to the role of DATABASE_URL, or make that role a member of the owner.';
/** graphile-worker enables row level security on its tables, and has no policies. */
const JOBS = 'Make it a member of the role that owns these tables, or give it BYPASSRLS.';

/** What the role of DATABASE_URL may do, and what is set for it. */
export const role = checkOfDatabase('role', 'Doctor', async (ask, { config }) => {
  const findings = [
    ...(await findAttributes(ask, config?.databasePoolMax ?? null)),
    ...(await findSettings(ask)),
    ...(await findMissing(ask)),
  ];
  return orOk(findings, 'the role may do what the processes do, and not more');
});

async function findAttributes(ask: Ask, poolMax: number | null): Promise<Finding[]> {
  const [found] = await ask<Role>(
    `select rolname as name, rolsuper as is_super, rolconnlimit as connections,
       case when isfinite(rolvaliduntil)
         then extract(epoch from rolvaliduntil - now())::float8 end as valid_s,
       has_schema_privilege('public', 'CREATE')
         and has_database_privilege(current_database(), 'CREATE') as may_create,
       (
         select count(*)::int
         from pg_class c
         where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
           and not pg_has_role(c.relowner, 'USAGE')
           and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
       ) as owned_by_others
     from pg_roles
     where rolname = current_user`,
  );
  if (!found) return [];
  const { name, is_super, connections, valid_s, may_create, owned_by_others } = found;
  const findings: Finding[] = [];
  if (is_super)
    findings.push(
      warn(`${name} is a superuser`, 'Give the processes a role that owns this database only.'),
    );
  if (connections >= 0 && poolMax !== null)
    findings.push(...findingsOfLimit(name, connections, poolMax));
  if (valid_s !== null && valid_s < 14 * DAY_S) {
    const text = `the password of ${name} ends in ${Math.floor(valid_s / DAY_S)} days`;
    const remedy = `Run "ALTER ROLE ${name} VALID UNTIL 'infinity'", or rotate the password.`;
    findings.push(valid_s < DAY_S ? fail(text, remedy) : warn(text, remedy));
  }
  if (!may_create || owned_by_others > 0)
    findings.push(
      warn(
        `${name} may not migrate: it is not the owner of all tables`,
        'That is right if "run migrate" has another DATABASE_URL; otherwise make it the owner.',
      ),
    );
  return findings;
}

/** A role may be one of APIs only, so too few connections for a worker are no failure. */
function findingsOfLimit(name: string, limit: number, poolMax: number): Finding[] {
  const workerMax = poolMax + WORKER_CONNECTIONS_MAX;
  const text = `${name} may have ${limit} connections, and one`;
  const remedy = `Run "ALTER ROLE ${name} CONNECTION LIMIT -1", or lower DATABASE_POOL_MAX.`;
  if (limit < poolMax) return [fail(`${text} process opens ${poolMax}`, remedy)];
  return limit < workerMax ? [warn(`${text} worker opens up to ${workerMax}`, remedy)] : [];
}

/** What is set for the role or the database, and no session of ours sets for itself. */
async function findSettings(ask: Ask): Promise<Finding[]> {
  const rows = await ask<{ setting: string; value: string }>(
    `select split_part(one, '=', 1) as setting, split_part(one, '=', 2) as value
     from pg_db_role_setting s
     cross join unnest(s.setconfig) as one
     where s.setrole in (0, (select oid from pg_roles where rolname = current_user))
       and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))`,
  );
  return rows.flatMap(({ setting, value }) => {
    const text = `${setting} = ${value} is set for the role or the database`;
    const remedy = `Reset it ("ALTER ROLE … RESET ${setting}"): `;
    if (setting === 'transaction_timeout' && !/^0\D*$/.test(value))
      return [warn(text, `${remedy}a request that it ends is 503.`)];
    const isOther = setting === 'default_transaction_isolation' && !/^read committed$/i.test(value);
    // It is decided before the first statement of a transaction.
    return isOther && ask.isPooled
      ? [fail(text, `${remedy}behind a pooler the processes need "read committed".`)]
      : [];
  });
}

/** What the processes need. Its absence breaks requests, and not only migrations. */
async function findMissing(ask: Ask): Promise<Finding[]> {
  const schemas = await ask<{ name: string }>(
    `select nspname as name
     from pg_namespace
     where nspname in (${OUR_SCHEMAS})
       and not has_schema_privilege(oid, 'USAGE')`,
  );
  const tables = await ask<{ privilege: string; count: number; example: string }>(
    `select privilege, count(*)::int as count, min(c.oid::regclass::text) as example
     from pg_class c
     join pg_namespace n on n.oid = c.relnamespace
     cross join (values ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE'), ('TRUNCATE')) p (privilege)
     where n.nspname in ('public', 'request_days') and c.relkind in ('r', 'p')
       and (c.relname <> '_prisma_migrations' or privilege = 'SELECT')
       and (n.nspname = 'request_days') = (privilege = 'TRUNCATE')
       and not has_table_privilege(c.oid, privilege)
     group by privilege`,
  );
  const hidden = await ask<{ is_hidden: boolean }>(
    `select row_security_active(c.oid) as is_hidden
     from pg_class c
     join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'graphile_worker' and c.relname = '_private_jobs'`,
  );
  return [
    ...hidden
      .filter(({ is_hidden }) => is_hidden)
      .map(() => fail('row level security hides the jobs of graphile_worker from it', JOBS)),
    ...schemas.map(({ name }) => fail(`the role may not use the schema ${name}`, GRANT)),
    ...tables.map(({ privilege, count, example }) =>
      fail(`the role lacks ${privilege} on ${count} tables, such as ${example}`, GRANT),
    ),
  ];
}
