// Loads servers in turn, so that other load on the machine affects all alike.
import { median, printFigures, type Target } from './report.ts';
import { readCpuMs, readMemoryMb, type ServerProcess, type World } from './world.ts';

/** How one run went. */
export interface Run {
  readonly perSecond: number;
  /** null if the system does not report processor time. */
  readonly cpuUs: number | null;
  readonly medianMs: number;
  readonly p99Ms: number;
  /** What the server holds afterwards. */
  readonly memoryMb: number;
}

/** A server and what it is asked. */
export interface Side {
  readonly server: ServerProcess;
  readonly requests: readonly string[];
}

/** Sends the requests to the server for so many seconds. */
export async function runOnce(
  world: World,
  { server, requests, concurrency, seconds }: Side & { concurrency: number; seconds: number },
): Promise<Run> {
  const { pid, port } = server;
  const before = await readCpuMs(pid);
  const job = { ports: [port], requests, concurrency, until: { seconds } };
  const { count, perSecond, medianMs, p99Ms } = await world.load(job);
  const after = await readCpuMs(pid);
  const cpuUs = before === null || after === null ? null : ((after - before) * 1000) / count;
  return { perSecond, medianMs, p99Ms, cpuUs, memoryMb: await readMemoryMb(pid) };
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
  options: {
    readonly what: string;
    readonly floor: Side;
    readonly api: Side;
    readonly concurrency: number;
    readonly runs: number;
    readonly seconds: number;
    readonly targets: Targets;
  },
): Promise<readonly Run[]> {
  const { what, floor, api, concurrency, runs, seconds, targets } = options;
  const run = (side: Side): Promise<Run> => runOnce(world, { ...side, concurrency, seconds });
  // Warm up both, so that compiled code is compared.
  await run(floor);
  await run(api);
  const [ofFloor, ofApi]: [Run[], Run[]] = [[], []];
  for (let turn = 0; turn < runs; turn += 1) {
    // A B B A.
    if (turn % 2 === 0) ofFloor.push(await run(floor));
    ofApi.push(await run(api));
    if (turn % 2 === 1) ofFloor.push(await run(floor));
  }
  const compare = (name: string, figureOf: (run: Run) => number, target?: Target): void => {
    const [least, ours] = [median(ofFloor.map(figureOf)), median(ofApi.map(figureOf))];
    const value = ours / least;
    const digits = least < 20 ? 2 : 0;
    const figures = [least.toFixed(digits), ours.toFixed(digits), value.toFixed(2)];
    printFigures(`  ${what}, ${name}`, figures, target && { value, target });
  };
  compare('requests/s', (one) => one.perSecond, targets.perSecond);
  if (ofApi.every((one) => one.cpuUs !== null))
    compare('server CPU, µs/request', (one) => one.cpuUs ?? NaN, targets.cpu);
  compare('median ms', (one) => one.medianMs);
  compare('p99 ms', (one) => one.p99Ms, targets.p99);
  return ofApi;
}
