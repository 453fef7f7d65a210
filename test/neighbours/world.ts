// One victim, one attack: the processes of the service on a database of their own, and a team that
// goes on with its work while somebody else attacks.
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { Pool as HttpPool } from 'undici';
import { createCall, loadTestSeed, type Call } from '../support/api.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { createTestDatabase } from '../support/database.ts';
import { openSturdyPool } from '../support/pool.ts';
import { makeFullTeam, makeSeed, makeTeam, memberId, type TeamSeed } from '../support/seed.ts';
import type { Answer, Order, Seen } from './victim.ts';

/** A row of the table: somebody who tries to make others wait. */
export interface Attack {
  readonly name: string;
  /** Seeded beside the victim. By default `team_attacker`, with one of everything. */
  readonly teams?: readonly TeamSeed[];
  /** Settings of the service's processes. */
  readonly env?: Readonly<Record<string, string>>;
  /** Makes what the attack needs, before the processes start. */
  readonly prepare?: (world: Pick<World, 'pool'>) => Promise<void>;
  /**
   * Attacks. Ends by itself, or soon after `world.end` aborts. Resolves with the share that what it
   * has measured itself takes of its limit, if it has measured something.
   */
  readonly run: (world: World) => Promise<number | void>;
}

export interface World {
  /** The API's address, without the base path. */
  readonly url: string;
  readonly pool: Pool;
  readonly databaseUrl: string;
  /** Calls the REST API with up to 64 requests at once. */
  readonly call: Call;
  /** Returns a key of a seeded team with every scope, by default the attacker's. */
  readonly key: (team?: string) => string;
  /** Aborts when the attack has lasted long enough. */
  readonly end: AbortSignal;
}

/** What the victim and the operator noticed. */
export interface Noticed extends Seen {
  /** What the attack has measured itself, as a share of its limit. */
  readonly share: number;
  /** The most memory that the API process ever had, in megabytes. */
  readonly memoryMb: number;
}

const QUIET_MS = 500;
const ATTACK_MS = 3_000;

/** Runs an attack and resolves with what the victim saw from its start to its end. */
export async function attackOnce(attack: Attack): Promise<Noticed> {
  const { teams = [makeFullTeam('attacker')], env = {} } = attack;
  const database = await createTestDatabase();
  const pool = openSturdyPool(database.url, 4);
  const victim = new Worker(new URL('victim.ts', import.meta.url));
  try {
    const { port } = await answerOf(victim, 'listening');
    const url = `http://127.0.0.1:${port}/`;
    const own = makeTeam('victim', {
      webhook_endpoints: [{ id: 'whe_victim', url, events: ['assignment.created'] }],
    });
    const { teams: seeded } = await loadTestSeed(database, makeSeed([own, ...teams]));
    const key = (team = 'team_attacker'): string => seeded[team]?.api_keys['full'] ?? '';
    await attack.prepare?.({ pool });
    const [api, worker] = await Promise.all([
      startApiProcess(database.url, { ...env }),
      startWorkerProcess(database.url, { WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', ...env }),
    ]);
    try {
      tell(victim, {
        kind: 'start',
        customer: {
          base: api.url + BASE_PATH,
          key: key('team_victim'),
          memberId: memberId('victim', 'member'),
        },
      });
      await delay(QUIET_MS);
      const call = createCall(api.url, { connections: 64 });
      const share = await attack.run({
        url: api.url,
        pool,
        databaseUrl: database.url,
        call,
        key,
        end: AbortSignal.timeout(ATTACK_MS),
      });
      tell(victim, { kind: 'stop' });
      const { seen } = await answerOf(victim, 'saw');
      return { ...seen, share: share ?? 0, memoryMb: peakMemoryMb(api.pid) };
    } finally {
      await Promise.all([api.kill('SIGKILL'), worker.kill('SIGKILL')]);
    }
  } finally {
    await victim.terminate();
    await pool.end();
    await database.drop();
  }
}

/** Attacks come from an address of their own. */
export const ATTACKER = '127.0.0.2';

/** A new connection takes at least this long from another host. */
export const ROUND_TRIP_MS = 20;

/** A request that an attack sends again and again. */
export interface Shot {
  readonly path: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Sends requests over as many connections at once, in turn, and reads the responses, until the
 * attack ends. Returns how often each status came. `reconnects`: goes on when the service ends a
 * connection, which it does to a flood.
 */
export async function fire(
  { url, end }: World,
  connections: number,
  shots: readonly Shot[],
  { reconnects = false }: { readonly reconnects?: boolean } = {},
): Promise<Readonly<Record<string, number>>> {
  const pool = new HttpPool(url, {
    connections,
    pipelining: 1,
    // Not of `connect`, where it would have no effect.
    localAddress: ATTACKER,
  });
  const statuses: Record<string, number> = {};
  const send = async (from: number): Promise<void> => {
    for (let turn = from; !end.aborted; turn += 1) {
      const shot = shots[turn % shots.length];
      if (!shot) throw new Error('nothing to send');
      try {
        const answer = await pool.request({ method: 'GET', ...shot });
        statuses[answer.statusCode] = (statuses[answer.statusCode] ?? 0) + 1;
        for await (const chunk of answer.body) void chunk;
      } catch (error) {
        if (!reconnects) throw error;
        await delay(ROUND_TRIP_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, index) => send(index)));
  await pool.destroy();
  return statuses;
}

/** Runs SQL that adds very many rows: without the checks of their foreign keys, which take long. */
export async function fill(pool: Pool, statements: readonly string[]): Promise<void> {
  const client = await pool.connect();
  await client.query('set session_replication_role = replica');
  for (const text of statements) await client.query(text);
  await client.query('reset session_replication_role');
  await client.query('vacuum analyze');
  client.release();
}

/** One line for a table of figures. */
export function summary(noticed: Noticed): string {
  const { statuses, requestsMs, webhooksMs, missing, memoryMb, pausedMs } = noticed;
  const ms = (numbers: readonly number[], share: number): string =>
    `${Math.round(percentile(numbers, share))} ms`;
  const counts = Object.entries(statuses).map(([status, count]) => `${count}× ${status}`);
  return [
    `${counts.join(', ')}; p95 ${ms(requestsMs, 0.95)}, slowest ${ms(requestsMs, 1)}`,
    `webhooks: slowest ${ms(webhooksMs, 1)}, ${missing} missing; ${Math.round(memoryMb)} MB`,
    ...(pausedMs > 0 ? [`the machine stood still for ${Math.round(pausedMs)} ms`] : []),
  ].join('; ');
}

/** Returns the value that this share of the sorted numbers does not exceed. */
export function percentile(numbers: readonly number[], share: number): number {
  return numbers[Math.max(0, Math.ceil(numbers.length * share) - 1)] ?? NaN;
}

function tell(victim: Worker, order: Order): void {
  victim.postMessage(order);
}

async function answerOf<Kind extends Answer['kind']>(
  victim: Worker,
  kind: Kind,
): Promise<Extract<Answer, { kind: Kind }>> {
  for (;;) {
    const [answer] = (await once(victim, 'message')) as [Answer];
    if (answer.kind === kind) return answer as Extract<Answer, { kind: Kind }>;
  }
}

function peakMemoryMb(pid: number): number {
  const [, kilobytes = 'NaN'] =
    /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}
