// The processes of a benchmark. None of them outlives this one, whatever ends it.
import { execFileSync, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

const LOOKS_MAX = 10;

/** Starts a program. Disposing `stack` ends it and the processes that it has started. */
export function launch(
  stack: AsyncDisposableStack,
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  const child = spawn(command, args, { ...options, detached: true });
  child.on('error', (error) => console.error(`${command}: ${error.message}`));
  const { pid } = child;
  if (pid === undefined) return child;
  stack.defer(async () => {
    while (signalGroup(pid)) await delay(20);
  });
  runAfterOurEnd(stack, 'kill -9 -"$1"', [String(pid)]);
  return child;
}

/** Returns false if no process is left in the group. */
function signalGroup(pid: number): boolean {
  try {
    return process.kill(-pid, 'SIGTERM');
  } catch {
    return false;
  }
}

/** Runs a program to its end. Returns its standard output. */
export async function run(
  stack: AsyncDisposableStack,
  command: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<string> {
  await using ours = stack.use(new AsyncDisposableStack());
  const child = launch(ours, command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const { stdout, stderr } = child as ChildProcess & { stdout: NodeJS.ReadableStream } & {
    stderr: NodeJS.ReadableStream;
  };
  const [output, errors] = await Promise.all([text(stdout), text(stderr), ended(child)]);
  if (child.exitCode !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${errors}`);
  return output;
}

/**
 * Runs `script` when this process ends, even by `kill -9`: a shell waits for the end of its
 * standard input, which this process holds open.
 */
export function runAfterOurEnd(
  stack: AsyncDisposableStack,
  script: string,
  args: readonly string[],
): void {
  const shell = spawn('/bin/sh', ['-c', `cat >/dev/null; ${script}`, 'sh', ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.on('error', () => undefined);
  shell.unref();
  stack.defer(() => stop(shell));
}

/** Ends a process that has no others. */
export async function stop(child: ChildProcess): Promise<void> {
  // `ref`, also for a process that was `unref`ed: this process must not end before it.
  child.ref();
  child.kill('SIGTERM');
  await ended(child);
  child.stdin?.destroy();
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const isGone = child.exitCode !== null || child.signalCode !== null;
    if (isGone || child.pid === undefined) resolve();
    else child.once('exit', () => resolve());
  });
}

/**
 * Chooses one processor for the servers; Postgres and the load generator share the others. Null if
 * there are fewer than two, or if the system does not list them.
 */
export async function chooseCpus(): Promise<{ server: string | null; rest: string | null }> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? '';
  const [server, ...rest] = list.split(',').flatMap((range) => {
    const [from = NaN, to = from] = range.split('-').map(Number);
    return Array.from({ length: to - from + 1 || 0 }, (_, index) => String(from + index));
  });
  return server !== undefined && rest.length > 0
    ? { server, rest: rest.join(',') }
    : { server: null, rest: null };
}

export function pin(pid: number | undefined, cpus: string | null): void {
  if (cpus === null || pid === undefined) return;
  try {
    execFileSync('taskset', ['-a', '-c', '-p', cpus, String(pid)], { stdio: 'ignore' });
  } catch {
    // Without taskset the figures vary more, but they are still right.
  }
}

/**
 * Milliseconds of processor time that the process has used, with those of its children that have
 * ended; null on systems without /proc.
 */
export async function readCpuMs(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // utime, stime, cutime and cstime, in ticks. Linux reports 100 ticks per second to every program.
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10;
}

/** Milliseconds of processor time that the processes have used; NaN on systems without /proc. */
export async function cpuMsOf(processes: readonly { readonly pid: number }[]): Promise<number> {
  const each = await Promise.all(processes.map(({ pid }) => readCpuMs(pid)));
  return each.reduce<number>((sum, ms) => sum + (ms ?? NaN), 0);
}

/** A child may end after it was listed. Then its time has become that of the parent. */
export async function cpuMsOfFamily(pid: number): Promise<number> {
  for (let looks = 1; ; looks += 1) {
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
    const pids = [pid, ...children.split(' ').filter(Boolean).map(Number)];
    const ms = await cpuMsOf(pids.map((each) => ({ pid: each })));
    if (!Number.isNaN(ms) || looks === LOOKS_MAX) return ms;
  }
}

/** Megabytes that the process holds in memory; NaN on systems without /proc. */
export async function readMemoryMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
