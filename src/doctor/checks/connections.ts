import { checkOfDatabase, fail, ok, warn } from '../check.ts';

const WARN_SHARE = 0.8;
const FAIL_SHARE = 0.95;

/**
 * How many connections Postgres has left for us. Of other roles' sessions, a role without
 * pg_monitor sees no type.
 */
export const connections = checkOfDatabase('connections', 'Sizing', async (ask) => {
  const [row] = await ask<{ used: number; room: number }>(
    `select (
         select count(*)::int
         from pg_stat_activity
         where usesysid is not null and pid <> pg_backend_pid()
           and coalesce(backend_type, 'client backend') = 'client backend'
       ) as used,
       current_setting('max_connections')::int
         - current_setting('superuser_reserved_connections')::int
         - coalesce(current_setting('reserved_connections', true)::int, 0) as room`,
  );
  const { used = 0, room = 1 } = row ?? {};
  const text = `${used} of ${room} connections are in use`;
  const remedy =
    'Put PgBouncer before the APIs, lower DATABASE_POOL_MAX, or raise max_connections.';
  if (used >= room * FAIL_SHARE) return [fail(text, remedy)];
  return [used >= room * WARN_SHARE ? warn(text, remedy) : ok(text)];
});
