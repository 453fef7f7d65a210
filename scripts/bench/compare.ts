// Loads servers in turn, so that other load on the machine affects all alike.
import { cpuMsOf, readMemoryMb } from './processes.ts';
import { median, printRatios, type Target } from './report.ts';
import type { ServerProcess, World } from './world.ts';

/** A server that is loaded, and a key of each of its teams. */
export interface Side {
  /** The floor's comes first, then this revision's, then perhaps another one's. */
  readonly name: string;
  readonly server: ServerProcess;
  readonly keys: readonly string[];
}

export interface Options {
  readonly runs: number;
  readonly seconds: number;
}

/** The targets of the ratios of this revision to the floor. */
export interface Targets {
  readonly perSecond?: Target;
  readonly cpu?: Target;
  readonly p99?: Target;
}

/** Figures of a run. The last two are NaN on systems without /proc. */
const FIGURES = [
  ['requests/s', 'perSecond', 'perSecond'],
  ['server CPU, µs/request', 'cpuUs', 'cpu'],
  ['median ms', 'medianMs', null],
  ['p99 ms', 'p99Ms', 'p99'],
  ['memory afterwards, MB', 'memoryMb', null],
] as const;

type Run = Readonly<Record<(typeof FIGURES)[number][1], number>>;

/** Prints a row for each figure of the servers, with the ratios between them. */
export async function compare(
  world: World,
  sides: readonly Side[],
  options: Options & {
    readonly what: string;
    readonly request: (key: string) => string;
    readonly concurrency: number;
    readonly targets: Targets;
  },
): Promise<void> {
  const { what, request, concurrency, runs, seconds, targets } = options;
  const run = async ({ server, keys }: Side): Promise<Run> => {
    const job = { ports: [server.port], requests: keys.map(request), concurrency };
    const before = await cpuMsOf([server]);
    const { count, ...times } = await world.load({ ...job, until: { seconds } });
    const cpuUs = (((await cpuMsOf([server])) - before) * 1000) / count;
    return { ...times, cpuUs, memoryMb: await readMemoryMb(server.pid) };
  };
  // Warm up all, so that compiled code is compared.
  for (const side of sides) await run(side);
  const ran = new Map(sides.map((side) => [side, [] as Run[]]));
  for (let turn = 0; turn < runs; turn += 1) {
    // A B B A.
    for (const side of turn % 2 === 0 ? sides : sides.toReversed())
      ran.get(side)?.push(await run(side));
  }
  for (const [name, figure, target] of FIGURES) {
    const medians = [...ran.values()].map((each) => median(each.map((it) => it[figure])));
    printRatios(`  ${what}, ${name}`, medians, target ? targets[target] : undefined);
  }
}
