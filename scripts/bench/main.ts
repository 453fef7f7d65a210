// `npm run bench` prints ratios within one run, which hold on any machine. It brings its own
// database, data, load, and a floor to compare with. Run nothing else on the machine meanwhile.
//   --quick            less data and fewer runs: about a minute without growth
//   --only list,writes some of the parts: list, writes, deliveries, idle, growth
//   --against REV      list, writes and deliveries of another revision beside those of this one
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkOut } from './checkout.ts';
import type { Side } from './compare.ts';
import { benchDeliveries } from './deliveries.ts';
import { createFloor } from './floor-tables.ts';
import { benchGrowth, type Growth } from './growth.ts';
import { benchIdle } from './idle.ts';
import { benchList } from './list.ts';
import { API, openWorlds, seedFile, type World } from './world.ts';
import { benchWrites } from './writes.ts';

const ROOT = join(import.meta.dirname, '../..');
const PARTS = ['list', 'writes', 'deliveries', 'idle', 'growth'] as const;
/** The parts that compare servers. */
const COMPARED: readonly Part[] = ['list', 'writes', 'deliveries'];
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
    only: { type: 'string' },
    against: { type: 'string' },
  },
});
const { against } = options;
const parts: readonly string[] = against === undefined ? PARTS : COMPARED;
const only = options.only?.split(',') ?? parts;
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
  if (only.some((part) => !parts.includes(part)))
    throw new Error(`--only takes some of ${parts.join(', ')}`);
  const startedAt = performance.now();
  const folder = against === undefined ? null : await checkOut(stack, ROOT, against);
  warnOfOthers();
  const open = await openWorlds(stack);
  const world = await open(ROOT);
  const other = folder === null ? null : await open(folder);
  const worlds = new Map([['this', world]]);
  if (other !== null) worlds.set(against ?? '', other);
  if (has('list') || has('writes')) await benchRequests(worlds);
  if (has('deliveries')) await benchDeliveries(worlds, stack, scale);
  if (has('idle')) await benchIdle(world, { ...scale, stack });
  if (has('growth')) await benchGrowth(world, { ...scale, stack });
  console.log(`\nDone in ${((performance.now() - startedAt) / 1000).toFixed(0)} s.`);
}

function has(part: Part): boolean {
  return only.includes(part);
}

/** The floor reads and writes in the database of this revision. */
async function benchRequests(worlds: ReadonlyMap<string, World>): Promise<void> {
  const tenants = Array.from({ length: scale.tenants }, (_, index) => ({
    id: `team_${index}`,
    generate: { members: 5, assignments: scale.tenantRows, random_seed: index + 1 },
  }));
  const sides: Side[] = [];
  for (const [name, world] of worlds) {
    const keys = await world.seed(seedFile(tenants));
    const side = { keys: [...keys.values()] };
    if (sides.length === 0) {
      await createFloor(world.pool, keys);
      sides.push({
        ...side,
        name: 'floor',
        server: await world.start('scripts/bench/floor.ts', '/'),
      });
    }
    sides.push({ ...side, name, server: await world.start(API, '/readyz') });
  }
  const [first] = worlds.values();
  if (!first) throw new Error('there is no revision');
  if (has('list')) await benchList(first, sides, scale);
  if (has('writes')) await benchWrites(first, sides, scale);
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
