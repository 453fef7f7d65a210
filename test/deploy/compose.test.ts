// compose.yaml as it is, with images of Debian's packages in place of those of a registry, and
// without Grafana, which Debian has not. podman-compose knows no fixed addresses and does not wait
// for conditions; the processes do not need them to.
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCall, TEST_APP_SECRET } from '../support/api.ts';
import {
  buildImage,
  CONTAINER_TOOLS,
  podman,
  podmanSettings,
  removeImage,
  standInImages,
} from '../support/containers.ts';
import { because, run, whyNot } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { readBlocks } from './runbook.ts';

const source = fileURLToPath(new URL('../../scripts/deploy', import.meta.url));
const SERVICES = 'postgres pgbouncer migrate api1 api2 worker1 worker2 nginx prometheus'.split(' ');
const reason = whyNot([...CONTAINER_TOOLS, 'podman-compose']);

/** What the runbook does with docker, with podman: a service is replaced by one of this image. */
const DOCKER = `#!/bin/sh
set -eu
case $* in
  'compose build') ;;
  'compose run --rm migrate') podman start --attach "\${PROJECT}_migrate_1" ;;
  'compose up --detach --no-deps '*) eval "podman restart --time=60 \${PROJECT}_\\$\${#}_1" ;;
  'compose exec '*)
    container=\${PROJECT}_$3_1
    shift 3
    podman exec "$container" "$@"
    ;;
  *) exit 64 ;;
esac
`;

interface Inspected {
  readonly Mounts: readonly { readonly Destination: string }[];
}

