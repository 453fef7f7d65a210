// Processes whose standard output is a real pipe that nobody reads, as behind a log shipper that
// hangs.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createCall, loadTestSeed, TEST_APP_AUTH_SECRET, TEST_APP_SECRET } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** What fills the pipe before the process writes; no line of a log. */
const FILLING = ' ';

let database: TestDatabase;
let key: string;

beforeAll(async () => {
  database = await createTestDatabase();
  const { teams } = await loadTestSeed(database, makeSeed([makeTeam('a')]));
  key = teams['team_a']?.api_keys['full'] ?? '';
});

afterAll(() => database.drop());

interface FullPipe {
  /** The end that a process writes to. */
  readonly writeEnd: number;
  /** Takes out all that is in it, without the filling. Returns '' if it is empty. */
  read(): string;
}

/** Makes a pipe that is full. */
async function makeFullPipe(): Promise<FullPipe> {
  const folder = await makeFolder('unread-log');
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const readEnd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const writeEnd = openSync(path, constants.O_WRONLY);
  onTestFinished(() => {
    closeSync(readEnd);
    closeSync(writeEnd);
  });
  const untilRefused = (step: () => void): void => {
    try {
      for (;;) step();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  };
  for (const length of [4096, 1])
    untilRefused(() => void writeSync(readEnd, FILLING.repeat(length)));
  let isFilling = true;
  const read = (): string => {
    const chunks: Buffer[] = [];
    untilRefused(() => {
      const chunk = Buffer.alloc(65_536);
      chunks.push(chunk.subarray(0, readSync(readEnd, chunk)));
    });
    const text = Buffer.concat(chunks).toString();
    const written = isFilling ? text.replace(new RegExp(`^${FILLING}+`), '') : text;
    isFilling &&= written === '';
    return written;
  };
  return { writeEnd, read };
}

interface Process {
  readonly errors: () => string;
  /** Resolves with the exit code and the signal that ended it. */
  readonly ended: Promise<unknown[]>;
  kill(signal: NodeJS.Signals): void;
  /** Closes the reading end of a socket. */
  closeOutput(): void;
}

/** Runs Node with this standard output. */
function run(args: readonly string[], stdout: number | 'pipe', env = {}): Process {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      NODE_ENV: 'test',
      LOG_LEVEL: 'trace',
      APP_SECRET: TEST_APP_SECRET,
      APP_AUTH_SECRET: TEST_APP_AUTH_SECRET,
      API_KEY_RATE_LIMIT_PER_MIN: '1000000',
      DATABASE_URL: database.url,
      ...env,
    },
    stdio: ['ignore', stdout, 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const chunks: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  return {
    errors: () => chunks.join(''),
    ended: once(child, 'exit'),
    kill: (signal) => void child.kill(signal),
    closeOutput: () => void child.stdout?.destroy(),
  };
}

describe('an API process whose log nobody reads', () => {
  test.each(['pipe', 'socket'])('serves and stops: a %s', async (kind) => {
    // Node makes a socket for `pipe`. Nothing reads it, because nothing listens to its data.
    const stdout = kind === 'pipe' ? (await makeFullPipe()).writeEnd : 'pipe';
    const port = await findFreePort();
    const api = run(['src/api.ts'], stdout, { PORT: String(port) });
    const url = `http://127.0.0.1:${port}`;
    await until(async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200);
    const call = createCall(url);
    // More lines than all the buffers of a socket hold.
    for (let times = 0; times < 100; times += 1) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => call(key, 'GET', '/users/mem_unknown')),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(404));
    }
    api.kill('SIGTERM');
    expect(await api.ended).toEqual([0, null]);
  });

  test('loses no line when it is read again', async () => {
    const pipe = await makeFullPipe();
    const port = await findFreePort();
    const api = run(['src/api.ts'], pipe.writeEnd, { PORT: String(port), DRAIN_DELAY_MS: '0' });
    const url = `http://127.0.0.1:${port}`;
    await until(async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200);
    const call = createCall(url);
    for (let times = 0; times < 300; times += 1) await call(key, 'GET', '/me');
    let text = '';
    const reading = setInterval(() => {
      text += pipe.read();
    }, 5);
    onTestFinished(() => clearInterval(reading));
    api.kill('SIGTERM');
    expect(await api.ended).toEqual([0, null]);
    text += pipe.read();
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { route?: string; msg: string });
    expect(lines.filter(({ route }) => route === '/me')).toHaveLength(300);
    expect(lines.at(-1)?.msg).toBe('api stopped');
  });
});

