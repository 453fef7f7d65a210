// Compares a new assignment, with everything that it leaves behind (audit entry, event), with the
// floor's. The floor knows no `Idempotency-Key`: with one, the API also keeps the response.
import { compareWithFloor, type Options, type Servers, type Targets } from './compare.ts';

import { atLeast, atMost, printHeading } from './report.ts';
import { COMBINATION, httpRequest, type World } from './world.ts';

const ASSIGNMENT = {
  ...COMBINATION,
  member_id: 'mem_gen_0000001',
  title: 'Practise objections',
  due_date: '2099-12-31',
};
const KEY_HEADER = 'Idempotency-Key: bench-{n}\r\n';
const CONCURRENCIES = [1, 16, 64];
const TARGETS: Targets = { perSecond: atLeast(1), cpu: atMost(1.2) };

/** Prints the comparison. Needs teams with the generated member, one per key. */
export async function benchWrites(world: World, servers: Servers, options: Options): Promise<void> {
  const { keys } = options;
  const requestsWith = (headers: string): string[] =>
    [...keys.values()].map((key) =>
      httpRequest('POST', key, '/assignments', { body: ASSIGNMENT, headers }),
    );
  printHeading(`POST /assignments, ${keys.size} tenants`, ['floor', 'API', 'ratio']);
  for (const [name, headers] of [
    ['', ''],
    ['with a key, ', KEY_HEADER],
  ] as const) {
    for (const concurrency of CONCURRENCIES) {
      await compareWithFloor(world, servers, {
        ...options,
        what: `${name}concurrency ${concurrency}`,
        requests: { floor: requestsWith(''), api: requestsWith(headers) },
        concurrency,
        // One at a time, both wait for the disk.
        targets: concurrency > 1 && headers === '' ? TARGETS : {},
      });
    }
  }
}