describe.skipIf(reason !== null)(`compose.yaml${because(reason)}`, { timeout: 600_000 }, () => {
  const project = `customer-api-test-${process.pid}`;
  let folder: string;
  let image: string;
  let url: string;
  let environment: Record<string, string>;
  let key: string;

  const compose = (...args: string[]): Promise<string> =>
    run('podman-compose', ['-p', project, '-f', 'compose.yaml', ...args], {
      cwd: folder,
      env: { ...environment, ...podmanSettings() },
    });
  const container = (service: string): string => `${project}_${service}_1`;

  beforeAll(async () => {
    const { postgres, pgbouncer, nginx, prometheus } = await standInImages();
    image = await buildImage();
    folder = await makeFolder('compose');
    await cp(source, folder, { recursive: true });
    const file = join(folder, 'compose.yaml');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replaceAll(/^.*ipv4_address.*\n/gm, ''));
    const port = await findFreePort();
    url = `http://127.0.0.1:${port}`;
    const settings = [
      `APP_SECRET=${TEST_APP_SECRET}`,
      `PUBLIC_URL=${url}`,
      'API_KEY_RATE_LIMIT_PER_MIN=1000000',
    ];
    await writeFile(join(folder, 'settings.env'), settings.join('\n'));
    environment = {
      POSTGRES_PASSWORD: 'a1b2c3',
      GRAFANA_PASSWORD: 'unused',
      LISTEN: `127.0.0.1:${port}`,
      SERVICE_IMAGE: image,
      POSTGRES_IMAGE: postgres,
      PGBOUNCER_IMAGE: pgbouncer,
      NGINX_IMAGE: nginx,
      PROMETHEUS_IMAGE: prometheus,
    };
    await compose('up', '-d', '--no-build', ...SERVICES);
    // nginx does not ask /readyz, so each API process must be ready. A worker that came before the
    // tables has ended and is started again, maybe more than once.
    for (const api of ['api1', 'api2']) await untilReady(api);
    for (const worker of ['worker1', 'worker2'])
      await until(async () => {
        await delay(200);
        return (await logsOf(worker)).includes('"msg":"worker runs"');
      });
    key = await seedTeam();
  }, 1_800_000);

  afterAll(async () => {
    if (!folder) return;
    await podman('rm', '--force', '--time=0', ...SERVICES.map(container));
    const volumes = ['postgres', 'mail', 'prometheus'].map((name) => `${project}_${name}`);
    await podman('volume', 'rm', '--force', ...volumes);
    await podman('network', 'rm', '--force', `${project}_inside`);
    await removeImage(image);
  });

  const addressOf = (service: string): Promise<string> =>
    podman(
      'inspect',
      '--format={{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}',
      container(service),
    );

  const logsOf = (service: string): Promise<string> =>
    run('sh', ['-c', `podman logs ${container(service)} 2>&1`], { env: podmanSettings() });

  /** Why a container does not do what it should. */
  async function stateOf(service: string): Promise<string> {
    const state = await podman('inspect', '--format={{json .State}}', container(service));
    return `${service}: ${state}\n${await logsOf(service)}`;
  }

  async function untilReady(api: string): Promise<void> {
    await until(async () => {
      await delay(200);
      return fetch(`http://${await addressOf(api)}:3000/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
  }

  async function seedTeam(): Promise<string> {
    const file = join(folder, 'seed.json');
    await writeFile(file, JSON.stringify(makeSeed([makeTeam('a', { rate_limit_per_min: 1e6 })])));
    const settings = {
      DATABASE_URL: 'postgres://app:a1b2c3@postgres:5432/app',
      APP_SECRET: TEST_APP_SECRET,
    };
    const options = [
      ['--network', `${project}_inside`, '--volume', `${file}:/seed.json:ro`, '--no-healthcheck'],
      Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ].flat();
    const shown = await podman('run', '--rm', ...options, image, 'seed', '/seed.json');
    const { teams } = JSON.parse(shown) as {
      teams: Record<string, { api_keys: Record<string, string> }>;
    };
    return teams['team_a']?.api_keys['full'] ?? '';
  }

  test('serves requests through nginx and PgBouncer, and a worker mails', async () => {
    const call = createCall(url);
    const invited = await call(key, 'POST', '/users', { body: { email: 'kim@example.com' } });
    expect(invited).toMatchObject({ status: 201 });
    expect((await call(key, 'GET', '/users')).status).toBe(200);
    await until(async () => {
      const mails = await podman('exec', container('worker1'), 'ls', '/mail').catch(
        async (error: unknown) => {
          throw new Error(await stateOf('worker1'), { cause: error });
        },
      );
      return mails.includes('.eml');
    });
  });

  test('gives our processes no right and nothing to write to', async () => {
    for (const service of ['migrate', 'api1', 'api2', 'worker1', 'worker2']) {
      const [inspected] = JSON.parse(await podman('inspect', container(service))) as [Inspected];
      expect(inspected).toMatchObject({
        EffectiveCaps: null,
        Config: { User: '10001:10001' },
        HostConfig: { ReadonlyRootfs: true, SecurityOpt: ['no-new-privileges'] },
      });
      // The mails of the worker, instead of a mail server.
      const folders = inspected.Mounts.map(({ Destination }) => Destination);
      expect(folders).toEqual(service.startsWith('worker') ? ['/mail'] : []);
    }
  });

  test('is watched by Prometheus', async () => {
    const address = await addressOf('prometheus');
    const query = `http://${address}:9090/api/v1/query?query=sum(up)`;
    await until(async () => {
      await delay(500);
      const { data } = (await (await fetch(query)).json()) as {
        data: { result: { value: [number, string] }[] };
      };
      return data.result[0]?.value[1] === '4';
    });
    expect(await (await fetch(`http://${address}:9090/api/v1/rules`)).text()).toContain('ApiGone');
  });

  test('sends requests to a process again only when it is ready', async () => {
    const setServer = (state: string): Promise<string> =>
      podman('exec', container('nginx'), 'nginx-server', 'api1', state);
    const servers = (): Promise<string> =>
      podman('exec', container('nginx'), 'cat', '/tmp/servers.conf');
    await setServer('down');
    await podman('kill', '--signal=STOP', container('pgbouncer'));
    const entering = setServer('up');
    await delay(5_000);
    const meanwhile = await servers();
    await podman('kill', '--signal=CONT', container('pgbouncer'));
    await entering;
    expect([meanwhile, await servers()].map((text) => text.includes(' down;'))).toEqual([
      true,
      false,
    ]);
    await untilReady('api2');
  });

  test('is upgraded as the runbook says, and no client notices', async () => {
    const statuses = new Map<number, number>();
    let isOver = false;
    const client = async (): Promise<void> => {
      while (!isOver) {
        const { status } = await fetch(`${url}/api/public/v1/me`, {
          headers: { authorization: `Bearer ${key}`, connection: 'close' },
        }).catch(() => ({ status: 0 }));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await delay(10);
      }
    };
    const clients = [client(), client(), client(), client()];
    const [upgrade = ''] = await readBlocks('One machine with containers');
    const tools = await makeFolder('docker');
    await writeFile(join(tools, 'docker'), DOCKER, { mode: 0o755 });
    const env = { PATH: `${tools}:${process.env['PATH']}`, PROJECT: project, ...podmanSettings() };
    await run('sh', ['-c', upgrade], { env }).finally(() => {
      isOver = true;
    });
    await Promise.all(clients);
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(200);
  });

  test('says that it is unavailable when no API process is there', async () => {
    await podman('stop', '--time=60', container('api1'), container('api2'));
    const response = await fetch(`${url}/api/public/v1/me`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ status: 503, code: 'unavailable' });
    expect(response.headers.get('retry-after')).toBe('5');
    // Nor does nginx write down what was asked for, or by whom.
    await fetch(`${url}/api/public/v1/users?email=kim%40example.com`);
    await fetch(`${url}/unsubscribe/of-kim`, { method: 'POST' });
    expect(await logsOf('nginx')).not.toMatch(/kim|client:/);
  });
});
