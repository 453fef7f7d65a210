// A Patroni cluster loses its primary in every way that we could think of, while two API processes
// write and two workers deliver. They find the primary by HAProxy, as the runbook has it, by
// themselves among several hosts, or the APIs by PgBouncer before HAProxy. Nothing that was
// acknowledged may be lost, and callers may see nothing but `503 unavailable`. How long each fault
// takes is printed beside what Patroni allows.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { createRandom } from '../../src/seed/random.ts';
import { startReceiver, type Receiver } from '../races/chaos/receiver.ts';
import { createCall, loadTestSeed } from '../support/api.ts';
import { startApiProcess, startWorkerProcess, type RunningProcess } from '../support/processes.ts';
import { because } from '../support/debian.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { SETTINGS, startCluster, whyNoCluster, type Cluster, type Member } from './cluster.ts';
import { compare, startLoad, type Customer, type Ledger, type Load } from './load.ts';
import { findPgBouncer, startPooler, type Pooler } from './pgbouncer.ts';
import { startRoute, type Route } from './route.ts';

const ENDPOINT = 'whe_failover';
/** A lost leader key is noticed within this time, and a standby takes over. */
const TTL_S = SETTINGS.ttl + SETTINGS.loop_wait;
const BOTH = ['patroni', 'postgres'] as const;
const reason = whyNoCluster();
const pgbouncer = reason === null ? await findPgBouncer() : { reason };

/** The list has a route, too, which leads to a standby in the end. */
const STALE_HOST = 'several hosts, HAProxy first';
/** How processes find the primary. */
const WAYS = ['HAProxy', 'several hosts', STALE_HOST, 'PgBouncer'] as const;
type Way = (typeof WAYS)[number];

/** Why this way cannot be gone on this machine, or null. */
function whyNotBy(way: Way): string | null {
  return way === 'PgBouncer' && 'reason' in pgbouncer ? pgbouncer.reason : null;
}

interface World {
  readonly way: Way;
  readonly primary: Member;
  readonly standby: Member;
  readonly load: Load;
}

interface Fault {
  readonly title: string;
  /** Whether the leader key has to expire. Otherwise Patroni acts at once. */
  readonly waitsForTtl: boolean;
  /** Whether another member is the primary afterwards. */
  readonly moves: boolean;
  /** In which ways the primary is found; all but that with a stale host by default. */
  readonly ways?: readonly Way[];
  /** Without HAProxy, nobody keeps clients from the former primary before it is healed. */
  readonly isFencedByHaproxy?: boolean;
  /** Nothing happens, so clients and receivers may notice nothing. */
  readonly isCalm?: boolean;
  provoke(world: World): Promise<void> | void;
  /** Ends the fault. Clients write again by then. Without it, the cluster heals by itself. */
  heal?(world: World): Promise<void> | void;
}

const FAULTS: readonly Fault[] = [
  {
    title: 'the primary is killed, with Patroni',
    waitsForTtl: true,
    moves: true,
    provoke: ({ primary }) => primary.signal('SIGKILL', BOTH),
    heal: ({ primary }) => primary.start(),
  },
  {
    title: 'a planned switchover',
    waitsForTtl: false,
    moves: true,
    provoke: () => cluster.switchOver(),
  },
  {
    title: 'Postgres alone is killed',
    waitsForTtl: false,
    moves: true,
    ways: ['HAProxy', 'several hosts'],
    provoke: ({ primary }) => primary.signal('SIGKILL', ['postgres']),
  },
  {
    title: 'Patroni alone is killed',
    waitsForTtl: true,
    moves: true,
    ways: ['HAProxy', 'several hosts'],
    isFencedByHaproxy: true,
    provoke: ({ primary }) => primary.signal('SIGKILL', ['patroni']),
    heal: ({ primary }) => primary.start(),
  },
  {
    title: 'the primary is frozen',
    waitsForTtl: true,
    moves: true,
    ways: ['HAProxy', 'several hosts'],
    provoke: async ({ primary }) => {
      await primary.endSessions();
      // The service opens new ones now. They freeze at whatever step of the login they are.
      await delay(60);
      await primary.signal('SIGSTOP', BOTH);
    },
    heal: ({ primary }) => primary.signal('SIGCONT', BOTH),
  },
  {
    title: 'the synchronous standby is frozen',
    waitsForTtl: false,
    moves: false,
    ways: ['HAProxy', 'several hosts'],
    provoke: ({ standby }) => standby.signal('SIGSTOP', BOTH),
    heal: ({ standby }) => standby.signal('SIGCONT', BOTH),
  },
  {
    title: 'a route that stays with the former primary',
    waitsForTtl: false,
    moves: true,
    ways: ['HAProxy', 'PgBouncer', STALE_HOST],
    provoke: async ({ way, load }) => {
      await route.freeze();
      await cluster.switchOver();
      await cluster.whole();
      // Whoever has other hosts does not need the route.
      await (way === STALE_HOST ? load.acknowledges(50) : load.isRefused(200));
      await route.follow(await cluster.primary());
    },
  },
  {
    title: 'nothing, after all of these',
    waitsForTtl: false,
    moves: false,
    isCalm: true,
    provoke: () => undefined,
  },
];

let cluster: Cluster;
let route: Route;
/** The fault after which the cluster is not whole yet, or never became whole. */
let unhealed = '';

/** The URL by which the workers find the primary. */
function workerUrlOf(way: Way): string {
  if (way === 'HAProxy' || way === 'PgBouncer') return route.url;
  const first = way === STALE_HOST ? [new URL(route.url)] : [];
  const hosts = [...first, ...cluster.members].map(({ port }) => `127.0.0.1:${port}`).join();
  return `postgres://app@${hosts}/app?target_session_attrs=read-write`;
}

