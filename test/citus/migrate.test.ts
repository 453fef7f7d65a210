// `npm run migrate` on Citus: what it refuses, and that the rows come along.
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { TENANT_TABLE_NAMES } from '../../src/db/tenant-tables.ts';
import { loadSeed } from '../../src/seed/load.ts';
import { fullFile } from '../seed/full-file.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { runSql, startCitus, urlOf, whyNoCitus, type CitusCluster } from '../support/citus.ts';
import { because } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';

const skipped = whyNoCitus();
if (skipped !== null) console.warn(`Citus is not tested: ${skipped}`);
const APP_SECRET = 'a secret for tests, 32 characters';
const PRISMA = join(import.meta.dirname, '../../prisma');

describe.skipIf(skipped !== null)(`npm run migrate on Citus${because(skipped)}`, () => {
  let cluster: CitusCluster;
  beforeAll(async () => {
    cluster = await startCitus();
  });
  afterAll(() => cluster.stop());

  /** The constraints. Names of shards end with their numbers. */
  const describeSchema = (url: string) =>
    runSql(
      url,
      `select conrelid::regclass::text as "table", conname as name,
         pg_get_constraintdef(oid) as definition
       from pg_constraint
       where connamespace = 'public'::regnamespace
         and conrelid::regclass::text !~ '_\\d{6}$'
       order by 1, 2`,
    );
  const countRows = async (url: string): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (const table of ['team', 'catalog_entry', 'key_directory', ...TENANT_TABLE_NAMES]) {
      const [row] = await runSql<{ n: number }>(url, `select count(*)::int as n from ${table}`);
      counts[table] = row?.n ?? -1;
    }
    return counts;
  };
  const placesOf = async (url: string): Promise<Record<string, string>> => {
    const rows = await runSql<{ name: string; method: string }>(
      url,
      `select logicalrelid::text as name,
         partmethod::text
           || coalesce(' ' || column_to_column_name(logicalrelid, partkey), '') as method
       from pg_dist_partition
       where logicalrelid::text not like 'request_days.%'`,
    );
    return Object.fromEntries(rows.map(({ name, method }) => [name, method]));
  };

  /** Tables of shards that cannot move while they are written: no log, or no key for the rows. */
  const immovable = (url: string) =>
    runSql(
      url,
      `select c.relname
       from pg_dist_partition
       join pg_class c on c.oid = logicalrelid
       where c.relpersistence <> 'p'
         or not exists (
           select
           from pg_index
           where indrelid = c.oid and indisprimary
         )`,
    );

  test('refuses what is not Citus, or no complete cluster, and says what to do', async () => {
    const url = await cluster.createDatabase('refused');
    await expect(migrate(url, { distribute: true })).rejects.toThrow(/CREATE EXTENSION citus/);
    await runSql(url, 'create extension citus');
    await expect(migrate(url)).rejects.toThrow(/npm run migrate -- --distribute/);
    await expect(migrate(url, { distribute: true })).rejects.toThrow(/citus_set_coordinator_host/);
    expect(await runSql(url, `select to_regclass('team') as team`)).toEqual([{ team: null }]);
  });

  test('distributes an empty database, once, and then knows it', async () => {
    const url = await cluster.createDatabase('fresh');
    await cluster.join('fresh');
    await migrate(url, { distribute: true });
    expect(await placesOf(url)).toEqual({
      ...Object.fromEntries(TENANT_TABLE_NAMES.map((table) => [table, 'h team_id'])),
      team: 'h id',
      rate_counter: 'h bucket',
      catalog_entry: 'n',
      catalog_rule: 'n',
      key_directory: 'n',
    });
    const together = await runSql(
      url,
      `select distinct colocationid
       from pg_dist_partition
       where partmethod = 'h' and logicalrelid <> 'rate_counter'::regclass`,
    );
    expect(together).toHaveLength(1);
    expect(await migrate(url)).toEqual([]);
    expect(await immovable(url)).toEqual([]);
    const worker = urlOf(cluster.nodes[1]?.url ?? '', 'fresh');
    await expect(migrate(worker)).rejects.toThrow(/Migrate on the coordinator/);
  });

  test('logs the counters of a cluster that was distributed without', async () => {
    const url = await cluster.createDatabase('earlier');
    await cluster.join('earlier');
    await migrate(url, { distribute: true });
    await runSql(url, `insert into team_counter values ('team_a', 'keys', 1, 1)`);
    await runSql(url, 'alter table team_counter set unlogged');
    expect(await immovable(url)).toEqual([{ relname: 'team_counter' }]);
    await migrate(url);
    expect(await immovable(url)).toEqual([]);
    expect(await runSql(url, 'select count from team_counter')).toEqual([{ count: 1 }]);
  });

  test('refuses nodes from which rows could move only while nobody writes', async () => {
    const url = await cluster.createDatabase('unmovable');
    await cluster.join('unmovable');
    const node = cluster.nodes[2];
    const restartWith = async (settings: Record<string, string>): Promise<void> => {
      await node?.stop();
      await node?.start(settings);
    };
    await restartWith({ wal_level: 'replica' });
    const refusal = `Set wal_level = logical and restart these nodes: 127.0.0.1:${node?.port}.`;
    await expect(migrate(url, { distribute: true })).rejects.toThrow(refusal);
    await restartWith({});
    await migrate(url, { distribute: true });
  });

  test('brings rows along, and goes on after an interruption', async () => {
    const url = await cluster.createDatabase('filled');
    await migrate(url);
    await loadSeed(url, fullFile(), { replace: false, appSecret: APP_SECRET });
    const before = { rows: await countRows(url), schema: await describeSchema(url) };
    await cluster.join('filled');

    let left = 5;
    const interrupt = (): void => {
      left -= 1;
      if (left === 0) throw new Error('interrupted');
    };
    const interrupted = migrate(url, { distribute: true, onDistributed: interrupt });
    await expect(interrupted).rejects.toThrow('interrupted');
    expect(Object.keys(await placesOf(url))).toHaveLength(5);
    await migrate(url);

    expect({ rows: await countRows(url), schema: await describeSchema(url) }).toEqual(before);
    // Nothing stays behind on the coordinator, where nobody would erase it.
    const sizes = await runSql<{ bytes: string }>(
      url,
      `select sum(pg_relation_size(logicalrelid)) as bytes
       from pg_dist_partition
       where partmethod = 'h'`,
    );
    expect(sizes).toEqual([{ bytes: '0' }]);
    await loadSeed(url, fullFile(), { replace: true, appSecret: APP_SECRET });
    expect(await countRows(url)).toEqual(before.rows);
  });

  test('keeps processes that run from working meanwhile, and ends them', async () => {
    const url = await cluster.createDatabase('running');
    await migrate(url);
    const api = await startApiProcess(url);
    const readyz = async () => {
      const response = await fetch(`${api.url}/readyz`);
      return { status: response.status, body: await response.json() };
    };
    await cluster.join('running');
    expect(await readyz()).toMatchObject({ status: 200 });
    const interrupted = migrate(url, {
      distribute: true,
      onDistributed: () => {
        throw new Error('interrupted');
      },
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    // Probes share a look for a tenth of a second, and the last one may be of before.
    const pending = { status: 503, body: { reason: 'migrations_pending' } };
    await expect.poll(readyz).toMatchObject(pending);
    await expect(startWorkerProcess(url)).rejects.toThrow('not of this version');

    await migrate(url);
    expect(await api.exited).toMatchObject({ code: 1 });
    expect(api.output()).toContain('Start it again.');
    const next = await startApiProcess(url);
    await next.kill('SIGTERM');
    const node = urlOf(cluster.nodes[1]?.url ?? '', 'running');
    await expect(startApiProcess(node)).rejects.toThrow('leads to a worker node of Citus');
  });

  test('applies later migrations', async () => {
    const folder = await makeFolder('later');
    await cp(PRISMA, folder, { recursive: true });
    const url = await cluster.createDatabase('later');
    await cluster.join('later');
    await migrate(url, { folder, distribute: true });
    await mkdir(join(folder, 'migrations', '20991231000000_add'));
    await writeFile(
      join(folder, 'migrations', '20991231000000_add', 'migration.sql'),
      `alter table team add column later text;
       create table later (
         team_id text not null,
         id text not null,
         constraint later_pkey primary key (team_id, id)
       );
       select distribute_by_team('later');
       alter table later
         add constraint later_team_id_fkey foreign key (team_id) references team (id);
       update team set later = 'x';`,
    );
    expect(await migrate(url, { folder })).toEqual(['20991231000000_add']);
    expect(await placesOf(url)).toMatchObject({ later: 'h team_id' });
  });
});
