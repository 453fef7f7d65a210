// Loads two servers in turn, so that other load on the machine affects both alike.
import { median, printFigures, type Target } from './report.ts';
import { cpuMsOf, readMemoryMb, type ServerProcess, type World } from './world.ts';

/** How one run went. The last two are NaN on systems without /proc. */
export interface Run {
  readonly perSecond: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly cpuUs: number;
  /** What the server holds afterwards. */
  readonly memoryMb: number;
}

export type Servers = Readonly<Record<'floor' | 'api', ServerProcess>>;

export interface Options {
  /** A key of each team, by its id. */
  readonly keys: ReadonlyMap<string, string>;
  readonly runs: number;
  readonly seconds: number;
}

/** The targets of the ratios; a figure without one is only printed. */
export interface Targets {
  readonly perSecond?: Target;
  readonly cpu?: Target;
  readonly p99?: Target;
}

/**
 * Prints a row for each figure of the two servers, with the ratio of the API to the floor. Returns
 * the runs of the API.
 */
export async function compareWithFloor(
  world: World,
  servers: Servers,
  options: Omit<Options, 'keys'> & {
    readonly what: string;
    readonly requests: Readonly<Record<keyof Servers, readonly string[]>>;
    readonly concurrency: number;
    readonly targets: Targets;
  },
): Promise<readonly Run[]> {
  const { what, requests, concurrency, runs, seconds, targets } = options;
  const run = async (side: keyof Servers): Promise<Run> => {
    const server = servers[side];
    const job = { ports: [server.port], requests: requests[side], concurrency, until: { seconds } };
    const before = await cpuMsOf([server]);
    const { count, perSecond, medianMs, p99Ms } = await world.load(job);
    const cpuUs = (((await cpuMsOf([server])) - before) * 1000) / count;
    return { perSecond, medianMs, p99Ms, cpuUs, memoryMb: await readMemoryMb(server.pid) };
  };
  // Warm up both, so that compiled code is compared.
  await run('floor');
  await run('api');
  const ran: Record<keyof Servers, Run[]> = { floor: [], api: [] };
  for (let turn = 0; turn < runs; turn += 1) {
    // A B B A.
    for (const side of turn % 2 === 0 ? (['floor', 'api'] as const) : (['api', 'floor'] as const))
      ran[side].push(await run(side));
  }
  const compare = (name: string, figure: keyof Run, target?: Target): void => {
    const [least, ours] = [ran.floor, ran.api].map((each) => median(each.map((it) => it[figure])));
    if (least === undefined || ours === undefined || Number.isNaN(ours)) return;
    const value = ours / least;
    const digits = least < 20 ? 2 : 0;
    const figures = [least.toFixed(digits), ours.toFixed(digits), value.toFixed(2)];
    printFigures(`  ${what}, ${name}`, figures, target && { value, target });
  };
  compare('requests/s', 'perSecond', targets.perSecond);
  compare('server CPU, µs/request', 'cpuUs', targets.cpu);
  compare('median ms', 'medianMs');
  compare('p99 ms', 'p99Ms', targets.p99);
  return ran.api;
}
