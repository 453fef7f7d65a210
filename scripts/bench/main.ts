// `npm run bench` prints ratios within one run, which hold on any machine. It brings its own
// database, data, load, and a floor to compare with. Run nothing else on the machine meanwhile.
//   --quick            less data and fewer runs: about a minute without growth
//   --only list,writes some of the parts: list, writes, deliveries, idle, growth
//   --save             keep the figures in results.json
// At the end, each figure with a target stands beside the last one that was kept.
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { benchDeliveries } from './deliveries.ts';
import { createFloor } from './floor-tables.ts';
import { benchGrowth, type Growth } from './growth.ts';
import { benchIdle } from './idle.ts';
import { benchList } from './list.ts';
import { reportResults } from './report.ts';
import { API, openWorld, seedFile, type ServerProcess, type World } from './world.ts';
import { benchWrites } from './writes.ts';

const PARTS = ['list', 'writes', 'deliveries', 'idle', 'growth'] as const;
type Part = (typeof PARTS)[number];

interface Scale {
  readonly tenants: number;
  readonly tenantRows: number;
  readonly runs: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly deliveries: number;
  readonly growth: Growth;
}

const FULL: Scale = {
  tenants: 200,
  tenantRows: 300,
  runs: 5,
  seconds: 3,
  rounds: 300,
  deliveries: 50_000,
  growth: {
    teams: [10, 100, 1_000, 10_000, 100_000],
    rows: [1_000, 10_000, 100_000, 1_000_000, 10_000_000],
    endpoints: [1, 10, 100, 1_000, 10_000, 100_000],
    deliveries: 20_000,
  },
};

const QUICK: Scale = {
  tenants: 100,
  tenantRows: 120,
  runs: 2,
  seconds: 1,
  rounds: 80,
  deliveries: 20_000,
  growth: {
    teams: [10, 1_000],
    rows: [1_000, 100_000],
    endpoints: [1, 100, 1_000],
    deliveries: 5_000,
  },
};

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: PARTS.join(',') },
    save: { type: 'boolean', default: false },
  },
});
const only = options.only.split(',');
const scale = options.quick ? QUICK : FULL;

const stack = new AsyncDisposableStack();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void stack.disposeAsync().finally(() => process.exit(130));
  });
}
try {
  await bench();
} catch (error) {
  // After a signal, what was stopped fails; that is not worth reporting.
  if (!stack.disposed) console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  if (!stack.disposed) await stack.disposeAsync();
}

async function bench(): Promise<void> {
  const unknown = only.filter((part) => !PARTS.some((known) => known === part));
  if (unknown.length > 0) throw new Error(`--only takes some of ${PARTS.join(', ')}`);
  const startedAt = performance.now();
  warnOfOthers();
  const world = await openWorld(stack);
  const api = await world.start(API, '/readyz');
  if (has('list') || has('writes')) await benchRequests(world, api);
  if (has('deliveries')) await benchDeliveries(world, stack, scale);
  if (has('idle')) await benchIdle(world, api, { ...scale, stack });
  if (has('growth')) await benchGrowth(world, api, { ...scale, stack });
  await reportResults(options);
  console.log(`\nDone in ${((performance.now() - startedAt) / 1000).toFixed(0)} s.`);
}

function has(part: Part): boolean {
  return only.includes(part);
}

async function benchRequests(world: World, api: ServerProcess): Promise<void> {
  const tenants = Array.from({ length: scale.tenants }, (_, index) => ({
    id: `team_${index}`,
    generate: { members: 5, assignments: scale.tenantRows, random_seed: index + 1 },
  }));
  const keys = await world.seed(seedFile(tenants));
  await createFloor(world.pool, keys);
  const floor = await world.start(new URL('./floor.ts', import.meta.url), '/');
  if (has('list')) await benchList(world, { floor, api }, { ...scale, keys });
  if (has('writes')) await benchWrites(world, { floor, api }, { ...scale, keys });
}

/**
 * Interleaved runs suffer alike from steady load on the machine, but a processor that is taken away
 * in the middle of a run affects one side only.
 */
function warnOfOthers(): void {
  const [load = 0] = loadavg();
  const processors = availableParallelism();
  if (load > processors / 2)
    console.log(
      `Other programs use this machine (load ${load.toFixed(1)} on ${processors} processors): ` +
        'the figures will be off.',
    );
}
