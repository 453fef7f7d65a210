// Processes of ours that Prometheus watches, on a database that can get lost.
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { loadTestSeed } from '../support/api.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { appAsMember } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/ports.ts';
import { openSturdyPool } from '../support/pool.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { startHaproxy, type Haproxy } from '../balancers/balancers.ts';
import {
  startPrometheus,
  type Ending,
  type Prometheus,
  type PrometheusOptions,
} from './prometheus.ts';

export type Process = Awaited<ReturnType<typeof startWorkerProcess>>;

/** A database with one team, and Prometheus over the ports of the processes to come. */
export interface World {
  /** The database, also when the processes have lost it. */
  readonly pool: Pool;
  readonly prometheus: Prometheus;
  /** Where the team's webhook endpoints are. */
  readonly receiver: Receiver;
  readonly startApi: (env?: Record<string, string>) => Promise<Process>;
  readonly startWorker: (env?: Record<string, string>) => Promise<Process>;
  /** From now on the processes cannot reach the database. */
  readonly loseDatabase: () => Promise<void>;
  /** Sends a request to the API, through the balancer if there is one. Resolves with the status. */
  readonly ask: (method: string, path: string, body?: unknown) => Promise<number>;
  /** Sends it until it is created: on a busy machine the API may be unavailable for a moment. */
  readonly create: (path: string, body: unknown) => Promise<void>;
  /** The app, as the team's owner uses it, through the balancer if there is one. */
  readonly app: () => ReturnType<typeof appAsMember>;
  /** Puts HAProxy before two ports, the API's and one at which nobody listens. */
  readonly startBalancer: () => Promise<Haproxy>;
}

/** The body of a request that raises an event. */
export const ASSIGNMENT = {
  member_id: memberId('a', 'member'),
  title: 'Practise',
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};

/** Creates a world, which ends with the test. `options`: those of its Prometheus. */
export async function createWorld(ending: Ending, options: PrometheusOptions = {}): Promise<World> {
  const database = await createTestDatabase();
  const proxy = await startPostgresProxy(database.url);
  const receiver = await startReceiver();
  const pool = openSturdyPool(database.url, 8);
  const key = await seedTeam(database, receiver);
  const port = String(await findFreePort());
  const [api, worker] = [await findFreePort(), await findFreePort()];
  const balancer = await findFreePort();
  const jobs = { api: [api], worker: [worker], balancer: [balancer] };
  const prometheus = await startPrometheus(ending, jobs, options);
  let origin = `http://127.0.0.1:${port}`;
  const processes: Process[] = [];
  ending.onTestFinished(async () => {
    await Promise.all(processes.map((one) => one.kill('SIGKILL')));
    await pool.end();
    await receiver.stop();
    await proxy.stop();
    await database.drop();
  });
  const kept = async (starting: Promise<Process>): Promise<Process> => {
    const one = await starting;
    processes.push(one);
    return one;
  };
  const own = (metricsPort: number) => ({
    PORT: port,
    METRICS_PORT: String(metricsPort),
    WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
  });
  const ask = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<number> => {
    const request = {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const response = await fetch(`${origin}${BASE_PATH}${path}`, { ...request, method });
    await response.arrayBuffer();
    return response.status;
  };
  return {
    pool,
    prometheus,
    receiver,
    startApi: (env) => kept(startApiProcess(proxy.url, { ...own(api), ...env })),
    startWorker: (env) => kept(startWorkerProcess(proxy.url, { ...own(worker), ...env })),
    loseDatabase: () => proxy.stop(),
    startBalancer: async () => {
      const haproxy = await startHaproxy([Number(port), await findFreePort()], balancer, ending);
      origin = haproxy.url;
      // Until its first check it sends requests there, too, and answers them with 503.
      await until(async () => {
        const figures = await fetch(`http://127.0.0.1:${balancer}/metrics`);
        return /^haproxy_server_status\{.*server="api2",state="DOWN"\} 1$/m.test(
          await figures.text(),
        );
      });
      return haproxy;
    },
    app: () => appAsMember({ url: origin }, 'a', 'owner'),
    ask,
    create: async (path, body) => {
      const once = { 'idempotency-key': randomUUID() };
      await until(async () => (await ask('POST', path, body, once)) === 201);
    },
  };
}

/** Seeds a team with five webhook endpoints. Resolves with its key. */
async function seedTeam(database: TestDatabase, { url }: Receiver): Promise<string> {
  const endpoints = [1, 2, 3, 4, 5].map((number) => ({
    id: `whe_${number}`,
    url: `${url}/hook`,
    events: ['assignment.created' as const],
  }));
  const team = makeTeam('a', { webhook_endpoints: endpoints });
  const { teams } = await loadTestSeed(database, makeSeed([team]));
  return teams['team_a']?.api_keys['full'] ?? '';
}
