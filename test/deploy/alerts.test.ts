// Each alert of scripts/deploy/prometheus fires when its cause happens to real processes, and each
// figure of the dashboard is there.
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { codeOf } from '../support/app.ts';
import { because, run, whyNot } from '../support/debian.ts';
import { startMailServer } from '../support/mail-server.ts';
import { findFreePort } from '../support/ports.ts';
import { status } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import { startPrometheus, untilFiring } from './prometheus.ts';
import { ASSIGNMENT, createWorld, type Process, type World } from './world.ts';

const DASHBOARD = new URL('../../scripts/deploy/grafana/dashboard.json', import.meta.url);
/** A pending alert is none yet. */
const BURNING = 'ALERTS{alertname="ErrorBudgetBurnsFast", slo="availability", alertstate="firing"}';

/** Holds a lock on a table while `work` runs. */
async function whileLocked(pool: Pool, lock: string, work: () => Promise<unknown>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`begin; lock table ${lock}`);
    await work();
    await client.query('rollback');
  } finally {
    client.release();
  }
}

async function countDeliveries(pool: Pool, condition: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::int from webhook_delivery where ${condition}`,
  );
  return rows[0]?.count ?? 0;
}

/** Kills a process that Prometheus has seen, and resolves when the alert fires. */
async function killAndWait(
  { prometheus }: World,
  alert: string,
  [job, running]: readonly [string, Process],
): Promise<void> {
  await until(async () => (await prometheus.count(`up{job="${job}"} == 1`)) === 1);
  await until(async () => !(await prometheus.firing()).includes(alert));
  await running.kill('SIGKILL');
  await untilFiring(prometheus, alert);
}

/** Stops a balancer that Prometheus has seen, and resolves when the alert fires. */
async function stopBalancer(
  { startApi, startBalancer, prometheus }: World,
  alert: string,
): Promise<void> {
  await startApi();
  const haproxy = await startBalancer();
  await until(async () => (await prometheus.count('up{job="balancer"} == 1')) === 1);
  await until(async () => !(await prometheus.firing()).includes(alert));
  await haproxy.stop();
  await untilFiring(prometheus, alert);
}

/** How each alert's cause comes about. Resolves when the alert fires. */
const causes: Readonly<Record<string, (world: World, alert: string) => Promise<void>>> = {
  // It has no cause.
  Watchdog: async ({ prometheus }, alert) => untilFiring(prometheus, alert),
  ApiGone: async (world, alert) => killAndWait(world, alert, ['api', await world.startApi()]),
  ApiProcessDown: async (world, alert) =>
    killAndWait(world, alert, ['api', await world.startApi()]),
  WorkersGone: async (world, alert) =>
    killAndWait(world, alert, ['worker', await world.startWorker()]),
  WorkerProcessDown: async (world, alert) =>
    killAndWait(world, alert, ['worker', await world.startWorker()]),
  ProcessRestarts: async ({ startApi, prometheus }, alert) => {
    for (let start = 1; start <= 4; start += 1) {
      const before = Math.floor(Date.now() / 1_000);
      const api = await startApi();
      const seen = `process_start_time_seconds{job="api"} >= ${before}`;
      await until(async () => (await prometheus.count(seen)) === 1);
      await api.kill('SIGKILL');
    }
    await untilFiring(prometheus, alert);
  },
  ProcessMemory: async ({ startApi, prometheus }, alert) => {
    const hoard = 'globalThis.hoard = Buffer.alloc(900e6, 1)';
    await startApi({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURI(hoard)}` });
    await untilFiring(prometheus, alert);
  },
  EventLoopBlocked: async ({ startWorker, prometheus }, alert) => {
    const { pid } = await startWorker();
    await untilFiring(prometheus, alert, async () => {
      process.kill(pid, 'SIGSTOP');
      await delay(400);
      process.kill(pid, 'SIGCONT');
      await delay(200);
    });
  },
  // 8 MB of lines wait for a reader. A request of a stranger makes ten, and costs little.
  LogLinesDropped: async ({ startApi, startBalancer, prometheus }, alert) => {
    const api = await startApi({ LOG_LEVEL: 'info' });
    const { url } = await startBalancer();
    const names = Array.from({ length: 10 }, () => 'v1.me.get').join();
    const ask = async (): Promise<void> => {
      await (await fetch(`${url}/trpc/${names}?batch=1`)).arrayBuffer();
    };
    api.stopReading();
    await untilFiring(prometheus, alert, () => Promise.all(Array.from({ length: 8 }, ask)));
  },
  RequestLogIncomplete: async ({ startApi, startBalancer, pool, prometheus, ask }, alert) => {
    await startApi();
    await startBalancer();
    await pool.query(`alter table request_log add check (route <> '/me')`);
    await untilFiring(prometheus, alert, () => ask('GET', '/me'));
  },
  ApiNotReady: async ({ startApi, loseDatabase, prometheus }, alert) => {
    await startApi();
    await until(async () => (await prometheus.count('api_ready{reason="ready"} == 1')) === 1);
    await loseDatabase();
    await untilFiring(prometheus, alert);
    const seen = await prometheus.count('api_ready{reason="database_unreachable"} == 0');
    expect(seen).toBe(1);
  },
  ApiProcessNotReady: async ({ startApi, loseDatabase, prometheus }, alert) => {
    await startApi();
    await loseDatabase();
    await untilFiring(prometheus, alert);
  },
  BalancerGone: stopBalancer,
  BalancerProcessDown: stopBalancer,
  // The balancer asks /readyz and leaves the API out, so the API itself answers nothing.
  BalancerFaults: async ({ startApi, startBalancer, loseDatabase, prometheus }, alert) => {
    await startApi();
    const { url } = await startBalancer();
    const ask = async (): Promise<Response> => {
      const response = await fetch(`${url}${BASE_PATH}/me`);
      await response.arrayBuffer();
      return response;
    };
    await until(async () => (await ask()).status === 401);
    await loseDatabase();
    await untilFiring(prometheus, alert, ask);
    const response = await fetch(`${url}${BASE_PATH}/me`);
    expect(response.status).toBe(503);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.headers.get('retry-after')).toBe('5');
    expect(await response.json()).toEqual({
      type: 'about:blank',
      title: 'Temporarily unavailable',
      status: 503,
      code: 'unavailable',
      request_id: response.headers.get('x-request-id'),
    });
    await untilFiring(prometheus, 'ApiNotReady', ask);
    // The API's own answers, from before the balancer noticed, are soon over.
    await until(async () => {
      await ask();
      const firing = new Set(await prometheus.firing());
      return firing.has(alert) && firing.has('ApiNotReady') && !firing.has('ApiUnavailable');
    });
  },
  ApiFaults: async ({ startApi, startBalancer, pool, prometheus, ask }, alert) => {
    await startApi();
    await startBalancer();
    await pool.query('alter table training rename to training_of_somebody_else');
    await untilFiring(prometheus, alert, () => ask('GET', '/trainings'));
  },
  ApiUnavailable: async ({ startApi, loseDatabase, prometheus, ask }, alert) => {
    await startApi();
    await loseDatabase();
    await untilFiring(prometheus, alert, () => ask('GET', '/me'));
  },
  ApiSlow: async ({ startApi, startBalancer, pool, prometheus, ask }, alert) => {
    await startApi();
    await startBalancer();
    await untilFiring(prometheus, alert, () =>
      whileLocked(pool, 'training in access exclusive mode', async () => {
        const asked = [1, 2, 3, 4].map(() => ask('GET', '/trainings').catch(() => 0));
        await delay(1_000);
        void Promise.all(asked);
      }),
    );
  },
  ManyRequestsRateLimited: async ({ startApi, startBalancer, prometheus, ask }, alert) => {
    await startApi({ API_KEY_RATE_LIMIT_PER_MIN: '10' });
    await startBalancer();
    await untilFiring(prometheus, alert, () => ask('GET', '/me'));
  },
  DeliveriesLate: async ({ startApi, startWorker, pool, prometheus, create }, alert) => {
    await startApi();
    const worker = await startWorker({ WEBHOOK_RETRY_DELAYS_S: '3600' });
    await create('/assignments', ASSIGNMENT);
    await until(async () => (await prometheus.count('webhook_attempts_in_flight')) > 0);
    await until(async () => (await countDeliveries(pool, `status = 'ok'`)) === 5);
    await worker.kill('SIGKILL');
    await pool.query(
      `update webhook_delivery
       set next_try_at = now() - interval '2 minutes', status = 'retrying', claimed_by = null`,
    );
    // A claim passes over rows that somebody has locked, for instance psql without a commit.
    const client = await pool.connect();
    try {
      await client.query('begin; select from webhook_delivery for update');
      await startWorker();
      await untilFiring(prometheus, alert);
    } finally {
      await client.query('rollback');
      client.release();
    }
  },
  FanOutLate: async ({ startApi, startWorker, pool, prometheus, create }, alert) => {
    await startApi();
    await startWorker();
    // What removes the lock: nobody, as after a forgotten `begin` in psql.
    await whileLocked(pool, 'webhook_delivery in share row exclusive mode', async () => {
      await create('/assignments', ASSIGNMENT);
      await pool.query(`update event set created_at = now() - interval '1 minute'`);
      await untilFiring(prometheus, alert);
    });
  },
  DeliveriesFail: async ({ startApi, startWorker, prometheus, receiver, create }, alert) => {
    receiver.on('/hook', status(500));
    await startApi();
    await startWorker({ WEBHOOK_RETRY_DELAYS_S: Array.from({ length: 90 }, () => 1).join(',') });
    await create('/assignments', ASSIGNMENT);
    await untilFiring(prometheus, alert);
  },
  // The worker cannot open a connection to a receiver. Those to Prometheus and Postgres are open.
  DeliveryFaults: async ({ startApi, startWorker, prometheus, receiver, create }, alert) => {
    await startApi();
    const { pid } = await startWorker();
    await until(async () => (await prometheus.count('webhook_attempt_faults_total == 0')) === 1);
    const open = new Set(await readdir(`/proc/${pid}/fd`));
    const free = Array.from({ length: open.size + 1 }, (_, number) => number).find(
      (number) => !open.has(String(number)),
    );
    await run('prlimit', [`--pid=${pid}`, `--nofile=${free}:`]);
    await create('/assignments', ASSIGNMENT);
    await untilFiring(prometheus, alert);
    expect(receiver.requestsTo('/hook')).toEqual([]);
  },
  ManyWebhookEndpointsPaused: async ({ startWorker, pool, prometheus }, alert) => {
    await startWorker();
    // The alert is about a rise, so Prometheus must have seen the time before it.
    await until(async () => (await prometheus.count('webhook_endpoints_paused == 0')) > 0);
    await untilFiring(prometheus, alert, () =>
      pool.query(`update webhook_endpoint set status = 'disabled_failures'`),
    );
  },
  JobsLate: async ({ startWorker, pool, prometheus }, alert) => {
    await startWorker();
    await pool.query(
      `select graphile_worker.add_job('a_task_of_a_newer_release') from generate_series(1, 600)`,
    );
    await untilFiring(prometheus, alert);
  },
  // A mail server that says nothing keeps a mail's slot for 20 s.
  JobsOld: async ({ startApi, startWorker, pool, prometheus, create }, alert) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      await startApi();
      for (let guest = 0; guest < 40; guest += 1)
        await create('/users', { email: `guest-${guest}@example.com` });
      await startWorker({ SMTP_URL: `smtp://127.0.0.1:${port}` });
      // Three minutes of waiting, at once.
      const age = `update graphile_worker._private_jobs
        set run_at = run_at - interval '3 minutes'
        where locked_at is null and run_at > now() - interval '2 minutes' and run_at <= now()`;
      await untilFiring(prometheus, alert, () => pool.query(age));
    } finally {
      server.close();
    }
  },
  JobsFail: async ({ startApi, startWorker, prometheus, ask }, alert) => {
    await startApi();
    await startWorker({ SMTP_URL: `smtp://127.0.0.1:${await findFreePort()}` });
    let invited = 0;
    await untilFiring(prometheus, alert, async () => {
      invited += 1;
      await ask('POST', '/users', { email: `guest-${invited}@example.com` });
    });
  },
  MailsRefused: async ({ startApi, startWorker, prometheus, ask }, alert) => {
    const mail = await startMailServer(undefined, (command) =>
      command === 'RCPT TO'
        ? Object.assign(new Error('we do not relay'), { responseCode: 554 })
        : undefined,
    );
    await startApi();
    await startWorker({ SMTP_URL: mail.url });
    let invited = 0;
    await untilFiring(prometheus, alert, async () => {
      invited += 1;
      await ask('POST', '/users', { email: `guest-${invited}@example.com` });
    });
  },
};

