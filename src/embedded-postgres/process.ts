/**
 * Finds the server process of a cluster by its file postmaster.pid. The file has one value a line:
 * process id, data folder, start time, port, and so on. It is left behind when the server or the
 * machine is killed, and then its process id may belong to any other process.
 */
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A server process that has the cluster open. It may still be starting or already stopping. */
export interface RunningServer {
  pid: number;
  /** 0 while the server has not written its port yet. */
  port: number;
  cluster: string;
}

/** Returns the process that serves the cluster, or null if none does. */
export async function findServer(cluster: string): Promise<RunningServer | null> {
  const lines = await readPidFile(cluster);
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!(pid > 0) || !isAlive(pid)) return null;
  const command = await readCommand(pid);
  if (!command.includes('postgres') || !command.includes(cluster)) return null;
  return { pid, port: port > 0 ? port : 0, cluster };
}

/**
 * Whether the process runs. A zombie does not run: in a container without an init process it stays
 * a zombie for ever.
 */
export async function isRunning(pid: number): Promise<boolean> {
  return isAlive(pid) && (await readCommand(pid)) !== '';
}

/**
 * Removes a postmaster.pid that was left behind. Keeps it if a server still has the cluster open:
 * two servers on one cluster destroy it.
 */
export async function removePidFile(cluster: string): Promise<void> {
  if (await findServer(cluster)) return;
  await rm(join(cluster, 'postmaster.pid'), { force: true });
}

/** Whether the process exists. Also true for zombies and for processes of other users. */
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

/**
 * Returns the command line of a process, or an empty text for a zombie. Reads /proc where it exists
 * and runs `ps` elsewhere: slim containers have no `ps`, and macOS has no /proc.
 */
async function readCommand(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null);
  if (text !== null) return text.replaceAll('\0', ' ');
  const listing = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(
    () => null,
  );
  return listing?.stdout ?? '';
}
