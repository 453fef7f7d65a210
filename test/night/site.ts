// A small site as the runbook has it: two APIs behind HAProxy, a worker, a pooler in front of
// Postgres, a mail server, a CRM, Prometheus with our rules, and three customers who use it.
import { appendFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type Pool } from 'pg';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { startHaproxy, type Haproxy } from '../balancers/balancers.ts';
import { startPrometheus, type Ending, type Prometheus } from '../deploy/prometheus.ts';
import { loadTestSeed, TEST_APP_AUTH_SECRET, TEST_APP_SECRET } from '../support/api.ts';
import {
  runEntry,
  runScript,
  startApiProcess,
  startWorkerProcess,
  type Exit,
  type RunningProcess,
} from '../support/processes.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { startCrm, type FakeCrm } from '../support/crm/fake.ts';
import { createTestDatabase } from '../support/database.ts';
import { startMailServer } from '../support/mail-server.ts';
import { openSturdyPool } from '../support/pool.ts';
import { findFreePort } from '../support/ports.ts';
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { until } from '../support/until.ts';

const TEAMS = ['acme', 'blitz', 'corvo'] as const;
export type Team = (typeof TEAMS)[number];

/** What a customer has of a response. */
export interface Answer {
  readonly status: number;
  readonly requestId: string;
}

