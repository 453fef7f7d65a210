// A cluster that loses a node, and that grows by the commands of the runbook, while its teams write
// through the API: a node is killed, a node is added and gets its part of the rows, and a large
// team gets a node of its own. Nothing acknowledged is lost; what others notice is printed.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCall, loadTestSeed } from '../support/api.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes.ts';
import type { Call } from '../support/api.ts';
import {
  createDistributed,
  portsOf,
  runSql,
  startCitus,
  urlOf,
  whyNoCitus,
  type CitusCluster,
  type CitusNode,
} from '../support/citus.ts';
import { because } from '../support/debian.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { until } from '../support/until.ts';

const skipped = whyNoCitus();
const DATABASE = 'growing';
/** It has the same teams on the same nodes, so what is done there takes as much of the machine. */
const TWIN = 'growing_twin';
const NAMES = Array.from({ length: 12 }, (_, n) => `g${n}`);
const LARGE = 'g0';
/** Between two calls of a team. */
const PAUSE_MS = 100;
const BEFORE_MS = 6_000;
const AWAY_MS = 3_000;
/**
 * The most that the p99 of teams elsewhere may be: a multiple of what it is while the same happens
 * in another database, or so many ms, if that was quick.
 */
const LIMIT = { times: 2, ms: 500 };
const RUNBOOK = join(import.meta.dirname, '../../scripts/deploy/README.md');

const teamOf = (name: string): string => `team_${name}`;

/** A call that was acknowledged, and how long that took, with its repetitions. */
interface Done {
  readonly name: string;
  readonly title: string;
  readonly ms: number;
}

/** Name of a team → port of the node with its rows. */
type Places = ReadonlyMap<string, number | undefined>;

