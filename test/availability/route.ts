// HAProxy between everything and the cluster, as the runbook has it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import type { Member } from './cluster.ts';

const CONFIG = new URL('../../scripts/deploy/haproxy.cfg', import.meta.url);

/** The way to whatever Patroni says is the primary. */
export interface Route {
  /** The URL of the database `app`. */
  readonly url: string;
  /** Leaves the route where it is, wherever the primary goes, until `follow`. */
  freeze(): Promise<void>;
  /** Resolves when the route leads to this member alone: connections to others have ended. */
  follow(primary: Pick<Member, 'name'>): Promise<void>;
  stop(): Promise<void>;
}

/** Starts HAProxy in front of the members. The tests ask the APIs themselves, not through it. */
export async function startRoute(members: readonly Member[]): Promise<Route> {
  const folder = await makeFolder('route');
  const [port, publicPort] = [await findFreePort(), await findFreePort()];
  const commands = join(folder, 'commands');
  let config = (await readFile(CONFIG, 'utf8'))
    .replace('bind :8080', `bind 127.0.0.1:${publicPort}`)
    .replace('bind :5432', `bind 127.0.0.1:${port}`)
    .replace(/^global$/m, `global\n  stats socket ${commands} level admin`);
  for (const { name, port: postgresPort, restPort } of members)
    config = config.replace(
      new RegExp(`(server ${name}) \\S+`),
      `$1 127.0.0.1:${postgresPort} check port ${restPort}`,
    );
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, config);
  // It ends with this process, even by `kill -9`.
  const command = ['--pdeathsig', 'KILL', 'haproxy', '-db', '-f', file];
  const haproxy = spawn('setpriv', command, { stdio: 'ignore' });
  const order = async (name: string): Promise<void> => {
    for (const member of members) {
      const answer = await ask(commands, `${name} postgres/${member.name}`);
      if (answer !== '') throw new Error(`HAProxy: ${name}: ${answer}`);
    }
  };
  const targets = async (): Promise<string[]> => {
    const lines = (await ask(commands, 'show stat').catch(() => '')).split('\n');
    return lines.flatMap((line) => /^postgres,(pg\d),.*,UP[ ,]/.exec(line)?.[1] ?? []);
  };
  // Until enough checks have failed it believes that every server is a primary ("UP 1/3").
  await until(async () => (await targets()).length === 1);
  return {
    url: `postgres://app@127.0.0.1:${port}/app`,
    freeze: () => order('disable health'),
    follow: async ({ name }) => {
      await order('enable health');
      // For a moment, both the new and the former one are targets.
      await until(async () => (await targets()).join() === name);
    },
    stop: async () => {
      haproxy.kill('SIGKILL');
      await once(haproxy, 'exit');
    },
  };
}

/** Resolves with HAProxy's answer. A command that it understood has none. */
async function ask(path: string, command: string): Promise<string> {
  const socket = connect(path);
  socket.end(`${command}\n`);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer.trim();
}
