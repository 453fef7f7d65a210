// Compares a new assignment, with everything that it leaves behind (audit entry, event), with the
// floor's. The floor ignores the `Idempotency-Key`; the API also stores the response.
import { compare, type Options, type Side, type Targets } from './compare.ts';
import { atLeast, atMost, printSides } from './report.ts';
import { COMBINATION, httpRequest, type World } from './world.ts';

const ASSIGNMENT = {
  ...COMBINATION,
  member_id: 'mem_gen_0000001',
  title: 'Practise objections',
  due_date: '2099-12-31',
};
const KEY_HEADER = 'Idempotency-Key: bench-{n}\r\n';
/** Not one at a time: that waits for the disk. */
const CONCURRENCIES = [16, 64];
const TARGETS: Targets = { perSecond: atLeast(1), cpu: atMost(1.2) };

/** Prints the comparison. Needs teams with the generated member, one per key. */
export async function benchWrites(
  world: World,
  sides: readonly Side[],
  options: Options,
): Promise<void> {
  const names = sides.map(({ name }) => name);
  printSides(`POST /assignments, ${sides[0]?.keys.length} tenants`, names);
  for (const [name, headers, targets] of [
    ['', '', TARGETS],
    ['with a key, ', KEY_HEADER, {}],
  ] as const) {
    for (const concurrency of CONCURRENCIES) {
      await compare(world, sides, {
        ...options,
        what: `${name}concurrency ${concurrency}`,
        request: (key) => httpRequest('POST', key, '/assignments', { body: ASSIGNMENT, headers }),
        concurrency,
        targets,
      });
    }
  }
}
