// `npm run bench` prints figures that hold on any machine, because each is a ratio within one run.
// It brings its own database, data, load and the floor that it compares with. Do not run anything
// else on the machine meanwhile.
//   --quick                            less data and fewer runs: about a minute
//   --only list,traces,pages,analytics,writes,webhooks,growth     some of them
//   --only soak --minutes 60           mixed load: what grows with time? Only when asked for
//   --only mixed                       everything at once, over much data. Only when asked for: its
//                                      data takes minutes and 20 GB
//   --save                             keep the figures in results.json, and the plot beside it
// At the end, all figures with a target stand beside the last ones that were kept.
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { benchAnalytics } from './analytics.ts';
import { seedFile } from './data.ts';
import { createFloor } from './floor-tables.ts';
import { benchGrowth, type Growth } from './growth.ts';
import { benchList } from './list.ts';
import { benchMixed, type Mixed } from './mixed.ts';
import { benchPages, PAGE_TEAMS } from './pages.ts';
import { printedCurves, printedFigures } from './report.ts';
import { reportResults } from './results.ts';
import { benchSoak } from './soak.ts';
import { benchTraces } from './traces.ts';
import { benchWebhooks } from './webhooks.ts';
import { openWorld } from './world.ts';
import { benchWrites } from './writes.ts';

const PARTS = [
  'list',
  'traces',
  'pages',
  'analytics',
  'writes',
  'webhooks',
  'growth',
  'soak',
  'mixed',
] as const;
type Part = (typeof PARTS)[number];
/** They take long, so they run only when they are named. */
const ON_REQUEST: ReadonlySet<Part> = new Set(['soak', 'mixed']);

interface Scale {
  readonly tenants: number;
  readonly tenantRows: number;
  readonly bigRows: number;
  readonly bigMembers: number;
  readonly analyticsTrainings: number;
  readonly wideMembers: number;
  readonly runs: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly deliveries: number;
  readonly growth: Growth;
  readonly mixed: Mixed;
}

const FULL: Scale = {
  tenants: 200,
  tenantRows: 300,
  bigRows: 500_000,
  bigMembers: 1000,
  analyticsTrainings: 1_000_000,
  wideMembers: 100_000,
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
  mixed: { teams: 100_000, assignments: 1_000_000, deliveries: 10_000_000, seconds: 30, runs: 4 },
};

const QUICK: Scale = {
  ...FULL,
  tenants: 100,
  tenantRows: 120,
  bigRows: 50_000,
  analyticsTrainings: 50_000,
  wideMembers: 10_000,
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
  mixed: { teams: 1_000, assignments: 50_000, deliveries: 200_000, seconds: 8, runs: 2 },
};

/** The end of the generated data, which is fixed so that the windows of the analytics are full. */
const DATA_TO = '2026-11-01';

const stack = new AsyncDisposableStack();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void stack.disposeAsync().finally(() => process.exit(130));
  });
}
try {
  await bench(readArguments());
} catch (error) {
  // After a signal, what was stopped fails; that is not worth reporting.
  if (!stack.disposed) console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  if (!stack.disposed) await stack.disposeAsync();
}

interface Arguments {
  readonly scale: Scale;
  readonly only: readonly Part[];
  readonly minutes: number;
  readonly save: boolean;
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      minutes: { type: 'string', default: '60' },
      save: { type: 'boolean', default: false },
    },
  });
  const named = values.only?.split(',');
  const only = PARTS.filter((part) => named?.includes(part) ?? !ON_REQUEST.has(part));
  if (named && only.length < named.length)
    throw new Error(`--only takes some of ${PARTS.join(', ')}`);
  const { quick, minutes, save } = values;
  return { scale: quick ? QUICK : FULL, only, minutes: Number(minutes), save };
}

async function bench({ scale, only, minutes, save }: Arguments): Promise<void> {
  const has = (part: Part): boolean => only.includes(part);
  const { runs, seconds, rounds } = scale;
  const startedAt = performance.now();
  const elapsed = (): string => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`;
  warnOfOthers();
  const world = await openWorld(stack);
  const api = await world.start(new URL('../../src/api.ts', import.meta.url), '/readyz');
  if (has('list') || has('traces') || has('writes')) {
    const tenants = Array.from({ length: scale.tenants }, (_, index) => ({
      id: `team_${index}`,
      generate: { members: 5, assignments: scale.tenantRows, to: DATA_TO, random_seed: index + 1 },
    }));
    const keys = await world.seed(seedFile(tenants));
    console.log(`Tenants loaded (${elapsed()}).`);
    const options = { keys, runs, seconds };
    if (has('traces')) await benchTraces(world, api, { stack, ...options });
    if (has('list') || has('writes')) {
      await createFloor(world.pool, keys);
      const floor = await world.start(new URL('./floor.ts', import.meta.url), '/');
      if (has('list')) await benchList(world, { floor, api }, options);
      if (has('writes')) await benchWrites(world, { floor, api }, options);
    }
  }
  if (has('pages') || has('analytics')) {
    const keys = await world.seed(seedFile(largeTenants(scale, has('pages'), has('analytics'))));
    console.log(`\nLarge tenants loaded (${elapsed()}).`);
    if (has('pages')) await benchPages(world, api, { keys, rounds });
    const teamId = PAGE_TEAMS.big;
    if (has('analytics'))
      await benchAnalytics(world, api, {
        teamId,
        key: keys.get(teamId) ?? '',
        rounds,
        at: new Date(DATA_TO),
      });
  }
  if (has('webhooks'))
    await benchWebhooks(world, api, { stack, runs, deliveries: scale.deliveries, rounds });
  if (has('growth')) await benchGrowth(world, api, { stack, growth: scale.growth, seconds });
  if (has('mixed')) await benchMixed(world, { stack, mixed: scale.mixed });
  if (has('soak')) await benchSoak(world, api, { stack, minutes });
  await reportResults(printedFigures(), printedCurves(), { save });
  console.log(`\nDone in ${elapsed()}.`);
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

function largeTenants(
  scale: Scale,
  withPages: boolean,
  withAnalytics: boolean,
): Parameters<typeof seedFile>[0] {
  const { bigRows, bigMembers, analyticsTrainings, wideMembers } = scale;
  const lists = withPages
    ? { assignments: bigRows, cases: bigRows, crm_deals: Math.ceil(bigRows / 10) }
    : {};
  const trainings = withAnalytics ? analyticsTrainings : bigRows;
  const big = {
    id: PAGE_TEAMS.big,
    generate: { members: bigMembers, trainings, ...lists, to: DATA_TO },
  };
  return withPages
    ? [big, { id: PAGE_TEAMS.wide, generate: { members: wideMembers, to: DATA_TO } }]
    : [big];
}
