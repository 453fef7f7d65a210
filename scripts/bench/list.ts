// Compares a page of 50 assignments of the API with the floor's.
import { deepStrictEqual } from 'node:assert/strict';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { compare, type Options, type Side, type Targets } from './compare.ts';
import { atLeast, atMost, printSides } from './report.ts';
import { httpRequest, type World } from './world.ts';

export const PATH = '/assignments?limit=50';
const P99 = atMost(1);
/** Concurrency → targets. */
const TARGETS: ReadonlyMap<number, Targets> = new Map([
  [1, { perSecond: atLeast(1.05), p99: P99 }],
  [16, { perSecond: atLeast(1.15), cpu: atMost(0.88), p99: P99 }],
  [64, { perSecond: atLeast(1.15), cpu: atMost(0.88), p99: P99 }],
]);

/** Prints the comparison. Needs teams with assignments, one per key. */
export async function benchList(
  world: World,
  sides: readonly Side[],
  options: Options,
): Promise<void> {
  const [least, ours] = await Promise.all(sides.map(readRows));
  deepStrictEqual(ours, least, 'the API and the floor return different rows');
  const names = sides.map(({ name }) => name);
  printSides(`List of 50 assignments, ${sides[0]?.keys.length} tenants`, names);
  for (const [concurrency, targets] of TARGETS) {
    await compare(world, sides, {
      ...options,
      what: `concurrency ${concurrency}`,
      request: (key) => httpRequest('GET', key, PATH),
      concurrency,
      targets,
    });
  }
}

/** Without the cursors, which may differ. */
async function readRows({ server: { port }, keys }: Side): Promise<readonly unknown[]> {
  const answer = await fetch(`http://127.0.0.1:${port}${BASE_PATH}${PATH}`, {
    headers: { authorization: `Bearer ${keys[0]}` },
  });
  const { data } = (await answer.json()) as { readonly data?: readonly unknown[] };
  if (!data?.length) throw new Error(`no rows from ${PATH}`);
  return data;
}
