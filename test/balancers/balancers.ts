// Load balancers of other people, as real processes, in front of two API processes. None of them
// sends a request a second time.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, type TestContext } from 'vitest';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

/** How often a balancer asks `/readyz`. One failure or success is enough for it. */
const CHECK_INTERVAL_MS = 200;

/** A running load balancer. It stops with the test. */
export interface Balancer {
  readonly url: string;
}

/** A running haproxy. */
export interface Haproxy extends Balancer {
  readonly pid: number;
  /** Ends it before the test does. */
  stop(): Promise<void>;
}

/** With what a balancer ends. A test that runs beside others passes its own context. */
type Ending = Pick<TestContext, 'onTestFinished'>;
const THIS_TEST: Ending = { onTestFinished };

/** Returns whether the program is installed. */
export async function isInstalled(program: string): Promise<boolean> {
  const asking = promisify(execFile)(program, ['-v']);
  return asking.then(
    () => true,
    () => false,
  );
}

const NGINX_CONFIG = new URL('../../scripts/deploy/nginx.conf', import.meta.url);
const HAPROXY_CONFIG = new URL('../../scripts/deploy/haproxy.cfg', import.meta.url);

/** Starts haproxy in front of these ports, as the runbook has it. It asks `/readyz` itself. */
export async function startHaproxy(
  ports: readonly number[],
  metricsPort?: number,
  ending: Ending = THIS_TEST,
): Promise<Haproxy> {
  const [port, postgresPort] = [await findFreePort(), await findFreePort()];
  let number = 0;
  const config = (await readFile(HAPROXY_CONFIG, 'utf8'))
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace('bind :5432', `bind 127.0.0.1:${postgresPort}`)
    .replace('bind :8405', `bind 127.0.0.1:${metricsPort ?? (await findFreePort())}`)
    .replaceAll(/10\.0\.0\.\d+:3000/g, () => `127.0.0.1:${ports[number++]}`);
  expect(number).toBe(ports.length);
  const file = join(await makeFolder('balancer'), 'haproxy.cfg');
  await writeFile(file, config);
  const haproxy = run('haproxy', ['-db', '-f', file], ending);
  await untilListening(port);
  return { url: `http://127.0.0.1:${port}`, pid: haproxy.pid ?? 0, stop: () => end(haproxy) };
}

/** Starts nginx with the configuration of the runbook, in front of these ports. */
export async function startDeployedNginx(
  ports: readonly number[],
): Promise<Balancer & { readonly folder: string }> {
  const port = await findFreePort();
  const folder = await makeFolder('balancer');
  const config = (await readFile(NGINX_CONFIG, 'utf8'))
    .replace('listen 8080', `listen 127.0.0.1:${port}`)
    .replaceAll('/tmp/', `${folder}/`);
  await writeFile(join(folder, 'nginx.conf'), config);
  const servers = ports.map((one) => `server 127.0.0.1:${one} max_fails=1 fail_timeout=2s;`);
  await writeFile(join(folder, 'servers.conf'), servers.join('\n'));
  run('nginx', ['-c', join(folder, 'nginx.conf'), '-p', folder, '-g', 'daemon off;']);
  await untilListening(port);
  return { url: `http://127.0.0.1:${port}`, folder };
}

/**
 * Starts nginx in front of these ports. Its free version does not check its servers, so a loop here
 * asks `/readyz` and tells nginx which servers it has, as the controllers do that run nginx.
 */
export async function startNginx(ports: readonly number[]): Promise<Balancer> {
  const port = await findFreePort();
  const folder = await makeFolder('balancer');
  const file = join(folder, 'nginx.conf');
  let known = '';
  /** Whether the servers have changed. Without a ready one, nginx keeps what it has. */
  const writeConfig = async (): Promise<boolean> => {
    const checked = await Promise.all(ports.map(async (one) => ((await isReady(one)) ? one : 0)));
    const ready = checked.filter((one) => one !== 0);
    if (ready.length === 0 || ready.join() === known) return false;
    known = ready.join();
    await writeFile(file, nginxConfig({ folder, port, ready }));
    return true;
  };
  await until(writeConfig);
  const nginx = run('nginx', ['-c', file, '-p', folder, '-g', 'daemon off;']);
  await untilListening(port);
  const stopping = new AbortController();
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      if (await writeConfig()) nginx.kill('SIGHUP');
      await delay(CHECK_INTERVAL_MS);
    }
  };
  const watching = watch();
  onTestFinished(() => {
    stopping.abort();
    return watching;
  });
  return { url: `http://127.0.0.1:${port}` };
}

function nginxConfig(options: {
  readonly folder: string;
  readonly port: number;
  readonly ready: readonly number[];
}): string {
  const { folder, port, ready } = options;
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `  ${kind}_temp_path ${folder}/${kind};`,
  );
  return `
user root;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
worker_processes 1;
events {}
http {
  access_log off;
${temporary.join('\n')}
  upstream api {
${ready.map((one) => `    server 127.0.0.1:${one} max_fails=0;`).join('\n')}
    keepalive 16;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://api;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_next_upstream off;
    }
  }
}
`;
}

async function isReady(port: number): Promise<boolean> {
  const signal = AbortSignal.timeout(2_000);
  return fetch(`http://127.0.0.1:${port}/readyz`, { signal }).then(
    ({ ok }) => ok,
    () => false,
  );
}

function run(program: string, args: readonly string[], ending: Ending = THIS_TEST): ChildProcess {
  const child = spawn(program, args, { stdio: 'ignore' });
  ending.onTestFinished(() => end(child));
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

async function untilListening(port: number): Promise<void> {
  await until(async () => {
    const socket = connect(port, '127.0.0.1');
    const isListening = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    return isListening;
  });
}
