// What a request of a key costs on a Citus cluster, counted in the logs of its servers: which
// statements enter the coordinator, which ones it sends to nodes, and how many shards they name.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import { addDeliveries, teamOf, validRequest } from '../contract/requests.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import {
  createDistributed,
  portsOf,
  runSql,
  startCitus,
  urlOf,
  whyNoCitus,
  type CitusCluster,
} from '../support/citus.ts';
import { because } from '../support/debian.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { until } from '../support/until.ts';

/** Without those of sandboxes: a rehearsal may wait for the shards of both teams, or for all. */
const OF_TEAMS = ENDPOINTS.filter(({ mode }) => mode === null);

const skipped = whyNoCitus();
const DATABASE = 'counted';
const EVERYWHERE = 'a copy on every node';
/** The number at the end of a shard's name. */
const A_SHARD = /(?<=_)1\d{5}\b/;

/** The statements of one request. */
interface Cost {
  /** What the API sends to the coordinator, with BEGIN and COMMIT. */
  readonly entered: number;
  /** What the coordinator sends to nodes for it. */
  readonly sent: number;
  /** How many nodes get that. */
  readonly nodes: number;
  /**
   * How many shards that is about. The shards of the tables of one team count as one, and the
   * copies of a table that every node has as none.
   */
  readonly shards: number;
}

const costs = new Map<number, Record<string, Cost>>();

