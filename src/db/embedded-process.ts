// What postmaster.pid says, and whether to believe it. The file holds, a line each: process id, data folder, start
// time, port, … It stays behind when the server or the machine is killed, and its process id may be anybody's then.
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A server process that holds the cluster, answering or not. */
export interface RunningServer {
  pid: number;
  port: number;
  cluster: string;
}

/** The process that serves the cluster, or null when none does, whatever a stale file claims. */
export async function findServer(cluster: string): Promise<RunningServer | null> {
  const lines = await readPidFile(cluster);
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!(pid > 0) || !isAlive(pid)) return null;
  const command = await readCommand(pid);
  if (!command.includes('postgres') || !command.includes(cluster)) return null;
  return { pid, port: port > 0 ? port : 0, cluster };
}

/** Whether the process runs. A zombie does not: in a container without an init process it stays one for ever. */
export async function isRunning(pid: number): Promise<boolean> {
  return isAlive(pid) && (await readCommand(pid)) !== '';
}

/** Only after {@link findServer} has answered null: two servers on one cluster destroy it. */
export async function removePidFile(cluster: string): Promise<void> {
  if (await findServer(cluster)) return;
  await rm(join(cluster, 'postmaster.pid'), { force: true });
}

/** Whether the process exists; one of another user does. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function readPidFile(cluster: string): Promise<string[]> {
  return (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
}

/** The command line of a process; empty for a zombie. Slim containers have /proc but no `ps`, macOS the other way. */
async function readCommand(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null);
  if (text !== null) return text.replaceAll('\0', ' ');
  const listing = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(
    () => null,
  );
  return listing?.stdout ?? '';
}