describe.skipIf(skipped !== null)(`a cluster that grows${because(skipped)}`, () => {
  let cluster: CitusCluster;
  let url: string;
  let twinUrl: string;
  let receiver: Receiver;
  let call: Call;
  let keys: ReadonlyMap<string, string>;
  const all: Done[] = [];

  beforeAll(async () => {
    receiver = await startReceiver();
    cluster = await startCitus({ shards: 8 });
    url = await createDistributed(cluster, DATABASE);
    twinUrl = await createDistributed(cluster, TWIN);
    const seed = makeSeed(
      NAMES.map((name) =>
        makeTeam(name, {
          webhook_endpoints: [
            { id: 'whe_1', url: `${receiver.url}/${name}`, events: ['assignment.created'] },
          ],
        }),
      ),
    );
    const { teams } = await loadTestSeed({ url }, seed);
    await loadTestSeed({ url: twinUrl }, seed);
    keys = new Map(NAMES.map((name) => [name, teams[teamOf(name)]?.api_keys['full'] ?? '']));
    const env = { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1', LOG_LEVEL: 'warn' };
    const [api] = await Promise.all([
      startApiProcess(url, env),
      startWorkerProcess(url, { ...env, LOG_LEVEL: 'info' }),
    ]);
    call = createCall(api.url, { connections: NAMES.length });
    await writingDuring(() => delay(BEFORE_MS));
  });
  afterAll(() => cluster?.stop());

  /** Creates an assignment, and repeats the call until it is acknowledged. */
  const write = async (name: string, title: string): Promise<Done> => {
    const startedAt = performance.now();
    const body = {
      member_id: memberId(name, 'member'),
      title,
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    };
    const options = { body, headers: { 'idempotency-key': title } };
    await until(async () => {
      const { status } = await call(keys.get(name) ?? '', 'POST', '/assignments', options);
      // What came before a 503 may still be running.
      expect([201, 409, 503]).toContain(status);
      if (status !== 201) await delay(PAUSE_MS);
      return status === 201;
    });
    const done = { name, title, ms: performance.now() - startedAt };
    all.push(done);
    return done;
  };

  /** All teams write while `work` runs. Returns what was acknowledged meanwhile. */
  const writingDuring = async (work: () => Promise<unknown>): Promise<readonly Done[]> => {
    const done: Done[] = [];
    let isOver = false;
    const writers = NAMES.map(async (name) => {
      while (!isOver) {
        done.push(await write(name, `${name} ${all.length} ${done.length}`));
        await delay(PAUSE_MS);
      }
    });
    await work();
    isOver = true;
    await Promise.all(writers);
    return done;
  };

  const places = async (): Promise<Places> => {
    const ports = await portsOf(url, NAMES.map(teamOf));
    return new Map(NAMES.map((name) => [name, ports.get(teamOf(name))]));
  };

  /** Starts a server with the extension, as the runbook wants it. */
  const newNode = async (): Promise<CitusNode> => {
    const node = await cluster.addNode();
    for (const name of [DATABASE, TWIN]) {
      await runSql(node.url, `create database ${name}`);
      await runSql(urlOf(node.url, name), 'create extension citus');
    }
    return node;
  };

  /** Runs the commands that the runbook has under a heading, with these values. */
  const followRunbook = async (
    database: string,
    heading: string,
    values: Readonly<Record<string, string>>,
  ): Promise<void> => {
    const known = { ...values };
    for (const command of await commandsOf(heading)) {
      const sql = Object.entries(known).reduce(
        (text, [name, value]) => text.replaceAll(name, value),
        command,
      );
      const [row] = await runSql<{ nodename?: string; nodeport?: number }>(database, sql);
      // What a command answers is a value of those that follow.
      if (row?.nodename !== undefined)
        known[`'OLD', 5432`] = `'${row.nodename}', ${String(row.nodeport)}`;
    }
  };
  /** Does it in the twin and then here, while all teams write here. */
  const followTwice = async (
    heading: string,
    values: Readonly<Record<string, string>>,
  ): Promise<(readonly Done[])[]> => [
    await writingDuring(() => followRunbook(twinUrl, heading, values)),
    await writingDuring(() => followRunbook(url, heading, values)),
  ];
  const at = ({ port }: CitusNode): string => `'127.0.0.1', ${port}`;

  const compare = (
    what: string,
    names: readonly string[],
    [before, during]: readonly (readonly Done[])[],
  ): void => {
    const [former, meanwhile] = [p99(before, names), p99(during, names)];
    const limit = Math.max(LIMIT.times * former, LIMIT.ms);
    const rest = NAMES.filter((name) => !names.includes(name));
    console.log(
      `${what}: p99 of ${names.length} teams elsewhere ${former} ms before, ${meanwhile} ms ` +
        `meanwhile; of the other ${rest.length} ${p99(during, rest)} ms; ` +
        `${during?.length} writes`,
    );
    expect(meanwhile).toBeLessThan(limit);
  };

  /** What was acknowledged is there once, and its event has arrived. */
  const expectNothingLost = async (): Promise<void> => {
    const stored = await runSql<{ title: string }>(url, 'select title from assignment');
    const titles = stored.map(({ title }) => title).toSorted();
    expect(titles).toEqual(all.map(({ title }) => title).toSorted());
    const events = await runSql<{ id: string }>(
      url,
      `select id from event where type = 'assignment.created'`,
    );
    expect(events).toHaveLength(all.length);
    await until(() => {
      const arrived = new Set(receiver.requests.map(({ headers }) => headers['svc-event-id']));
      return events.every(({ id }) => arrived.has(id));
    });
    await until(async () => {
      const deliveries = await runSql<{ status: string; count: number }>(
        url,
        'select status, count(*)::int as count from webhook_delivery group by status',
      );
      return deliveries.length === 1 && deliveries[0]?.count === events.length;
    });
  };

  test('a node that is killed and comes back delays its own teams only', async () => {
    const before = await writingDuring(() => delay(BEFORE_MS));
    const node = cluster.nodes[1];
    const during = await writingDuring(async () => {
      await node?.kill();
      await delay(AWAY_MS);
      await node?.start();
    });
    const now = await places();
    const others = NAMES.filter((name) => now.get(name) !== node?.port);
    expect(others.length).toBeLessThan(NAMES.length);
    compare('a node is away', others, [before, during]);
    await expectNothingLost();
  });

  test('a new node gets its part of the rows', async () => {
    const former = await places();
    const node = await newNode();
    const done = await followTwice('Add a node', { [`'NEW', 5432`]: at(node) });
    const now = await places();
    const moved = NAMES.filter((name) => now.get(name) !== former.get(name));
    expect(moved.length).toBeGreaterThan(0);
    expect(moved.every((name) => now.get(name) === node.port)).toBe(true);
    const others = NAMES.filter((name) => !moved.includes(name));
    compare('a node is added', others, done);
    await expectNothingLost();
  });

  test('a large team gets a shard of its own, and the shard a node', async () => {
    const node = await newNode();
    const values = { TEAM: teamOf(LARGE), [`'NEW', 5432`]: at(node) };
    for (const database of [url, twinUrl])
      await runSql(database, `select citus_add_node(${at(node)})`);
    const former = await places();
    const others = NAMES.filter((name) => former.get(name) !== former.get(LARGE));
    compare(
      'a shard is split',
      others,
      await followTwice('Give a team a shard of its own', values),
    );
    await expectNothingLost();

    const done = await followTwice('Move the shard of a team', values);
    const now = await places();
    expect(NAMES.filter((name) => now.get(name) === node.port)).toEqual([LARGE]);
    compare('a shard moves', others, done);
    await expectNothingLost();
  });
});

async function commandsOf(heading: string): Promise<string[]> {
  const text = await readFile(RUNBOOK, 'utf8');
  const [, block] = text.split(`-- ${heading}.\n`);
  const commands = block?.split('```')[0]?.split(';') ?? [];
  return commands.map((command) => command.trim()).filter((command) => command !== '');
}

function p99(done: readonly Done[] | undefined, names: readonly string[]): number {
  const own = (done ?? []).filter(({ name }) => names.includes(name)).map(({ ms }) => ms);
  const sorted = own.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.ceil(sorted.length * 0.99) - 1] ?? NaN);
}