/** A running site. It ends with the test. */
export interface Site {
  /** The database, past the pooler. */
  readonly pool: Pool;
  readonly pooler: PostgresProxy;
  /** In front of the mail server. */
  readonly mailRoute: PostgresProxy;
  readonly prometheus: Prometheus;
  readonly balancer: Haproxy;
  readonly crm: FakeCrm;
  /** Has a path for each team, such as `/acme`. */
  readonly receiver: Receiver;
  readonly processOf: (name: string) => RunningProcess;
  /** Ends an API, and starts it with these settings without waiting for it. */
  readonly restart: (name: string, env: Record<string, string>) => Promise<void>;
  /** A customer's request, through the balancer. */
  readonly ask: (team: Team, method: string, path: string, body?: unknown) => Promise<Answer>;
  /** The app, as the team's owner uses it. */
  readonly app: (team: Team) => ReturnType<typeof appAsMember>;
  /** Runs a command of the runbook, such as `trace ID`, and resolves with what it prints. */
  readonly command: (...args: string[]) => Promise<string>;
  /** Runs an operator's command, again and again until it is done: a busy site refuses some. */
  readonly operate: (...args: string[]) => Promise<void>;
  /** A session beside the service, as of somebody with psql. It ends with the site. */
  readonly openSession: () => Promise<Client>;
  /** What the operator on call has, as text. */
  readonly description: string;
  /** The settings that the processes share. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The body of a request of the team that raises an event. */
export const assignmentOf = (team: Team): Readonly<Record<string, string>> => ({
  member_id: memberId(team, 'member'),
  title: 'Practise',
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
});

/** Starts the site and its customers. Logs are written to the folder. */
export async function startSite(ending: Ending, folder: string): Promise<Site> {
  const { onTestFinished } = ending;
  const database = await createTestDatabase();
  const pool = openSturdyPool(database.url, 4);
  const [receiver, mail, crm] = await Promise.all([
    startReceiver(),
    startMailServer(),
    startCrm('pipedrive'),
  ]);
  const [pooler, mailRoute] = [
    await startPostgresProxy(database.url),
    await startPostgresProxy(mail.url),
  ];
  const keys = await seedTeams(database, receiver);
  const environment = {
    DATABASE_URL: pooler.url,
    SMTP_URL: mailRoute.url,
    APP_SECRET: TEST_APP_SECRET,
    APP_AUTH_SECRET: TEST_APP_AUTH_SECRET,
    WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
    LOG_LEVEL: 'info',
  };
  const ports = {
    api1: { PORT: await findFreePort(), METRICS_PORT: await findFreePort() },
    api2: { PORT: await findFreePort(), METRICS_PORT: await findFreePort() },
    worker1: { METRICS_PORT: await findFreePort() },
    balancer: { METRICS_PORT: await findFreePort() },
  };
  const settingsOf = (name: string): Record<string, string> => {
    const own = Object.entries(ports[name as keyof typeof ports]);
    return { ...environment, ...Object.fromEntries(own.map(([key, port]) => [key, String(port)])) };
  };
  const processes = new Map<string, RunningProcess>();
  const logs = await keepLogs(join(folder, 'logs'), processes);
  const sessions: Client[] = [];
  const stopping = new AbortController();
  const loads: Promise<void>[] = [];
  onTestFinished(async () => {
    stopping.abort();
    await Promise.all([...processes.values()].map((one) => one.kill('SIGKILL')));
    await Promise.all(loads);
    logs.stop();
    await Promise.all(sessions.map((session) => session.end()));
    await Promise.all([pool.end(), pooler.stop(), mailRoute.stop(), receiver.stop()]);
    await database.drop();
  });
  for (const name of ['api1', 'api2'])
    processes.set(name, await startApiProcess(pooler.url, settingsOf(name)));
  processes.set('worker1', await startWorkerProcess(pooler.url, settingsOf('worker1')));
  const { api1, api2, worker1 } = ports;
  const balancer = await startHaproxy([api1.PORT, api2.PORT], ports.balancer.METRICS_PORT, ending);
  const jobs = {
    api: [api1.METRICS_PORT, api2.METRICS_PORT],
    worker: [worker1.METRICS_PORT],
    balancer: [ports.balancer.METRICS_PORT],
  };
  const prometheus = await startPrometheus(ending, jobs);
  const processOf: Site['processOf'] = (name) => {
    const found = processes.get(name);
    if (!found) throw new Error(`no process ${name}`);
    return found;
  };
  const app: Site['app'] = (team) =>
    appAsMember({ url: `http://127.0.0.1:${api1.PORT}` }, team, 'owner');
  const ask: Site['ask'] = async (team, method, path, body) => {
    const response = await fetch(`${balancer.url}${BASE_PATH}${path}`, {
      method,
      headers: { authorization: `Bearer ${keys[team]}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(30_000),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    await response.arrayBuffer();
    return { status: response.status, requestId: response.headers.get('x-request-id') ?? '' };
  };
  const { admin } = await app('corvo');
  await until(async () => (await codeOf(admin.crm.connect.mutate(crm.connectInput()))) === 'ok');
  loads.push(...TEAMS.map((team) => use(ask, team, stopping.signal)));
  return {
    pool,
    pooler,
    mailRoute,
    prometheus,
    balancer,
    crm,
    receiver,
    processOf,
    restart: async (name, env) => {
      await processOf(name).kill('SIGTERM');
      processes.set(name, runEntry('src/api.ts', { ...settingsOf(name), ...env }));
    },
    ask,
    app,
    command: async (...args) => {
      const running = runScript(pooler.url, args, environment);
      await running.exited;
      return running.output();
    },
    operate: async (...args) => {
      const run = (): Promise<Exit> =>
        runScript(pooler.url, ['operator', ...args], environment).exited;
      await until(async () => (await run()).code === 0);
    },
    openSession: async () => {
      const client = new Client({ connectionString: database.url, application_name: 'psql' });
      client.on('error', () => undefined);
      await client.connect();
      sessions.push(client);
      return client;
    },
    environment,
    description: [
      `public      ${balancer.url} (HAProxy, pid ${balancer.pid})`,
      ...Object.entries(ports).map(([name, { METRICS_PORT: port }]) => {
        const running = processes.get(name);
        const place = running ? `, pid ${running.pid}, log ${join(folder, 'logs', name)}.log` : '';
        const own = settingsOf(name)['PORT'];
        return `${name.padEnd(11)} ${own ? `port ${own}, ` : ''}metrics port ${port}${place}`;
      }),
      `prometheus  ${prometheus.url}`,
    ].join('\n'),
  };
}

/** Seeds the teams, each with a webhook endpoint. Resolves with their keys. */
async function seedTeams(
  database: Parameters<typeof loadTestSeed>[0],
  { url }: Receiver,
): Promise<Readonly<Record<Team, string>>> {
  const none = { crm_connections: [], crm_deals: [], crm_objections: [] };
  const events = ['assignment.created' as const];
  const seeds = TEAMS.map((team) =>
    makeTeam(team, {
      ...none,
      webhook_endpoints: [{ id: `whe_${team}`, url: `${url}/${team}`, events }],
    }),
  );
  const { teams } = await loadTestSeed(database, makeSeed(seeds));
  const keyOf = (team: Team): string => teams[`team_${team}`]?.api_keys['full'] ?? '';
  return { acme: keyOf('acme'), blitz: keyOf('blitz'), corvo: keyOf('corvo') };
}

/** Writes what the processes print to `NAME.log`, as a log shipper does. */
async function keepLogs(
  folder: string,
  processes: ReadonlyMap<string, RunningProcess>,
): Promise<{ stop(): void }> {
  await mkdir(folder, { recursive: true });
  const written = new Map<RunningProcess, number>();
  const write = (): void => {
    for (const [name, running] of processes) {
      const text = running.output();
      appendFileSync(join(folder, `${name}.log`), text.slice(written.get(running) ?? 0));
      written.set(running, text.length);
    }
  };
  const writing = setInterval(write, 200);
  return {
    stop: () => {
      clearInterval(writing);
      write();
    },
  };
}

/** A customer at work, who takes every answer. */
async function use(ask: Site['ask'], team: Team, signal: AbortSignal): Promise<void> {
  for (let turn = 0; !signal.aborted; turn += 1) {
    const calls = [
      ask(team, 'POST', '/assignments', assignmentOf(team)),
      ask(team, 'GET', '/trainings'),
      ask(team, 'GET', '/assignments'),
    ];
    if (turn % 3 === 0)
      calls.push(ask(team, 'POST', '/users', { email: `guest-${turn}@${team}.example` }));
    await Promise.allSettled(calls);
    await delay(1_000);
  }
}