describe.skipIf(skipped !== null)(`requests of keys on Citus${because(skipped)}`, () => {
  describe.each([1, 2, 4])('with %i nodes', (workers) => {
    let cluster: CitusCluster;
    let api: TestApi;
    /** The number of a shard → the hashes in it, which are the same in all tables of a team. */
    let ranges: ReadonlyMap<string, string>;

    beforeAll(async () => {
      cluster = await startCitus({ workers, shards: 8 });
      const url = await createDistributed(cluster, DATABASE);
      const teams = OF_TEAMS.flatMap((endpoint) =>
        ['plain', 'keyed'].map((use) => makeFullTeam(teamOf(endpoint, `-${use}`))),
      );
      const database = { url, drop: () => Promise.resolve() };
      api = await startTestApi({ seed: makeSeed(teams), allowPrivateTargets: true, database });
      await addDeliveries(api.db);
      const shards = await runSql<{ id: string; range: string }>(
        url,
        `select shardid::text as id, coalesce(shardminvalue, '${EVERYWHERE}') as range
         from pg_dist_shard`,
      );
      ranges = new Map(shards.map(({ id, range }) => [id, range]));
      for (const { url: node } of cluster.nodes)
        for (const setting of [
          `log_statement = 'all'`,
          `log_line_prefix = '%a '`,
          'citus.enable_stat_counters = on',
        ])
          await runSql(node, `alter system set ${setting}`);
      for (const { url: node } of cluster.nodes) await runSql(node, 'select pg_reload_conf()');
    });
    afterAll(async () => {
      await api.stop();
      await cluster.stop();
    });

    /** Returns the statements in each server's log since a position, the coordinator's first. */
    async function readLogs(since: readonly number[]): Promise<string[][]> {
      return Promise.all(
        cluster.nodes.map(async ({ url }, place) => {
          const [log] = await runSql<{ text: string }>(
            url,
            `select pg_read_file(
               current_setting('data_directory') || '.log', ${since[place]}, 100000000
             ) as text`,
          );
          const entries = (log?.text ?? '').split(/^(?=.*? LOG: {2}(?:statement|execute))/m);
          return entries.filter((entry) => /^.*? LOG: {2}(?:statement|execute)/.test(entry));
        }),
      );
    }

    const logSizes = () =>
      Promise.all(
        cluster.nodes.map(async ({ url }) => {
          const [log] = await runSql<{ size: number }>(
            url,
            `select size::int from pg_stat_file(current_setting('data_directory') || '.log')`,
          );
          return log?.size ?? 0;
        }),
      );

    async function costOf(endpoint: Endpoint, use: string, headers = {}): Promise<Cost> {
      const team = teamOf(endpoint, `-${use}`);
      const { method, path, body } = validRequest(endpoint, team);
      const call = () =>
        api.call(api.key(`team_${team}`), method, path, { ...(body && { body }), headers });
      if (method !== 'GET') return costOfCall(endpoint, call);
      // The key is known then, so that the read runs beside the authentication.
      await call();
      const first = await costOfCall(endpoint, call);
      // On a busy machine a slow read is begun again, so the cheaper of two calls counts.
      const second = await costOfCall(endpoint, call);
      return second.sent < first.sent ? second : first;
    }

    async function costOfCall(
      endpoint: Endpoint,
      call: () => ReturnType<TestApi['call']>,
    ): Promise<Cost> {
      const before = await logSizes();
      const answer = await call();
      expect(answer).toMatchObject({ status: endpoint.successStatus });
      const [coordinator = [], ...nodes] = await readLogs(before);
      const byNode = nodes.map((texts) => texts.filter((text) => A_SHARD.test(text)));
      const sent = byNode.flat();
      const named = sent.flatMap((text) => text.match(new RegExp(A_SHARD, 'g')) ?? []);
      const touched = new Set(named.map((id) => ranges.get(id)));
      touched.delete(EVERYWHERE);
      return {
        entered: coordinator.filter((text) => !isOurs(text)).length,
        sent: sent.length,
        nodes: byNode.filter((texts) => texts.length > 0).length,
        shards: touched.size,
      };
    }

    const readCounters = async (): Promise<number> => {
      const counts = await Promise.all(
        cluster.nodes.map(({ url }) =>
          runSql<{ count: string }>(
            urlOf(url, DATABASE),
            `select coalesce(sum(query_execution_multi_shard), 0)::int as count
             from citus_stat_counters
             where name = '${DATABASE}'`,
          ),
        ),
      );
      return counts.flat().reduce((sum, { count }) => sum + Number(count), 0);
    };

    test('each goes to one shard', async () => {
      const before = await readCounters();
      const found: Record<string, Cost> = {};
      for (const endpoint of OF_TEAMS) {
        const name = `${endpoint.method} ${endpoint.path}`;
        found[name] = await costOf(endpoint, 'plain');
        if (endpoint.method === 'POST')
          found[`${name}, with an Idempotency-Key`] = await costOf(endpoint, 'keyed', {
            'idempotency-key': 'once',
          });
      }
      costs.set(workers, found);
      console.table(found);
      expect(
        Object.entries(found).filter(([, cost]) => cost.nodes !== 1 || cost.shards !== 1),
      ).toEqual([]);
      expect(await readCounters()).toBe(before);
    });

    test.runIf(workers === 2)(
      'while a node is away its teams get 503 with Retry-After, and other teams notice nothing',
      async () => {
        const [, , away] = cluster.nodes;
        const create = ENDPOINTS.find(({ name }) => name === 'cases.create');
        if (!away || !create) throw new Error('no node or no endpoint');
        // Nothing has happened in these teams.
        const teams = OF_TEAMS.filter(({ method }) => method !== 'POST').map(
          (endpoint) => `team_${teamOf(endpoint, '-keyed')}`,
        );
        const ports = await portsOf(api.databaseUrl, teams);
        const own = teams.filter((team) => ports.get(team) === away.port);
        const others = teams.filter((team) => ports.get(team) !== away.port);
        if (own.length === 0 || others.length === 0) throw new Error('a node has no team');
        const read = (team: string) => api.call(api.key(team), 'GET', '/users');
        const write = (team: string) => {
          const { method, path, body } = validRequest(create, team.slice('team_'.length));
          return api.call(api.key(team), method, path, { ...(body && { body }) });
        };
        await away.kill();
        for (const team of own)
          for (const answer of [await read(team), await write(team)])
            expect(answer).toMatchObject({
              status: 503,
              body: { code: 'unavailable' },
              headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
            });
        for (const team of others)
          expect([(await read(team)).status, (await write(team)).status]).toEqual([200, 201]);
        await away.start();
        for (const team of own) {
          await until(async () => (await read(team)).status === 200);
          await until(async () => (await write(team)).status === 201);
        }
      },
    );
  });

  test('a request costs as much with four nodes as with one', () => {
    // What enters is not compared: a process also sets up its connections.
    const atNodes = (workers: number) =>
      Object.entries(costs.get(workers) ?? {}).map(([name, { sent, nodes, shards }]) => ({
        name,
        sent,
        nodes,
        shards,
      }));
    expect(atNodes(1)).not.toEqual([]);
    expect(atNodes(2)).toEqual(atNodes(1));
    expect(atNodes(4)).toEqual(atNodes(1));
  });
});

/**
 * Whether the test itself or a node has sent the statement, or it tells workers after the commit,
 * which no request waits for.
 */
function isOurs(text: string): boolean {
  return /^citus_internal|pg_stat_file|pg_read_file|wakeUps\.notify/.test(text);
}