test('a worker process whose log nobody reads starts and stops', async () => {
  const metricsPort = await findFreePort();
  const { writeEnd } = await makeFullPipe();
  const worker = run(['src/worker.ts'], writeEnd, { METRICS_PORT: String(metricsPort) });
  const read = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  await until(async () => (await read().catch(() => '')).includes('log_lines_dropped_total 0'));
  worker.kill('SIGTERM');
  expect(await worker.ended).toEqual([0, null]);
});

/** Logs 20 MB as fast as it can. */
const LOG_MUCH = `
  import { countDroppedLines, createLogger } from './src/runtime/log.ts';
  import { setTimeout as delay } from 'node:timers/promises';
  const logger = createLogger('info');
  process.on('SIGTERM', () => { logger.info('ends'); process.exit(7); });
  const filling = '.'.repeat(10_000);
  for (let number = 1; number <= 2_000; number += 1) logger.info({ number, filling });
  process.stderr.write('dropped: ' + countDroppedLines() + '\\n');
  await delay(600_000);
`;

describe('a process that logs more than waits for a reader', () => {
  test('drops what comes last, says how much, and goes on', async () => {
    const pipe = await makeFullPipe();
    const running = run(['--input-type=module', '-e', LOG_MUCH], pipe.writeEnd);
    await until(() => running.errors().includes('dropped: '));
    const dropped = Number(/dropped: (\d+)/.exec(running.errors())?.[1]);
    expect(dropped).toBeGreaterThan(1_000);
    let text = '';
    await until(() => {
      text += pipe.read();
      return text.includes('"dropped":');
    });
    running.kill('SIGTERM');
    expect(await running.ended).toEqual([7, null]);
    text += pipe.read();
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { number?: number; dropped?: number; msg?: string });
    const numbers = lines.flatMap(({ number }) => number ?? []);
    expect(numbers).toEqual(Array.from({ length: 2_000 - dropped }, (_, index) => index + 1));
    expect(lines.slice(numbers.length)).toMatchObject([
      { level: 40, dropped },
      { level: 30, msg: 'ends' },
    ]);
  });

  test('ends with its own exit code all the same', async () => {
    const { writeEnd } = await makeFullPipe();
    const running = run(['--input-type=module', '-e', LOG_MUCH], writeEnd);
    await until(() => running.errors().includes('dropped: '));
    running.kill('SIGTERM');
    expect(await running.ended).toEqual([7, null]);
  });
});

test('the end of a process waits once for a reader, however often it flushes', async () => {
  const { writeEnd } = await makeFullPipe();
  const script = `
    import { createLogger } from './src/runtime/log.ts';
    const logger = createLogger('info');
    const flush = () => {
      const begunAt = performance.now();
      logger.flushNow();
      return performance.now() - begunAt;
    };
    logger.info('nobody reads it');
    process.stderr.write(JSON.stringify([flush(), flush()]));
  `;
  const running = run(['--input-type=module', '-e', script], writeEnd);
  expect(await running.ended).toEqual([0, null]);
  const [first = 0, second = 0] = JSON.parse(running.errors()) as number[];
  expect(first).toBeGreaterThan(900);
  expect(second).toBeLessThan(first / 2);
});

test('the last line before a crash is written', async () => {
  const pipe = await makeFullPipe();
  pipe.read();
  const script = `
    import { createLogger } from './src/runtime/log.ts';
    createLogger('info').error('it goes down');
    throw new Error('unforeseen');
  `;
  const running = run(['--input-type=module', '-e', script], pipe.writeEnd);
  expect(await running.ended).toEqual([1, null]);
  expect(JSON.parse(pipe.read())).toMatchObject({ level: 50, msg: 'it goes down' });
});

test('an API process whose reader has gone serves and stops', async () => {
  const port = await findFreePort();
  const api = run(['src/api.ts'], 'pipe', { PORT: String(port) });
  api.closeOutput();
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200);
  const call = createCall(url);
  for (let times = 0; times < 300; times += 1)
    expect((await call(key, 'GET', '/me')).status).toBe(200);
  api.kill('SIGTERM');
  expect(await api.ended).toEqual([0, null]);
});
