import { checkOfDatabase, fail, ok, orOk, warn, type Finding } from '../check.ts';
import type { Ask } from '../session.ts';

/** The nodes of Citus: whether they reach each other, what they run, and where shards are. */
export const citus = checkOfDatabase('citus', 'Citus', async (ask) => {
  if (!(await ask.isCitus())) return [ok('the database is plain Postgres')];
  const [here] = await ask<{ groupid: number }>('select groupid from pg_dist_local_group');
  if (here?.groupid !== 0)
    return [fail('database_not_coordinator', 'Let DATABASE_URL lead to the coordinator of Citus.')];
  const findings = [
    ...(await findDistribution(ask)),
    ...(await findUnreachable(ask)),
    ...(await findVersions(ask)),
    ...(await findUnplaced(ask)),
  ];
  const [nodes] = await ask<{ count: number }>(
    `select count(*)::int as count from pg_dist_node where noderole = 'primary'`,
  );
  return orOk(findings, `${nodes?.count} nodes reach each other, and all shards have a place`);
});

async function findDistribution(ask: Ask): Promise<Finding[]> {
  const [row] = await ask<{ is_distributed: boolean }>(
    `select exists (
       select from pg_dist_partition where logicalrelid = to_regclass('public.team')
     ) as is_distributed`,
  );
  if (row?.is_distributed) return [];
  return [
    fail(
      'the tables are not distributed',
      'Stop all processes, and run "run migrate --distribute" once.',
    ),
  ];
}

async function findUnreachable(ask: Ask): Promise<Finding[]> {
  const rows = await ask<{ from_node: string; to_node: string }>(
    `select from_nodename || ':' || from_nodeport as from_node,
       to_nodename || ':' || to_nodeport as to_node
     from citus_check_cluster_node_health()
     where result is distinct from true`,
  );
  return rows.map(({ from_node, to_node }) =>
    fail(`${from_node} does not reach ${to_node}`, 'Start that node, or mend the way to it.'),
  );
}

async function findVersions(ask: Ask): Promise<Finding[]> {
  const rows = await ask<{ node: string; version: string; success: boolean }>(
    `select nodename || ':' || nodeport as node, result as version, success
     from run_command_on_all_nodes($$
       select extversion from pg_extension where extname = 'citus'
     $$)
     join pg_dist_node using (nodeid)
     where noderole = 'primary'
     order by 1`,
  );
  const answered = rows.filter(({ success }) => success);
  if (new Set(answered.map(({ version }) => version)).size <= 1) return [];
  const found = answered.map(({ node, version }) => `${node} ${version}`).join(', ');
  return [
    fail(
      `the nodes have several versions of the extension: ${found}`,
      'Install the same package everywhere, and run "ALTER EXTENSION citus UPDATE" on each.',
    ),
  ];
}

async function findUnplaced(ask: Ask): Promise<Finding[]> {
  const rows = await ask<{ name: string; count: number }>(
    `select s.logicalrelid::text as name, count(*)::int as count
     from pg_dist_shard s
     where not exists (
       select
       from pg_dist_placement p
       join pg_dist_node n on n.groupid = p.groupid and n.isactive
       where p.shardid = s.shardid
     )
     group by 1
     order by 1
     limit 5`,
  );
  const [left] = await ask<{ count: number }>('select count(*)::int as count from pg_dist_cleanup');
  return [
    ...rows.map(({ name, count }) =>
      fail(
        `${count} shards of ${name} are at no active node`,
        'Activate the node with "SELECT citus_activate_node(…)", or restore its backup.',
      ),
    ),
    ...(left && left.count > 0
      ? [
          warn(
            `${left.count} parts of moved shards are left over`,
            'Citus removes them by itself; "CALL citus_cleanup_orphaned_resources()" does it now.',
          ),
        ]
      : []),
  ];
}
