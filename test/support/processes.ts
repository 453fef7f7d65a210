// Starts the real processes. Everything that a test file starts is stopped when the file ends.
import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { NO_LIMIT, TEST_APP_AUTH_SECRET, TEST_APP_SECRET } from './api.ts';
import { atEnd } from './at-end.ts';
import { findFreePort } from './ports.ts';
import { SOURCES } from './sources.ts';

/** A process that a test started. */
export interface RunningProcess {
  readonly pid: number;
  /** Returns what it has written to standard output and standard error. */
  output(): string;
  /** Returns what it has written to standard output alone. */
  stdout(): string;
  /** Sends the signal and resolves when the process has ended. */
  kill(signal: NodeJS.Signals): Promise<Exit>;
  /** From now on nobody reads what it writes to standard output. */
  stopReading(): void;
  readonly exited: Promise<Exit>;
}

/** How a process ended; one of the fields is null. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Starts src/api.ts as a process and resolves when it is ready. Keys have no rate limit unless
 * `env` sets one. `folder` is another release of the project, or `SOURCES`.
 */
export async function startApiProcess(
  databaseUrl: string,
  env: Record<string, string> = {},
  folder?: string,
): Promise<RunningProcess & { readonly url: string }> {
  const port = env['PORT'] ?? String(await findFreePort());
  const settings = {
    DATABASE_URL: databaseUrl,
    API_KEY_RATE_LIMIT_PER_MIN: String(NO_LIMIT),
    PERSON_RATE_LIMIT_PER_MIN: String(NO_LIMIT),
    ...env,
    PORT: port,
  };
  const running = runEntry('src/api.ts', settings, [], folder);
  const url = `http://127.0.0.1:${port}`;
  await waitFor(
    running,
    async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200,
  );
  return { ...running, url };
}

/**
 * Starts src/worker.ts as a process and resolves when it looks for jobs. A worker ends if the
 * database is too slow at its start, as on a busy machine. It is started again, as services are.
 */
export async function startWorkerProcess(
  databaseUrl: string,
  env: Record<string, string> = {},
  folder?: string,
): Promise<RunningProcess> {
  const settings = { DATABASE_URL: databaseUrl, LOG_LEVEL: 'info', ...env };
  for (let starts = 1; ; starts += 1) {
    const running = runEntry('src/worker.ts', settings, [], folder);
    try {
      await waitFor(running, async () => running.output().includes('worker runs'));
      return running;
    } catch (error) {
      if (starts === 3 || !/^unavailable$/m.test(running.output())) throw error;
    }
  }
}

/** Generous, because a busy machine is many times slower than an idle one. */
const START_TIMEOUT_MS = 200_000;

/** Starts a script of `scripts/`, with its arguments, as a process. */
export function runScript(
  databaseUrl: string,
  [script, ...args]: string[],
  env: Record<string, string> = {},
): RunningProcess {
  return runEntry(`scripts/${script}.ts`, { DATABASE_URL: databaseUrl, ...env }, args);
}

/**
 * Starts an entry as a process and does not wait. It knows no database unless `env` names one.
 */
export function runEntry(
  entry: string,
  env: Record<string, string>,
  args: readonly string[] = [],
  folder?: string,
): RunningProcess {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd: folder ?? SOURCES,
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      NODE_ENV: 'test',
      LOG_LEVEL: 'warn',
      APP_SECRET: TEST_APP_SECRET,
      APP_AUTH_SECRET: TEST_APP_AUTH_SECRET,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid ?? fail(`${entry} did not start`);
  const chunks: string[] = [];
  const printed: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => printed.push(chunk.toString()));
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  // At "exit", what it wrote last may still be on its way.
  const exited = new Promise<Exit>((done) => {
    child.once('close', (code, signal) => done({ code, signal }));
  });
  const kill = (signal: NodeJS.Signals): Promise<Exit> => {
    child.kill(signal);
    return exited;
  };
  atEnd(() => kill('SIGKILL'));
  killAfterOurEnd(child);
  const output = () => chunks.join('');
  const stopReading = (): void => void child.stdout.pause();
  return { pid, output, stdout: () => printed.join(''), kill, stopReading, exited };
}

/**
 * Kills `child` when this process ends, even by `kill -9`: a shell waits for the end of its
 * standard input, which this process holds open.
 */
function killAfterOurEnd(child: ChildProcess): void {
  const watcher = spawn(
    '/bin/sh',
    ['-c', 'cat >/dev/null; kill -9 "$1" 2>/dev/null', 'sh', String(child.pid)],
    { stdio: ['pipe', 'ignore', 'ignore'], detached: true },
  );
  watcher.unref();
  // Stop watching when the child has ended: another process may get its id.
  child.once('exit', () => watcher.kill('SIGKILL'));
}

async function waitFor(running: RunningProcess, isReady: () => Promise<boolean>): Promise<void> {
  let exit: Exit | null = null;
  running.exited.then(
    (value) => (exit = value),
    () => undefined,
  );
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await isReady())) {
    if (exit !== null || Date.now() > deadline)
      throw new Error(
        `the process did not become ready: ${JSON.stringify(exit)}\n${running.output()}`,
      );
    await delay(20);
  }
}

/** Sends a signal to a process that may have ended. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function fail(message: string): never {
  throw new Error(message);
}
