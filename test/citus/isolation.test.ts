// What the teams of one node notice of another node: nothing, while one of its shards may not be
// written, as at the end of a move, and while the whole node is silent. Every operation is tried.
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import { addDeliveries, teamOf, validRequest } from '../contract/requests.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import {
  createDistributed,
  portsOf,
  startCitus,
  whyNoCitus,
  type CitusCluster,
  type CitusNode,
} from '../support/citus.ts';
import { because } from '../support/debian.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';

/** Without those of sandboxes: a rehearsal may wait for the shards of both teams, or for all. */
const OF_TEAMS = ENDPOINTS.filter(({ mode }) => mode === null);

const skipped = whyNoCitus();
/** Less than the 4.5 s that a statement may wait. A busy machine needs two for a cluster's call. */
const AT_ONCE_MS = 3_500;
const HELD_TEAMS = Array.from({ length: 6 }, (_, number) => `held-${number}`);
const USES = ['locked', 'silent'] as const;

describe.skipIf(skipped !== null)(`the nodes of a cluster${because(skipped)}`, () => {
  let cluster: CitusCluster;
  let url: string;
  let api: TestApi;
  let away: CitusNode;
  /** Name of a team → the name with which its rows are at the wanted node. */
  let names: ReadonlyMap<string, string>;

  const isHeld = (name: string): boolean => HELD_TEAMS.includes(name);
  const nameOf = (name: string): string => {
    const found = names.get(name);
    if (found === undefined) throw new Error(`no name of ${name} is at the wanted node`);
    return found;
  };
  const freeTeam = (endpoint: Endpoint, use: string): string => teamOf(endpoint, `-${use}`);

  beforeAll(async () => {
    cluster = await startCitus({ shards: 8 });
    const [, , node] = cluster.nodes;
    if (!node) throw new Error('a cluster without a second node');
    away = node;
    url = await createDistributed(cluster, 'isolated');
    const wanted = [...HELD_TEAMS, ...OF_TEAMS.flatMap((e) => USES.map((use) => freeTeam(e, use)))];
    names = await chooseNames(wanted);
    api = await startTestApi({
      seed: makeSeed([...names.values()].map((name) => makeFullTeam(name))),
      allowPrivateTargets: true,
      connections: 64,
      database: { url, drop: () => Promise.resolve() },
    });
    await addDeliveries(api.db);
  });
  afterAll(async () => {
    away?.thaw();
    await api?.stop();
    await cluster?.stop();
  });

  /** Adds a number to each name, with which the held teams are at `away`, and others elsewhere. */
  async function chooseNames(wanted: readonly string[]): Promise<Map<string, string>> {
    const candidates = wanted.flatMap((name) =>
      Array.from({ length: 30 }, (_, number) => ({ name, chosen: `${name}-${number}` })),
    );
    const ports = await portsOf(
      url,
      candidates.map(({ chosen }) => `team_${chosen}`),
    );
    const fitting = candidates.filter(
      ({ name, chosen }) => isHeld(name) === (ports.get(`team_${chosen}`) === away.port),
    );
    return new Map(fitting.map(({ name, chosen }) => [name, chosen]));
  }

  const callOf = (endpoint: Endpoint, name: string) => {
    const team = nameOf(name);
    const { method, path, body } = validRequest(endpoint, team);
    return api.call(api.key(`team_${team}`), method, path, { ...(body && { body }) });
  };
  const endpointNamed = (wanted: string): Endpoint => {
    const found = ENDPOINTS.find(({ name }) => name === wanted);
    if (!found) throw new Error(`no endpoint ${wanted}`);
    return found;
  };

  /** All teams have called, and the process knows where they are. */
  async function getKnown(): Promise<void> {
    const list = endpointNamed('members.list');
    for (let round = 0; round < 2; round += 1) {
      for (const name of names.keys())
        expect(await callOf(list, name)).toMatchObject({ status: 200 });
      await delay(100);
    }
  }

  /**
   * The held teams read and write, each again and again. Returns what ends that, and returns how
   * their calls ended.
   */
  async function startHeldCalls(): Promise<() => Promise<readonly number[]>> {
    const statuses: number[] = [];
    let isOver = false;
    const endpoints = ['members.list', 'cases.create'].map(endpointNamed);
    const callers = HELD_TEAMS.flatMap((name) =>
      endpoints.map(async (endpoint) => {
        while (!isOver) statuses.push((await callOf(endpoint, name)).status);
      }),
    );
    await delay(300);
    return async () => {
      isOver = true;
      const before = [...statuses];
      await Promise.all(callers);
      return before;
    };
  }

  /** Tries every operation, and returns those that did not come to an end at once. */
  async function tryAll(use: string): Promise<Record<string, unknown>> {
    const late: Record<string, unknown> = {};
    for (const endpoint of OF_TEAMS) {
      const startedAt = performance.now();
      const { status, body } = await callOf(endpoint, freeTeam(endpoint, use));
      const ms = Math.round(performance.now() - startedAt);
      if (status !== endpoint.successStatus || ms > AT_ONCE_MS)
        late[endpoint.name] = { status, ms, ...(status >= 400 && { body }) };
    }
    return late;
  }

  /** All teams call while the node is held. Returns what the teams elsewhere noticed. */
  async function callBeside(
    use: string,
    { hold, release }: { hold: () => Promise<unknown>; release: () => Promise<unknown> },
  ): Promise<Record<string, unknown>> {
    await getKnown();
    await hold();
    const end = await startHeldCalls();
    const late = await tryAll(use);
    const ended = end();
    await release();
    // The node was held.
    expect((await ended).filter((status) => status !== 503)).toEqual([]);
    return late;
  }

  test('a shard that may not be written keeps the teams of other nodes from nothing', async () => {
    const client = new Client({ connectionString: url });
    await client.connect();
    const late = await callBeside('locked', {
      hold: async () => {
        // What Citus itself takes at the end of a move, for every shard of the node.
        await client.query('begin');
        await client.query(
          `select lock_shard_metadata(7, array_agg(p.shardid))
           from pg_dist_placement p
           join pg_dist_node n on n.groupid = p.groupid
           where n.nodeport = $1`,
          [away.port],
        );
      },
      release: () => client.end(),
    });
    expect(late).toEqual({});
  });

  test('nor does a node that is silent', async () => {
    const late = await callBeside('silent', {
      hold: async () => away.freeze(),
      release: async () => away.thaw(),
    });
    expect(late).toEqual({});
  });
});
