// Compares a page of 50 assignments of the API with the floor's.
import { deepStrictEqual } from 'node:assert/strict';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { compareWithFloor, type Run, type Targets } from './compare.ts';
import { httpRequest } from './data.ts';
import { atLeast, atMost, median, printFigures, printHeading } from './report.ts';
import type { ServerProcess, World } from './world.ts';

export const PATH = '/assignments?limit=50';
const P99 = atMost(1);
/** Concurrency → targets. */
const TARGETS: ReadonlyMap<number, Targets> = new Map([
  [1, { perSecond: atLeast(1.05), p99: P99 }],
  [16, { perSecond: atLeast(1.15), cpu: atMost(0.88), p99: P99 }],
  [64, { perSecond: atLeast(1.15), cpu: atMost(0.88), p99: P99 }],
]);

/** Prints the comparison of the two servers. Needs teams with assignments, one per key. */
export async function benchList(
  world: World,
  { floor, api }: { readonly floor: ServerProcess; readonly api: ServerProcess },
  options: { keys: ReadonlyMap<string, string>; runs: number; seconds: number },
): Promise<void> {
  const { keys, runs, seconds } = options;
  const [token = ''] = keys.values();
  await requireSameAnswer([floor, api], { url: BASE_PATH + PATH, token });
  const requests = [...keys.values()].map((key) => httpRequest('GET', key, PATH));
  printHeading(`List of 50 assignments, ${keys.size} tenants`, ['floor', 'API', 'ratio']);
  let underLoad: readonly Run[] = [];
  for (const [concurrency, targets] of TARGETS) {
    underLoad = await compareWithFloor(world, {
      what: `concurrency ${concurrency}`,
      floor: { server: floor, requests },
      api: { server: api, requests },
      concurrency,
      runs,
      seconds,
      targets,
    });
  }
  // It rises and falls with each collection of garbage.
  const value = median(underLoad.map(({ memoryMb }) => memoryMb));
  printFigures('  memory of the API afterwards, MB', ['', value.toFixed(0)], {
    value,
    target: atMost(250, ' MB'),
  });
}

/** Throws unless all servers return the same rows. Their cursors may differ. */
export async function requireSameAnswer(
  servers: readonly ServerProcess[],
  { url, token }: { readonly url: string; readonly token: string },
): Promise<void> {
  const read = async ({ port }: ServerProcess): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${port}${url}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const body = (await answer.json()) as Rows | { readonly result: { readonly data: Rows } };
    return 'result' in body ? body.result.data.data : body.data;
  };
  const [wanted, ...others] = await Promise.all(servers.map(read));
  if (wanted === undefined) throw new Error(`no rows from ${url}`);
  for (const given of others) deepStrictEqual(given, wanted, `different rows from ${url}`);
}

interface Rows {
  readonly data?: readonly unknown[];
}
