// Compares a page of 50 assignments of the API with the floor's.
import { deepStrictEqual } from 'node:assert/strict';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { compareWithFloor, type Options, type Run, type Servers, type Targets } from './compare.ts';

import { atLeast, atMost, median, printFigures, printHeading } from './report.ts';
import { httpRequest, type ServerProcess, type World } from './world.ts';

export const PATH = '/assignments?limit=50';
const P99 = atMost(1);
/** Concurrency → targets. */
const TARGETS: ReadonlyMap<number, Targets> = new Map([
  [1, { perSecond: atLeast(1.05), p99: P99 }],
  [16, { perSecond: atLeast(1.15), cpu: atMost(0.88), p99: P99 }],
  [64, { perSecond: atLeast(1.15), cpu: atMost(0.88), p99: P99 }],
]);

/** Prints the comparison of the two servers. Needs teams with assignments, one per key. */
export async function benchList(world: World, servers: Servers, options: Options): Promise<void> {
  const { keys } = options;
  const [token = ''] = keys.values();
  const [least, ours] = await Promise.all([servers.floor, servers.api].map(readRows(token)));
  deepStrictEqual(ours, least, 'the API and the floor return different rows');
  const requests = [...keys.values()].map((key) => httpRequest('GET', key, PATH));
  printHeading(`List of 50 assignments, ${keys.size} tenants`, ['floor', 'API', 'ratio']);
  let underLoad: readonly Run[] = [];
  for (const [concurrency, targets] of TARGETS) {
    underLoad = await compareWithFloor(world, servers, {
      ...options,
      what: `concurrency ${concurrency}`,
      requests: { floor: requests, api: requests },
      concurrency,
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

/** Without the cursors, which may differ. */
function readRows(token: string) {
  return async ({ port }: ServerProcess): Promise<readonly unknown[]> => {
    const answer = await fetch(`http://127.0.0.1:${port}${BASE_PATH}${PATH}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { data } = (await answer.json()) as { readonly data?: readonly unknown[] };
    if (!data?.length) throw new Error(`no rows from ${PATH}`);
    return data;
  };
}
