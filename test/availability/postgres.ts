// Postgres 15 from Debian's packages: a primary, and standbys of it.
import { existsSync } from 'node:fs';
import { appendFile, chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run, whyNot } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { send } from '../support/processes.ts';

/** Where Debian has the programs of Postgres. */
export const PROGRAMS = '/usr/lib/postgresql/15/bin';

/** Why these tests must be skipped, or null. */
export const whyNoPostgres = existsSync(`${PROGRAMS}/initdb`)
  ? whyNot(['setpriv'])
  : 'missing on this machine: postgresql-15';

/** One server. */
export interface Node {
  readonly port: number;
  /** The URL of its database `app`, as its superuser. */
  readonly url: string;
  /** Kills it, as a crash does. */
  kill(): Promise<void>;
  /** Starts it again. */
  start(): Promise<void>;
  /** Stops all its processes, as a hanging host does: connections stay, and nothing answers. */
  freeze(): Promise<void>;
  /** Makes a standby the primary. */
  promote(): Promise<void>;
}

/** A primary and its standbys, which must be stopped. */
export interface Servers {
  readonly primary: Node;
  /** Makes a standby of the primary, and resolves when it answers. */
  addStandby(): Promise<Node>;
  stop(): Promise<void>;
}

/** Resolves with a new primary with an empty database `app`. */
export async function startServers(): Promise<Servers> {
  const folder = await makeFolder('standby');
  await chmod(folder, 0o777);
  const nodes: Node[] = [];
  const add = async (name: string): Promise<Node> => {
    const node = await startNode(folder, name);
    nodes.push(node);
    return node;
  };
  await asPostgres('initdb', '-D', join(folder, 'primary'), '-U', 'postgres', '-A', 'trust', '-N');
  await appendFile(join(folder, 'primary', 'postgresql.auto.conf'), 'fsync = off\n');
  const primary = await add('primary');
  await asPostgres('createdb', '-h', '127.0.0.1', '-p', String(primary.port), 'app');
  return {
    primary,
    addStandby: async () => {
      const name = `standby${nodes.length}`;
      const from = ['-d', primary.url, '-R', '-c', 'fast', '-N'];
      await asPostgres('pg_basebackup', '-D', join(folder, name), ...from);
      return add(name);
    },
    stop: async () => void (await Promise.all(nodes.map((node) => node.kill()))),
  };
}

async function startNode(folder: string, name: string): Promise<Node> {
  const data = join(folder, name);
  const port = await findFreePort();
  let isRunning = false;
  const start = async (): Promise<void> => {
    const options = `-p ${port} -c listen_addresses=127.0.0.1 -k ${folder}`;
    await asPostgres('pg_ctl', 'start', '-w', '-D', data, '-o', options, '-l', `${data}.log`);
    isRunning = true;
  };
  const signal = async (signalName: 'SIGSTOP' | 'SIGCONT'): Promise<void> => {
    const [parent = ''] = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n');
    const children = await run('ps', ['--ppid', parent, '-o', 'pid=']);
    // A child may end meanwhile.
    for (const pid of [parent, ...children.split('\n')])
      if (pid !== '') send(Number(pid), signalName);
  };
  await start();
  return {
    port,
    url: `postgres://postgres@127.0.0.1:${port}/app`,
    start,
    kill: async () => {
      if (!isRunning) return;
      isRunning = false;
      await signal('SIGCONT');
      await asPostgres('pg_ctl', 'stop', '-m', 'immediate', '-D', data);
    },
    freeze: () => signal('SIGSTOP'),
    promote: async () => void (await asPostgres('pg_ctl', 'promote', '-w', '-D', data)),
  };
}

/** Runs one of its programs. Postgres refuses root. */
export function asPostgres(program: string, ...args: string[]): Promise<string> {
  const user = ['--reuid=postgres', '--regid=postgres', '--clear-groups'];
  return run('setpriv', [...user, `${PROGRAMS}/${program}`, ...args]);
}
