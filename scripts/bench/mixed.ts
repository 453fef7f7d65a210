// What a user gets while everything happens at once: lists, writes with their webhooks and an
// admin's searches, over a database of many teams and deliveries, while old deliveries are removed
// and a backup reads. Beside it the floor does the same. "Quiet" is the same load without the
// removal and the backup, so the difference is what they cost.
import { randomBytes } from 'node:crypto';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { startReceiver, startWorker } from './deliveries.ts';
import { PATH, requireSameAnswer } from './list.ts';
import { KEPT_MS, type Chores } from './mixed-chores.ts';
import { BIG_TEAM, DAY_MS, fillMixed, timed, type MixedSize } from './mixed-data.ts';
import { CHANNEL, createMixedFloor } from './mixed-floor.ts';
import {
  adminToken,
  KINDS,
  RATES,
  requestsOf,
  runMixed,
  SEARCHES,
  type MixedRun,
  type MixedSide,
} from './mixed-load.ts';
import { atMost, median, printFigures, printHeading } from './report.ts';
import type { ServerProcess, World } from './world.ts';

/** How much there is, and how long it is measured. */
export interface Mixed extends MixedSize {
  readonly seconds: number;
  /** Of each side. */
  readonly runs: number;
}

const NO_LIMIT = '1000000000';

type Sides = Readonly<Record<Chores['side'], MixedSide>>;
/** One run of a side, without the chores and with them. */
type Turn = Readonly<Record<'quiet' | 'busy', MixedRun>>;

/** Prints the comparison. Makes its own teams, and starts its own processes. */
export async function benchMixed(
  world: World,
  { stack, mixed }: { readonly stack: AsyncDisposableStack; readonly mixed: Mixed },
): Promise<void> {
  const { runs, seconds } = mixed;
  console.log('\nMixed load: filling the database.');
  const receiver = await startReceiver(stack);
  const teams = await fillMixed(world, receiver.url, mixed);
  const keys = new Map([...teams.writers, ...teams.readers]);
  await timed("the floor's copies", () => createMixedFloor(world.pool, keys));
  await printSize(world);
  const secret = randomBytes(32).toString('hex');
  const sides = await startSides(world, secret);
  await requireSameAnswers(sides, keys.get(BIG_TEAM) ?? '', await adminToken(secret));

  const run = async (name: Chores['side'], day: number, forS: number): Promise<Turn> => {
    const requests = requestsOf(teams, await adminToken(secret));
    const load = { receiver, requests, seconds: forS };
    const timeOf = (n: number): string =>
      new Date(teams.since.getTime() + KEPT_MS + n * DAY_MS).toISOString();
    const chores = { side: name, seconds: forS, from: timeOf(day), to: timeOf(day + 1) };
    const quiet = await runMixed(world, sides[name], { ...load, chores: null });
    return { quiet, busy: await runMixed(world, sides[name], { ...load, chores }) };
  };
  for (const name of ['floor', 'API'] as const) {
    await warmUp(world, sides[name].server, requestsOf(teams, '').list);
    await run(name, 0, seconds / 2);
  }
  const [floor, api]: [Turn[], Turn[]] = [[], []];
  for (let turn = 0; turn < runs; turn += 1) {
    // A B B A.
    if (turn % 2 === 0) floor.push(await run('floor', turn + 1, seconds));
    api.push(await run('API', turn + 1, seconds));
    if (turn % 2 === 1) floor.push(await run('floor', turn + 1, seconds));
  }
  print(floor, api);
}

async function startSides(world: World, secret: string): Promise<Sides> {
  const env = (): Record<string, string> => ({
    APP_AUTH_SECRET: secret,
    FLOOR_CHANNEL: CHANNEL,
    PERSON_RATE_LIMIT_PER_MIN: NO_LIMIT,
  });
  const start = (file: string, path = '/'): Promise<ServerProcess> =>
    world.start(new URL(file, import.meta.url), path, env);
  return {
    floor: {
      server: await start('./floor.ts'),
      worker: await start('./mixed-floor.ts'),
      chores: await start('./mixed-chores.ts'),
    },
    API: {
      server: await start('../../src/api.ts', '/readyz'),
      worker: await startWorker(world),
      chores: await start('./mixed-chores.ts'),
    },
  };
}

async function requireSameAnswers({ floor, API }: Sides, key: string, token: string) {
  const servers = [floor.server, API.server];
  await requireSameAnswer(servers, { url: BASE_PATH + PATH, token: key });
  for (const url of SEARCHES) await requireSameAnswer(servers, { url, token });
}

/** The first request of a key costs more. It comes once in the life of a process. */
async function warmUp(world: World, { port }: ServerProcess, requests: readonly string[]) {
  await world.load({ ports: [port], requests, concurrency: 16, until: { rounds: 1 } });
}

async function printSize({ pool }: World): Promise<void> {
  const { rows } = await pool.query<{ gb: number }>(
    'select pg_database_size(current_database()) / 1e9 as gb',
  );
  console.log(`  on disk: ${Number(rows[0]?.gb).toFixed(1)} GB`);
}

function print(floor: readonly Turn[], api: readonly Turn[]): void {
  const rates = `${RATES.list} lists, ${RATES.write} writes, ${RATES.search} searches a second`;
  printHeading(`Mixed: ${rates}`, ['floor', 'API', 'ratio']);
  const compare = (name: string, figureOf: (turn: Turn) => number): void => {
    const [least, ours] = [median(floor.map(figureOf)), median(api.map(figureOf))];
    printFigures(`  ${name}`, [least.toFixed(1), ours.toFixed(1), (ours / least).toFixed(2)]);
  };
  for (const kind of KINDS) {
    const { count } = api[0]?.busy.times[kind] ?? { count: 0 };
    compare(`${kind} (${count} a run), p50 ms`, ({ busy }) => busy.times[kind].medianMs);
    compare(`${kind}, p99 ms`, ({ busy }) => busy.times[kind].p99Ms);
    compare(`${kind}, max ms`, ({ busy }) => busy.times[kind].maxMs);
    compare(`${kind}, quiet: p99 ms`, ({ quiet }) => quiet.times[kind].p99Ms);
  }
  for (const [name, of] of [
    ['', 'busy'],
    [', quiet', 'quiet'],
  ] as const) {
    compare(`processor of the servers${name}, ms/s`, (turn) => turn[of].cpuMs);
    compare(`processor of Postgres${name}, ms/s`, (turn) => turn[of].postgresMs);
  }
  compare('rows removed a run', ({ busy }) => busy.chores?.removed ?? NaN);
  compare('backup read a run, MB', ({ busy }) => busy.chores?.copiedMb ?? NaN);
  const lostOf = (turns: readonly Turn[]): number =>
    turns.reduce((sum, { quiet, busy }) => sum + quiet.lost + busy.lost, 0);
  const value = lostOf(api);
  printFigures('  webhooks lost', [String(lostOf(floor)), String(value)], {
    value,
    target: atMost(0),
  });
}