/** Minutes that are long enough for what happens in them. A process starts in up to 20 seconds. */
const SECONDS_PER_MINUTE: Readonly<Record<string, number>> = { ProcessRestarts: 6 };

const reason = whyNot(['prometheus', 'haproxy', 'prlimit']);

describe.skipIf(reason !== null)(`the alerts${because(reason)}`, () => {
  test('are all provoked here', async (context) => {
    const prometheus = await startPrometheus(context, {});
    expect((await prometheus.alerts()).toSorted()).toEqual(Object.keys(causes).toSorted());
  });

  // Each in a world of its own. They mostly wait, so several run at once.
  test.concurrent.for(Object.entries(causes))(
    '%s fires when its cause happens',
    async ([alert, provoke], context) => {
      const secondsPerMinute = SECONDS_PER_MINUTE[alert];
      const world = await createWorld(context, secondsPerMinute ? { secondsPerMinute } : {});
      await provoke(world, alert);
      expect(await world.prometheus.firing()).toContain(alert);
    },
  );

  // A customer's receiver is the customer's matter, and its limit is ours to keep.
  test.concurrent('no page for one receiver that does not answer', async (context) => {
    const { startApi, startWorker, pool, prometheus, receiver, create } =
      await createWorld(context);
    receiver.on('/silent', () => undefined);
    await pool.query(`update webhook_endpoint set url = $1 where id = 'whe_1'`, [
      `${receiver.url}/silent`,
    ]);
    await startApi();
    for (let number = 0; number < 30; number += 1) await create('/assignments', ASSIGNMENT);
    await startWorker({ WEBHOOK_TIMEOUT_MS: '2000' });
    await until(async () => (await countDeliveries(pool, `status = 'ok'`)) === 120);
    const late = `waits_as is not null and due_at < now() - interval '100 seconds'`;
    await pool.query(
      `update webhook_delivery
       set next_try_at = now() - interval '5 minutes'
       where endpoint_id = 'whe_1' and claimed_by is null`,
    );
    // Twice as long as the alert needs.
    for (let second = 0; second < 20; second += 1) {
      await delay(1_000);
      expect(await prometheus.firing()).not.toContain('DeliveriesLate');
    }
    expect(await countDeliveries(pool, late)).toBeGreaterThan(10);
    expect(await prometheus.count('webhook_endpoints_at_limit > 0')).toBe(1);
  });

  test.concurrent('the budget of a promise burns while requests fail', async (context) => {
    const world = await createWorld(context, { rules: ['slo.yml'] });
    const { startApi, startBalancer, pool, prometheus, ask } = world;
    await startApi();
    await startBalancer();
    for (let number = 0; number < 20; number += 1) await ask('GET', '/trainings');
    expect(await prometheus.count(BURNING)).toBe(0);
    await pool.query('alter table training rename to training_of_somebody_else');
    await until(async () => {
      await ask('GET', '/trainings');
      return (await prometheus.count(BURNING)) === 1;
    });
  });

  // The balancer answers, and the API hears of nothing.
  test.concurrent('the budget burns while the balancer reaches no API', async (context) => {
    const world = await createWorld(context, { rules: ['slo.yml'] });
    const { startApi, startBalancer, loseDatabase, prometheus, ask } = world;
    await startApi();
    await startBalancer();
    for (let number = 0; number < 20; number += 1) await ask('GET', '/me');
    expect(await prometheus.count(BURNING)).toBe(0);
    await loseDatabase();
    await until(async () => {
      await ask('GET', '/me');
      return (await prometheus.count(BURNING)) === 1;
    });
  });

  test.concurrent('calls of the app count, through the balancer', async (context) => {
    const { startApi, startBalancer, pool, prometheus, app } = await createWorld(context);
    await startApi();
    await startBalancer();
    await pool.query('alter table alert_subscription rename to table_of_somebody_else');
    const { admin } = await app();
    await untilFiring(prometheus, 'ApiFaults', () => codeOf(admin.alerts.get.query({})));
    expect(await prometheus.count('app_call_duration_seconds_count{class="fault"} > 0')).toBe(1);
    await untilFiring(prometheus, 'BalancerFaults', () => codeOf(admin.alerts.get.query({})));
  });

  test('stay silent while nothing is wrong', async (context) => {
    const { startApi, startWorker, startBalancer, prometheus, ask } = await createWorld(context);
    await startApi();
    await startWorker();
    await startBalancer();
    // Longer than any alert of the above needs.
    for (let second = 0; second < 40; second += 1) {
      await ask('POST', '/assignments', ASSIGNMENT);
      await ask('GET', '/assignments');
      await delay(1_000);
    }
    // A pause of the machine may have raised one for some seconds. What is wrong stays.
    const look = async (): Promise<string[]> => {
      await ask('POST', '/assignments', ASSIGNMENT);
      await ask('GET', '/assignments');
      return prometheus.firing();
    };
    await expect.poll(look, { interval: 1_000 }).toEqual(['Watchdog']);
  });
});

describe.skipIf(reason !== null)(`the dashboard${because(reason)}`, () => {
  test('asks only for figures that processes serve', async (context) => {
    const rules = { rules: ['alerts.yml', 'slo.yml'] };
    const { startApi, startWorker, prometheus, ask } = await createWorld(context, rules);
    await startApi();
    await startWorker({ SMTP_URL: `smtp://127.0.0.1:${await findFreePort()}` });
    const queries = await readQueries();
    expect(queries.length).toBeGreaterThan(20);
    const missing = new Set(queries);
    for (let number = 0; missing.size > 0 && number < 120; number += 1) {
      await ask('POST', '/assignments', ASSIGNMENT);
      await ask('POST', '/users', { email: `guest-${number}@example.com` });
      await delay(500);
      for (const query of missing) if ((await prometheus.count(query)) > 0) missing.delete(query);
    }
    expect([...missing]).toEqual([]);
  });

  /** The queries of all panels, over the few seconds that a test has. */
  async function readQueries(): Promise<string[]> {
    const { panels } = JSON.parse(await readFile(DASHBOARD, 'utf8')) as {
      panels: { targets?: { expr: string }[] }[];
    };
    return panels
      .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
      .map((query) => query.replaceAll('$__rate_interval', '10s'));
  }
});
