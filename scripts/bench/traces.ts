// What traces cost: a page of 50 assignments from an API without traces, beside the same API with
// one request of a hundred traced, and with all. The spans go to a receiver that reads them.
import { createServer } from 'node:http';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { runOnce, type Run } from './compare.ts';
import { httpRequest } from './data.ts';
import { PATH } from './list.ts';
import { atMost, median, printFigures, printHeading } from './report.ts';
import { listen } from './serve.ts';
import type { ServerProcess, World } from './world.ts';

const CONCURRENCY = 16;
/** Short runs in turns, because the differences are small. */
const TURNS_PER_RUN = 6;

/** Prints the comparison. Needs teams with assignments, one per key. */
export async function benchTraces(
  world: World,
  without: ServerProcess,
  options: {
    readonly stack: AsyncDisposableStack;
    readonly keys: ReadonlyMap<string, string>;
    readonly runs: number;
    readonly seconds: number;
  },
): Promise<void> {
  const { stack, keys, runs, seconds } = options;
  const endpoint = await startReceiver(stack);
  const startTraced = (ratio: number): Promise<ServerProcess> =>
    world.start(new URL('../../src/api.ts', import.meta.url), '/readyz', () => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: String(ratio),
    }));
  const servers = [without, await startTraced(0.01), await startTraced(1)] as const;
  const requests = [...keys.values()].map((key) => httpRequest('GET', key, PATH));
  const measure = (server: ServerProcess): Promise<Run> =>
    runOnce(world, { server, requests, concurrency: CONCURRENCY, seconds });
  for (const server of [...servers, ...servers]) await measure(server);
  const measured: Run[][] = servers.map(() => []);
  for (let turn = 0; turn < runs * TURNS_PER_RUN; turn += 1) {
    // Each of them is first in turn, so that other load on the machine affects all alike.
    for (const [step] of servers.entries()) {
      const place = (turn + step) % servers.length;
      measured[place]?.push(await measure(servers[place] ?? without));
    }
  }
  print(measured);
}

function print([off = [], some = [], all = []]: readonly Run[][]): void {
  const columns = ['off', 'on', 'ratio'];
  printHeading(`Traces of GET ${BASE_PATH}${PATH}, ${off.length} runs each`, columns);
  for (const [share, runs, target] of [
    ['1 %', some, atMost(1.03)],
    ['100 %', all, null],
  ] as const) {
    const compare = (what: string, figureOf: (run: Run) => number, isJudged: boolean): void => {
      const [before, after] = [median(off.map(figureOf)), median(runs.map(figureOf))];
      const value = after / before;
      const figures = [before.toFixed(0), after.toFixed(0), value.toFixed(3)];
      const judged = isJudged && target ? { value, target } : undefined;
      printFigures(`  ${share} traced: ${what}`, figures, judged);
    };
    compare('requests/s', (run) => run.perSecond, false);
    if (off.every((run) => run.cpuUs !== null))
      compare('server CPU, µs/request', (run) => run.cpuUs ?? NaN, true);
  }
}

/** A receiver of traces that reads what it gets and answers 200. */
function startReceiver(stack: AsyncDisposableStack): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => response.end());
  });
  return listen(stack, server);
}
