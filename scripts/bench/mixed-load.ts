// One run of the mixed load: so many requests of each kind are due in each second, whatever the
// server does, and each write raises an event for every webhook endpoint of its team.
import { setTimeout as delay } from 'node:timers/promises';
import { issueToken } from '../../src/http/app/token.ts';
import { COMBINATION, httpRequest } from './data.ts';
import type { Receiver } from './deliveries.ts';
import { PATH } from './list.ts';
import type { Outcome } from './load.ts';
import type { Chores, DoneChores } from './mixed-chores.ts';
import { BIG_TEAM, SUBSCRIBERS, type MixedTeams } from './mixed-data.ts';
import { median, quantile } from './report.ts';
import { cpuMsOf, type ServerProcess, type World } from './world.ts';

/** Requests a second, far from what either side can do. */
export const RATES = { list: 100, write: 20, search: 8 } as const;
/** More than are ever in flight, unless the server stands still. */
const CONNECTIONS = { list: 32, write: 16, search: 8 } as const;
/** Every tenth list is one of the big team. */
const OF_BIG = 10;
const PATIENCE_MS = 30_000;
/** A token is valid for as long. */
const TOKEN_S = 3_600;

/** What is timed. A webhook's time begins when its write was answered. */
export const KINDS = ['list', 'write', 'webhook', 'search'] as const;
export type Kind = (typeof KINDS)[number];

interface Times {
  readonly count: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** How one run went. All its requests were answered with 2xx. */
export interface MixedRun {
  readonly times: Readonly<Record<Kind, Times>>;
  /** Webhooks that did not come within half a minute. */
  readonly lost: number;
  /** Milliseconds of processor time in a second: of all processes of the side, and of Postgres. */
  readonly cpuMs: number;
  readonly postgresMs: number;
  /** null: there were none. */
  readonly chores: DoneChores | null;
}

/** One side of the comparison. */
export interface MixedSide {
  readonly server: ServerProcess;
  readonly worker: ServerProcess;
  readonly chores: ServerProcess;
}

type Requests = Readonly<Record<keyof typeof RATES, readonly string[]>>;

/** The searches of the admin page: of a person by a part of their name, and of what failed. */
export const SEARCHES = [
  ...['anna', 'felix', 'mia', 'tom'].map((text) => searchOf('members.search', { text, limit: 5 })),
  ...['assignment.created', 'evaluation.completed'].map((event_type) =>
    searchOf('deliveries.list', { status: 'failed', event_type }),
  ),
];

function searchOf(name: string, input: object): string {
  return `/trpc/admin.${name}?input=${encodeURIComponent(JSON.stringify(input))}`;
}

/** A token of the big team's owner, as the host application issues it. */
export function adminToken(secret: string): Promise<string> {
  const identity = { kind: 'user', userId: `usr_${BIG_TEAM}`, teamId: BIG_TEAM } as const;
  return issueToken(identity, secret, new Date(), TOKEN_S);
}

/** Makes the requests of a run. */
export function requestsOf({ writers, readers }: MixedTeams, token: string): Requests {
  const lists = [...writers.values(), ...readers.values()].map((key) =>
    httpRequest('GET', key, PATH),
  );
  const [big = ''] = lists;
  const body = {
    ...COMBINATION,
    member_id: 'mem_gen_0000001',
    title: '{n}',
    due_date: '2099-12-31',
  };
  return {
    list: lists.flatMap((one, place) => (place % (OF_BIG - 1) === 0 ? [one, big] : [one])),
    write: [...writers.values()].map((key) => httpRequest('POST', key, '/assignments', { body })),
    search: SEARCHES.map((path) => httpRequest('GET', token, path, { base: '' })),
  };
}

/** Runs the load for so many seconds, and `chores` beside it. Waits for all webhooks. */
export async function runMixed(
  world: World,
  { server, worker, chores }: MixedSide,
  run: {
    readonly receiver: Receiver;
    readonly requests: Requests;
    readonly seconds: number;
    readonly chores: Chores | null;
  },
): Promise<MixedRun> {
  const { receiver, requests, seconds } = run;
  receiver.arrivals.length = 0;
  const processes = [server, worker, chores];
  const before = [await cpuMsOf(processes), await world.postgresMs()] as const;
  const load = (kind: keyof typeof RATES): Promise<Outcome> =>
    world.load({
      ports: [server.port],
      requests: requests[kind],
      concurrency: CONNECTIONS[kind],
      perSecond: RATES[kind],
      until: { seconds },
    });
  const [list, write, search, done] = await Promise.all([
    load('list'),
    load('write'),
    load('search'),
    run.chores && doChores(chores, run.chores),
  ]);
  const webhooks = await receiveAll(receiver, write);
  const after = [await cpuMsOf(processes), await world.postgresMs()] as const;
  return {
    times: { list, write, search, webhook: timesOf(webhooks) },
    lost: write.count * SUBSCRIBERS.perTeam - webhooks.length,
    cpuMs: (after[0] - before[0]) / seconds,
    postgresMs: (after[1] - before[1]) / seconds,
    chores: done,
  };
}

async function doChores({ port }: ServerProcess, chores: Chores): Promise<DoneChores> {
  const body = JSON.stringify(chores);
  const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body });
  if (!answer.ok) throw new Error('the removal or the backup failed');
  return (await answer.json()) as DoneChores;
}

/**
 * Waits for the webhooks of all writes. Returns how long each took from the answer of its write;
 * one that came before the answer has a negative time.
 */
async function receiveAll({ arrivals }: Receiver, { answers }: Outcome): Promise<number[]> {
  const deadline = performance.now() + PATIENCE_MS;
  const wanted = answers.length * SUBSCRIBERS.perTeam;
  const answeredAt = new Map(answers);
  for (;;) {
    const found = new Map<string, number>();
    for (const { title = '', path, atMs } of arrivals) {
      const since = answeredAt.get(title);
      const id = `${path} ${title}`;
      // A delivery may come twice.
      if (since !== undefined && !found.has(id)) found.set(id, atMs - since);
    }
    if (found.size === wanted || performance.now() > deadline) return [...found.values()];
    await delay(100);
  }
}

function timesOf(ms: readonly number[]): Times {
  return {
    count: ms.length,
    medianMs: median(ms),
    p99Ms: quantile(ms, 0.99),
    maxMs: quantile(ms, 1),
  };
}
