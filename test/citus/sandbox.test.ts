// A reset on Citus: the node that has the rows checks their foreign keys with plans that its
// session keeps, so that session must make them anew.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import {
  createDistributed,
  runSql,
  startCitus,
  urlOf,
  whyNoCitus,
  type CitusCluster,
} from '../support/citus.ts';
import { because } from '../support/debian.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const skipped = whyNoCitus();
/** Citus hides the tables of shards. */
const SHOWS_SHARDS = '?options=-c%20citus.override_table_visibility%3Doff';
const DATABASE = 'rehearsed';
const ADDED = 19_000;

describe.skipIf(skipped !== null)(`a sandbox on Citus${because(skipped)}`, () => {
  let cluster: CitusCluster;
  let api: TestApi;
  let url: string;
  let node: string;

  beforeAll(async () => {
    // One shard, and nobody makes statistics, which would let the sessions plan anew.
    cluster = await startCitus({ workers: 1, shards: 1, settings: { autovacuum: 'off' } });
    url = await createDistributed(cluster, DATABASE);
    node = `${urlOf(cluster.nodes[1]?.url ?? '', DATABASE)}${SHOWS_SHARDS}`;
    api = await startTestApi({
      seed: makeSeed([makeTeam('a')]),
      database: { url, drop: () => Promise.resolve() },
    });
  });
  afterAll(async () => {
    await api?.stop();
    await cluster?.stop();
  });

  /** The rows that the node has read without an index, once it tells of so many new trainings. */
  const readInOrder = (trainings: number): Promise<{ readonly rows: number }> =>
    until(async () => {
      const [found] = await runSql<{ rows: string; trainings: string }>(
        node,
        `select sum(seq_tup_read) as rows,
           sum(n_tup_ins) filter (where relname ~ '^training_\\d+$') as trainings
         from pg_stat_user_tables`,
      );
      return Number(found?.trainings) >= trainings ? { rows: Number(found?.rows) } : null;
    });

  test('that has grown is reset by plans of its own size', async () => {
    const key = await openSandbox(api, 'a');
    const reset = () => api.call(key, 'POST', '/sandbox/reset');
    // So often Postgres plans anew what it then does with a plan that it keeps.
    const resets = 8;
    for (let done = 0; done < resets; done += 1) expect((await reset()).status).toBe(200);
    for (const text of [
      `insert into training (team_id, id, user_id, status, created_at)
       select 'team_a:sandbox', 'trn_' || n, 'usr_sandbox_clara', 'scored', now()`,
      `insert into evaluation (team_id, training_id, user_id, saved_at, total)
       select 'team_a:sandbox', 'trn_' || n, 'usr_sandbox_clara', now(), 70`,
    ])
      await runSql(url, `${text} from generate_series(1, ${ADDED}) n`);
    const trainings = ADDED + 60 * (1 + resets);
    const before = await readInOrder(trainings);
    expect((await reset()).status).toBe(200);
    const after = await readInOrder(trainings + 60);
    // With the plan of before: all evaluations for each training.
    expect(after.rows - before.rows).toBeLessThan(10 * ADDED);
    expect(await api.call(key, 'GET', '/trainings?limit=200')).toMatchObject({
      body: { next_cursor: null },
    });
  });
});
