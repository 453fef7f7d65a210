// Compares a page of 50 assignments of the API with the floor's: requests per second, and the
// server's processor time per request.
import { deepStrictEqual } from 'node:assert/strict';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { httpRequest } from './data.ts';
import { createFloor } from './floor.ts';
import { atLeast, atMost, median, printFigures, printHeading } from './report.ts';
import { readCpuMs, type ServerProcess, type World } from './world.ts';

export const PATH = '/assignments?limit=50';
const CONCURRENCIES = [16, 64];

/** How one run went. */
export interface Run {
  readonly perSecond: number;
  /** null if the system does not report processor time. */
  readonly cpuUs: number | null;
  readonly medianMs: number;
}

/** Prints the comparison of the two servers. Needs teams with assignments, one per key. */
export async function benchList(
  world: World,
  api: ServerProcess,
  options: { keys: ReadonlyMap<string, string>; runs: number; seconds: number },
): Promise<void> {
  const { keys, runs, seconds } = options;
  await createFloor(world.pool, keys);
  const floor = await world.start(new URL('./floor.ts', import.meta.url), '/');
  const servers = [floor, api] as const;
  await requireSameAnswer(servers, [...keys.values()][0] ?? '');
  const requests = [...keys.values()].map((key) => httpRequest('GET', key, PATH));
  const run = (server: ServerProcess, concurrency: number): Promise<Run> =>
    runOnce(world, { server, requests, concurrency, seconds });
  // Warm up both servers, so that compiled code is compared.
  for (const server of [...servers, ...servers]) await run(server, 16);
  printHeading(`List of 50 assignments, ${keys.size} tenants`, ['floor', 'API', 'ratio']);
  for (const concurrency of CONCURRENCIES) {
    const [ofFloor, ofApi]: [Run[], Run[]] = [[], []];
    for (let turn = 0; turn < runs; turn += 1) {
      // Alternate A B B A, so that other load on the machine affects both alike.
      if (turn % 2 === 0) ofFloor.push(await run(floor, concurrency));
      ofApi.push(await run(api, concurrency));
      if (turn % 2 === 1) ofFloor.push(await run(floor, concurrency));
    }
    printRuns(concurrency, ofFloor, ofApi);
  }
}

/** Sends the requests to the server for so many seconds. */
export async function runOnce(
  world: World,
  options: {
    readonly server: ServerProcess;
    readonly requests: readonly string[];
    readonly concurrency: number;
    readonly seconds: number;
  },
): Promise<Run> {
  const { server, requests, concurrency, seconds } = options;
  const { pid, port } = server;
  const before = await readCpuMs(pid);
  const job = { port, requests, concurrency, until: { seconds } };
  const { count, perSecond, medianMs } = await world.load(job);
  const after = await readCpuMs(pid);
  const cpuUs = before === null || after === null ? null : ((after - before) * 1000) / count;
  return { perSecond, medianMs, cpuUs };
}

function printRuns(concurrency: number, floor: readonly Run[], api: readonly Run[]): void {
  const compare = (
    what: string,
    figureOf: (run: Run) => number,
    target?: ReturnType<typeof atLeast>,
  ): void => {
    const [least, ours] = [median(floor.map(figureOf)), median(api.map(figureOf))];
    const ratio = ours / least;
    const digits = least < 20 ? 2 : 0;
    const figures = [least.toFixed(digits), ours.toFixed(digits), ratio.toFixed(2)];
    printFigures(
      `  concurrency ${concurrency}: ${what}`,
      figures,
      target && { value: ratio, target },
    );
  };
  compare('requests/s', (run) => run.perSecond, atLeast(0.9));
  if (api.every((run) => run.cpuUs !== null))
    compare('server CPU, µs/request', (run) => run.cpuUs ?? NaN, atMost(1.15));
  compare('median ms', (run) => run.medianMs);
}

/** Throws unless both servers return the same rows. Their cursors may differ. */
async function requireSameAnswer(
  [floor, api]: readonly [ServerProcess, ServerProcess],
  key: string,
): Promise<void> {
  const read = async ({ port }: ServerProcess): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${port}${BASE_PATH}${PATH}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { data } = (await answer.json()) as { data?: unknown[] };
    return data;
  };
  const [wanted, given] = [await read(floor), await read(api)];
  deepStrictEqual(given, wanted, 'the floor and the API answer different rows');
}
