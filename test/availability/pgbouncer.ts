// PgBouncer as the runbook has it, between the APIs and HAProxy. Debian 12 has 1.18, and 1.21 is
// the first that follows prepared statements. So the package of Debian 13 is unpacked into a
// folder, and runs there with its own libraries.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { isInstalled, run } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

const CONFIG = new URL('../../scripts/deploy/pgbouncer.ini', import.meta.url);

/** A PgBouncer that follows prepared statements. */
export interface Program {
  /** The command that runs it. */
  readonly command: readonly string[];
}

/** Resolves with this machine's own one, or with that of Debian 13, or says why there is none. */
export async function findPgBouncer(): Promise<Program | { readonly reason: string }> {
  if (canFollowStatements(['pgbouncer'])) return { command: ['pgbouncer'] };
  if (!isInstalled('mmdebstrap'))
    return { reason: 'PgBouncer is older than 1.21, and mmdebstrap is missing on this machine' };
  const folder = await makeFolder('pgbouncer');
  try {
    await unpack(folder);
    const command = await commandOf(folder);
    if (!canFollowStatements(command)) throw new Error(`${command.join(' ')} does not run`);
    return { command };
  } catch (error) {
    return { reason: `the package of Debian 13 is not to be had: ${String(error)}` };
  }
}

/** Unpacks it with what it needs. Nothing of that is installed, so no script of a package runs. */
async function unpack(folder: string): Promise<void> {
  const plain = ['--aptopt=APT::Install-Recommends "false"', '--dpkgopt=path-exclude=/usr/share/*'];
  await run('mmdebstrap', ['--variant=extract', '--include=pgbouncer', ...plain, 'trixie', folder]);
  await chmod(folder, 0o755);
}

async function commandOf(folder: string): Promise<readonly string[]> {
  const usr = join(folder, 'usr');
  const architecture = (await readdir(join(usr, 'lib'))).find((name) => /-linux-gnu/.test(name));
  const libraries = join(usr, 'lib', architecture ?? '');
  const loader = (await readdir(libraries)).find((name) => name.startsWith('ld-linux'));
  const program = join(usr, 'sbin/pgbouncer');
  return [join(libraries, loader ?? ''), '--library-path', libraries, program];
}

/** Whether the command runs a PgBouncer that is 1.21 or newer. */
export function canFollowStatements(command: readonly string[]): boolean {
  const [program = '', ...args] = command;
  const { stdout } = spawnSync(program, [...args, '--version'], { encoding: 'utf8' });
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(stdout) ?? [];
  return Number(major) > 1 || Number(minor) >= 21;
}

export interface Pooler {
  /** The URL of the database `app`. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts it before the port of a database `app`. Resolves when it leads there. */
export async function startPooler({ command }: Program, toPort: number): Promise<Pooler> {
  const folder = await makeFolder('pooler');
  await chmod(folder, 0o755);
  const port = await findFreePort();
  const config = (await readFile(CONFIG, 'utf8'))
    .replace('app = host=postgres port=5432', `app = host=127.0.0.1 port=${toPort} user=app`)
    .replace('listen_addr = *', 'listen_addr = 127.0.0.1\nunix_socket_dir =')
    .replace('listen_port = 6432', `listen_port = ${port}`)
    .replace('auth_type = scram-sha-256', 'auth_type = any')
    .replace(/^auth_file = .*$/m, '');
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, config);
  // PgBouncer refuses root. It ends with this process, even by `kill -9`.
  const user = ['--reuid=postgres', '--regid=postgres', '--clear-groups', '--pdeathsig', 'KILL'];
  const pgbouncer = spawn('setpriv', [...user, ...command, '-q', file], { stdio: 'ignore' });
  const url = `postgres://app@127.0.0.1:${port}/app`;
  await until(() => canConnect(url));
  return {
    url,
    stop: async () => {
      const ended = once(pgbouncer, 'exit');
      pgbouncer.kill('SIGKILL');
      await ended;
    },
  };
}

/** Whether a connection can be made. */
export async function canConnect(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