describe.skipIf(reason !== null)(`a cluster${because(reason)}`, () => {
  let receiver: Receiver;
  let key: string;
  const table: Record<string, string | number>[] = [];

  beforeAll(async () => {
    cluster = await startCluster();
    route = await startRoute(cluster.members);
    receiver = await startReceiver(createRandom(1, 1, 1));
    receiver.recover();
    await migrate(route.url);
    const endpoint = {
      id: ENDPOINT,
      url: receiver.addressOf(ENDPOINT),
      events: ['assignment.created', 'assignment.completed'] as never,
    };
    const seed = makeSeed([makeTeam('a', { webhook_endpoints: [endpoint] })]);
    const team = (await loadTestSeed({ url: route.url }, seed)).teams['team_a'];
    receiver.secrets.set(ENDPOINT, team?.webhook_endpoints[ENDPOINT] ?? '');
    key = team?.api_keys['full'] ?? '';
  });

  afterAll(async () => {
    if (table.length > 0) console.table(table);
    await receiver?.stop();
    await route?.stop();
    await cluster?.stop();
  });

  for (const way of WAYS) {
    const why = whyNotBy(way);
    describe.skipIf(why !== null)(`found by ${way}${because(why)}`, () => {
      addTests(way);
    });
  }

  function addTests(way: Way): void {
    let customer: Customer;
    let pooler: Pooler | null = null;
    const processes: RunningProcess[] = [];

    beforeAll(async () => {
      if (way === 'PgBouncer' && 'command' in pgbouncer)
        pooler = await startPooler(pgbouncer, Number(new URL(route.url).port));
      const url = workerUrlOf(way);
      const apiUrl = pooler?.url ?? url;
      const env = {
        WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
        WEBHOOK_RETRY_DELAYS_S: Array.from({ length: 30 }, () => 1).join(','),
      };
      const apis = [await startApiProcess(apiUrl, env), await startApiProcess(apiUrl, env)];
      processes.push(...apis);
      for (const _worker of [1, 2]) processes.push(await startWorkerProcess(url, env));
      const calls = apis.map((api) => createCall(api.url));
      customer = { key, memberId: memberId('a', 'member'), calls };
    });

    afterAll(async () => {
      for (const running of processes) await running.kill('SIGKILL');
      await pooler?.stop();
    });

    /**
     * Provokes the fault under load, heals it, and resolves when the cluster is whole. `reach` is
     * told what is waited for.
     */
    async function suffer(
      name: string,
      fault: Fault,
      reach: (step: string) => void,
    ): Promise<Ledger> {
      const { moves, isFencedByHaproxy = false } = fault;
      const [primary, standby] = [await cluster.primary(), await cluster.synchronousStandby()];
      const load = startLoad(name, customer);
      const world = { way, primary, standby, load };
      reach('acknowledgements before the fault');
      await load.acknowledges(50);
      reach('the fault');
      await fault.provoke(world);
      reach('another primary');
      if (moves) await until(async () => (await cluster.primary()).name !== primary.name);
      reach('acknowledgements during the fault');
      if (way !== 'several hosts' || !isFencedByHaproxy) await load.acknowledges(50);
      reach('the whole cluster');
      await fault.heal?.(world);
      await cluster.whole();
      reach('acknowledgements after the fault');
      await load.acknowledges(50);
      reach('the last acknowledgements');
      return load.stop();
    }

    const usual = WAYS.filter((one) => one !== STALE_HOST);
    const faults = FAULTS.filter(({ ways = usual }) => ways.includes(way));
    test.for(faults)('$title: nothing acknowledged is lost', async (fault) => {
      const name = `${way}, ${fault.title}`;
      if (unhealed) throw new Error(`the cluster was left as it is after: ${unhealed}`);
      unhealed = name;
      let awaited = '';
      onTestFailed(async () => {
        console.error(`${name}: waited for ${awaited}`, loggedErrors(processes));
        console.error(await cluster.log());
      });
      const ledger = await suffer(name, fault, (step) => {
        awaited = step;
      });
      unhealed = '';
      awaited = 'deliveries';
      // Not through the route, which may cut a connection yet.
      const url = `postgres://app@127.0.0.1:${(await cluster.primary()).port}/app`;
      const outcome = await compare(name, url, ledger, receiver);
      table.push({
        fault: name,
        'without service, s': (ledger.silenceMs / 1_000).toFixed(1),
        'TTL, s': fault.waitsForTtl ? TTL_S : '-',
        'slowest answer, s': (ledger.slowestMs / 1_000).toFixed(1),
        refused: ledger.refused,
        acknowledged: ledger.acknowledged.size,
        'delivered again': outcome.again,
      });
      if (ledger.faults.length > 0) console.error(loggedErrors(processes));
      expect(ledger.faults).toEqual([]);
      expect(outcome).toMatchObject({ lost: [], twice: [], wrongDeliveries: [] });
      expect(receiver.faults).toEqual([]);
      const noticed = ledger.refused + outcome.again;
      expect(fault.isCalm ? noticed : 0).toBe(0);
      for (const { exited } of processes)
        expect(await Promise.race([exited, Promise.resolve('runs')])).toBe('runs');
    });
  }
});

/** What the processes logged at level error, each cause once. */
function loggedErrors(processes: readonly RunningProcess[]): string {
  const lines = processes.flatMap((running) => running.output().split('\n'));
  const errors = lines.filter((line) => line.startsWith('{"level":50'));
  const causes = new Map(errors.map((line) => [messageOf(line), line]));
  return [...causes.values()].join('\n');
}

function messageOf(line: string): string {
  const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } };
  return `${msg} ${err?.message}`;
}
