// The thread that runs a worker's jobs, with modules of the test instead of `src/jobs.ts`.
import { afterEach, expect, onTestFinished, test } from 'vitest';
import type { Part } from '../../src/runtime/process.ts';
import { startJobThread } from '../../src/runtime/job-thread.ts';
import { createLogger } from '../../src/runtime/log.ts';
import { steppedClock } from '../support/clocks.ts';
import { until } from '../support/until.ts';

/** A module with `say`, which sends to the process, and `threads`, the number of its thread. */
const moduleOf = (code: string): URL =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { parentPort, workerData } from 'node:worker_threads';
      const say = (message) => parentPort.postMessage(message);
      const shared = new Int32Array(workerData);
      const threads = Atomics.add(shared, 0, 1) + 1;
      ${code}`)}`,
  );

let failures: string[] = [];
let pools: unknown[] = [];
let tasks: (readonly string[])[] = [];
const clock = steppedClock(new Date());
let threads = new Int32Array(new SharedArrayBuffer(8));
afterEach(() => {
  failures = [];
  pools = [];
  tasks = [];
  threads = new Int32Array(new SharedArrayBuffer(8));
});

async function start(code: string): Promise<Part> {
  const part = await startJobThread({
    entry: moduleOf(code),
    data: threads.buffer,
    logger: createLogger('silent'),
    onTasks: (told) => tasks.push(told),
    onFailure: (task) => failures.push(task),
    onPools: (told) => pools.push(told),
    clock,
  });
  onTestFinished(() => part.stop());
  return part;
}

/** What the thread waits for. */
function tell(value: number): void {
  Atomics.store(threads, 1, value);
  Atomics.notify(threads, 1);
}

const STOPS = `parentPort.once('message', () => parentPort.close());`;

test('runs until it is stopped, and tells of jobs that fail', async () => {
  const part = await start(`
    ${STOPS}
    say({ kind: 'running', tasks: ['send_invitation'] });
    say({ kind: 'pools', pools: { jobs: { total: 3, idle: 1, waiting: 0 } } });
    say({ kind: 'failed', task: 'send_invitation' });
  `);
  await until(async () => failures.length === 1);
  expect(tasks).toEqual([['send_invitation']]);
  expect(failures).toEqual(['send_invitation']);
  await part.stop();
  expect(pools).toEqual([{ jobs: { total: 3, idle: 1, waiting: 0 } }, null]);
  expect(threads[0]).toBe(1);
});

test('is replaced when it ends by itself', async () => {
  const part = await start(`
    ${STOPS}
    say({ kind: 'running', tasks: ['send_invitation'] });
    if (threads === 1) {
      Atomics.wait(shared, 1, 0);
      throw new Error('a fault of a job');
    } else say({ kind: 'failed', task: 'of the second thread' });
  `);
  tell(1);
  await until(() => {
    clock.advance(100);
    return failures.length === 1;
  });
  await part.stop();
  expect(threads[0]).toBe(2);
});

test('stops, too, if it is stopped while another thread starts', async () => {
  const part = await start(`
    ${STOPS}
    if (threads === 1) {
      say({ kind: 'running', tasks: ['send_invitation'] });
      Atomics.wait(shared, 1, 0);
      throw new Error('a fault of a job');
    }
    Atomics.wait(shared, 1, 1);
    say({ kind: 'running' });
  `);
  tell(1);
  await until(() => {
    clock.advance(100);
    return threads[0] === 2;
  });
  const stopped = part.stop();
  tell(2);
  await stopped;
  expect(pools).toEqual([null, null]);
});

test('cannot be started: says why', async () => {
  await expect(start(`throw new Error('no such setting');`)).rejects.toThrow('no such setting');
  await expect(start('')).rejects.toThrow('ended while it started');
});
