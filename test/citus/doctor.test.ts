// `npm run doctor` on Citus: what it sees of the nodes.
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { CHECKS } from '../../src/doctor/checks.ts';
import { preparedTransactions } from '../../src/doctor/checks/prepared.ts';
import { openTransactions } from '../../src/doctor/checks/transactions.ts';
import type { Check } from '../../src/doctor/check.ts';
import { examine } from '../../src/doctor/examine.ts';
import {
  createDistributed,
  runSql,
  startCitus,
  urlOf,
  whyNoCitus,
  type CitusCluster,
} from '../support/citus.ts';
import { because } from '../support/debian.ts';

const skipped = whyNoCitus();
if (skipped !== null) console.warn(`Citus is not tested: ${skipped}`);
const APP_SECRET = 'a secret for tests, 32 characters';

describe.skipIf(skipped !== null)(`npm run doctor on Citus${because(skipped)}`, () => {
  let cluster: CitusCluster;
  let url: string;
  beforeAll(async () => {
    cluster = await startCitus();
    url = await createDistributed(cluster, 'app');
  });
  afterAll(() => cluster.stop());

  const findOf = async (DATABASE_URL: string, id = 'citus') => {
    const checks = CHECKS.filter((check) => check.id === id);
    const [examined] = await examine(checks, { env: { DATABASE_URL, APP_SECRET } });
    return examined?.findings;
  };
  const failing = (text: RegExp): unknown =>
    expect.objectContaining({ level: 'fail', text: expect.stringMatching(text) });

  test('every check can look, and none fails', async () => {
    const examined = await examine(CHECKS, { env: { DATABASE_URL: url, APP_SECRET } });
    const seen = examined.flatMap(({ id, findings }) =>
      findings.map(({ level, text }) => ({ id, level, text })),
    );
    expect(seen.filter(({ level }) => level === 'fail')).toEqual([]);
    expect(seen.filter(({ text }) => /could not be looked at|may not see/.test(text))).toEqual([]);
    expect(await findOf(url)).toEqual([
      { level: 'ok', text: '3 nodes reach each other, and all shards have a place' },
    ]);
    expect(await findOf(url, 'tables')).toContainEqual({
      level: 'ok',
      text: expect.stringMatching(/^the largest: .*request_log/),
    });
  });

  test('fails on a worker node, and where the tables are not distributed', async () => {
    expect(await findOf(urlOf(cluster.nodes[1]?.url ?? '', 'app'))).toEqual([
      failing(/^database_not_coordinator/),
    ]);
    const empty = await cluster.createDatabase('empty');
    await cluster.join('empty');
    expect(await findOf(empty)).toEqual([failing(/tables are not distributed/)]);
  });

  test('fails when a node has another version of the extension', async () => {
    const node = urlOf(cluster.nodes[2]?.url ?? '', 'app');
    const [before] = await runSql<{ version: string }>(
      node,
      `select extversion as version from pg_extension where extname = 'citus'`,
    );
    const write = (version: string) =>
      runSql(
        node,
        `set citus.enable_version_checks = off;
         update pg_extension set extversion = '${version}' where extname = 'citus'`,
      );
    onTestFinished(async () => void (await write(before?.version ?? '')));
    await write('1.0-1');
    expect(await findOf(url)).toContainEqual(
      failing(/several versions of the extension: .*1\.0-1/),
    );
  });

  test('fails when a shard is at no node that takes part', async () => {
    const port = cluster.nodes[2]?.port;
    const set = (active: boolean) =>
      runSql(url, `update pg_dist_node set isactive = ${active} where nodeport = ${port}`);
    onTestFinished(async () => void (await set(true)));
    await set(false);
    expect(await findOf(url)).toContainEqual(failing(/shards of \w+ are at no active node/));
  });

  test('sees what is open, prepared and not vacuumed at the nodes', async () => {
    const [, first, second] = cluster.nodes;
    const node = urlOf(first?.url ?? '', 'app');
    const at = new RegExp(` at 127.0.0.1:${first?.port}\\b`);
    const client = new Client({ connectionString: node, application_name: 'forgotten' });
    await client.connect();
    const [shard] = await runSql<{ name: string }>(
      url,
      `select shard_name::text as name
       from citus_shards
       where table_name = 'audit_log'::regclass and nodeport = ${first?.port}
       limit 1`,
    );
    onTestFinished(async () => {
      await client.query('rollback');
      await client.query(`alter table ${shard?.name} reset (autovacuum_enabled)`);
      await client.end();
    });
    const now = { env: { DATABASE_URL: url, APP_SECRET } };
    const ages = { warnS: 0, failS: 0 };
    const textsOf = async (check: Check): Promise<string[]> =>
      (await examine([check], now)).flatMap(({ findings }) => findings.map(({ text }) => text));

    await client.query(`alter table ${shard?.name} set (autovacuum_enabled = false)`);
    expect(await findOf(url, 'vacuum')).toContainEqual(
      failing(new RegExp(`^autovacuum is off for ${shard?.name}${at.source}`)),
    );
    await client.query('begin');
    await client.query('select 1');
    const open = (await textsOf(openTransactions(ages))).filter((text) => at.test(text));
    expect(open).toEqual([expect.stringMatching(/\(forgotten\) at .+ idle in transaction$/)]);
    await client.query(`prepare transaction 'left by hand'`);
    try {
      expect(await textsOf(preparedTransactions(ages))).toContainEqual(
        expect.stringMatching(new RegExp(`^'left by hand'${at.source} waits`)),
      );
    } finally {
      await client.query(`rollback prepared 'left by hand'`);
    }
    // The other node has none of it.
    expect(open.join()).not.toContain(`:${second?.port}`);
  });

  test('fails when a node is away', async () => {
    const node = cluster.nodes[1];
    await node?.kill();
    expect(await findOf(url)).toContainEqual(
      failing(new RegExp(`127.0.0.1:\\d+ does not reach 127.0.0.1:${node?.port}`)),
    );
    expect(await findOf(url, 'vacuum')).toContainEqual({
      level: 'unknown',
      text: `127.0.0.1:${node?.port} did not answer: see the line "citus"`,
    });
  });
});
