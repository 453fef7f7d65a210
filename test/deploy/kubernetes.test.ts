// The manifests of scripts/deploy/kubernetes: judged by the types of Kubernetes' API, and their
// pods run by podman, on a real Postgres. No cluster is needed. What only a cluster does is not run
// here: the autoscalers, the network policies and the spread over nodes.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { createCall, loadTestSeed, TEST_APP_AUTH_SECRET, TEST_APP_SECRET } from '../support/api.ts';
import {
  buildImage,
  CONTAINER_TOOLS,
  podman,
  podmanSettings,
  removeImage,
} from '../support/containers.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { because, isInstalled, run, whyNot } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { startMailServer } from '../support/mail-server.ts';
import { findFreePort } from '../support/ports.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { installPackage } from './npm-package.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'scripts/deploy/kubernetes');
/** In milliseconds: for the requests and deliveries in flight, after DRAIN_DELAY_MS. */
const DRAIN_MS = 15_000;

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly progressDeadlineSeconds?: number;
    readonly template?: { readonly spec: PodSpec };
  };
}

interface Policy {
  readonly ingress: readonly object[];
}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: object;
  readonly containers: readonly [Container];
  readonly volumes: readonly [{ readonly secret: { readonly items: readonly { key: string }[] } }];
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly name: string;
  readonly args: readonly string[];
  readonly securityContext: object;
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
}

/** As Kubernetes reads them: `0440` is a number of base 8. */
async function readManifests(): Promise<readonly Manifest[]> {
  const text = await readFile(join(folder, 'kustomization.yaml'), 'utf8');
  const { resources } = parse(text) as { resources: readonly string[] };
  const files = await Promise.all(resources.map((name) => readFile(join(folder, name), 'utf8')));
  return files
    .flatMap((file) => parseAllDocuments(file, { version: '1.1' }))
    .map((document) => document.toJS() as Manifest);
}

const manifests = await readManifests();

function find(kind: string, name: string): Manifest {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
  if (!found) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

function podOf({ spec }: Manifest): PodSpec {
  if (!spec?.template) throw new Error('it has no pods');
  return spec.template.spec;
}

const settings = find('ConfigMap', 'settings').data ?? {};
const workloads = manifests.filter(({ spec }) => spec?.template !== undefined);

describe('the manifests', () => {
  test("are what Kubernetes' API takes, to the last field", async () => {
    const types = await installPackage('kubernetes-models@5.1.0');
    expect(await findFaults(types, manifests)).toBe('');
    const misspelt = JSON.parse(
      JSON.stringify(manifests).replace('readinessProbe', 'readinesProbe'),
    ) as readonly Manifest[];
    expect(await findFaults(types, misspelt)).toContain('\'"readinesProbe"\' does not exist');
  });

  test.skipIf(!isInstalled('kubectl'))('are put together by kustomize', async () => {
    const text = await run('kubectl', ['kustomize', folder]);
    const whole = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
    const names = (all: readonly Manifest[]): string[] =>
      all.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted();
    expect(names(whole)).toEqual(names(manifests));
    expect(text).not.toContain('image: team-customer-api');
  });

  test('give every process what the image was tried with, and no more', () => {
    expect(workloads.map(({ metadata }) => metadata.name)).toEqual(['migrate', 'api', 'worker']);
    for (const workload of workloads) {
      const pod = podOf(workload);
      expect(pod).toMatchObject({ automountServiceAccountToken: false });
      expect(pod.securityContext).toEqual({
        runAsNonRoot: true,
        runAsUser: 10_001,
        runAsGroup: 10_001,
        fsGroup: 10_001,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(pod.containers.map(({ securityContext }) => securityContext)).toEqual([
        {
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        },
      ]);
    }
  });

  test('give each process only the secrets that it reads', () => {
    for (const workload of workloads) {
      const { containers, volumes } = podOf(workload);
      const read = containers[0].env.map(({ name, value }) => {
        expect(value).toBe(`/secrets/${name.replace(/_FILE$/, '')}`);
        return name.replace(/_FILE$/, '');
      });
      expect(volumes[0].secret.items.map(({ key }) => key)).toEqual(read);
    }
  });

  // Whoever reaches a process that trusts a number of proxies chooses his address.
  test('let only what is in front reach the port of requests', () => {
    expect(settings['TRUST_PROXY']).toMatch(/^\d+$/);
    const { spec } = find('NetworkPolicy', 'requests') as Manifest & { spec: Policy };
    expect(spec.ingress).toHaveLength(1);
    expect(spec.ingress[0]).toMatchObject({ from: [expect.anything()], ports: [{ port: 'http' }] });
  });

  test('kill no process that still drains', () => {
    const graceMs = (name: string): number =>
      podOf(find('Deployment', name)).terminationGracePeriodSeconds * 1000;
    expect(graceMs('api')).toBeGreaterThan(Number(settings['DRAIN_DELAY_MS']) + DRAIN_MS);
    expect(graceMs('worker')).toBeGreaterThan(DRAIN_MS);
  });

  test('let a rollout wait for as long as the runbook does', async () => {
    const runbook = await readFile(join(folder, '../README.md'), 'utf8');
    for (const name of ['api', 'worker']) {
      expect(runbook).toContain(`rollout status deployment/${name} --timeout=1h`);
      expect(find('Deployment', name).spec?.progressDeadlineSeconds).toBe(3600);
    }
  });

  test.skipIf(!isInstalled('promtool'))('tell Prometheus how it finds the pods', async () => {
    const text = await readFile(join(folder, 'prometheus.yaml'), 'utf8');
    const { scrape_configs } = parse(text) as { scrape_configs: [Record<string, unknown>] };
    // Debian's Prometheus does not know Kubernetes; the rest of the file is judged.
    const { kubernetes_sd_configs, ...rest } = scrape_configs[0];
    expect(kubernetes_sd_configs).toMatchObject([{ role: 'pod' }]);
    const work = await makeFolder('promtool');
    const file = join(work, 'prometheus.yml');
    await writeFile(file, JSON.stringify({ scrape_configs: [rest] }));
    expect(await run('promtool', ['check', 'config', file])).toContain('SUCCESS');
  });
});

/**
 * Resolves with what the compiler says of the manifests as values of Kubernetes' types. It also
 * refuses a field that a type does not have, as `kubectl apply` does.
 */
async function findFaults(types: string, checked: readonly Manifest[]): Promise<string> {
  const lines = checked.flatMap((manifest, index) => {
    const { apiVersion, kind } = manifest;
    return [
      `import type { I${kind} as T${index} } from 'kubernetes-models/${apiVersion}';`,
      `export const m${index}: T${index} = ${JSON.stringify(manifest, null, 1)};`,
    ];
  });
  const file = join(types, 'manifests.mts');
  await writeFile(file, lines.join('\n'));
  const compiler = join(root, 'node_modules/typescript-native/bin/tsc');
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck'];
  return run(process.execPath, [compiler, ...options, '--module', 'nodenext', file], {
    cwd: types,
  }).catch((error: unknown) => String(error));
}

/** podman holds the network of a pod with catatonit. */
const reason = whyNot([...CONTAINER_TOOLS, 'catatonit']);

describe.skipIf(reason !== null)(`the pods${because(reason)}`, { timeout: 600_000 }, () => {
  let image: string;
  let database: TestDatabase;
  let mail: Awaited<ReturnType<typeof startMailServer>>;
  let work: string;

  beforeAll(async () => {
    work = await makeFolder('kubernetes');
    image = await buildImage();
    database = await createEmptyDatabase();
    mail = await startMailServer();
  }, 1_800_000);

  afterAll(async () => {
    await database?.drop();
    if (image) await removeImage(image);
  });

  test('keep the order by themselves when all of them start at once', async () => {
    const api = await play(find('Deployment', 'api'));
    const worker = await play(find('Deployment', 'worker'));
    expect(await podman('wait', worker.container)).toBe('1');
    expect(await logsOf(worker)).toContain('not of this version');
    const { status, text } = await ask(api, '/readyz', 'http');
    expect([status, text]).toEqual([503, expect.stringContaining('migrations_pending')]);
    expect(await findSilentProbe(api, ['startupProbe', 'livenessProbe'])).toBeNull();

    const migration = await play(find('Job', 'migrate'));
    expect(await podman('wait', migration.container)).toBe('0');
    expect(await logsOf(migration)).toContain('The database is up to date.');
    await until(async () => (await ask(api, '/readyz', 'http')).status === 200);
  });

  test('serve requests and mail, and stop within their time', async () => {
    await podman('wait', (await play(find('Job', 'migrate'))).container);
    const { teams } = await loadTestSeed(database, makeSeed([makeTeam('a')]));
    const key = teams['team_a']?.api_keys['full'] ?? '';
    const pods = [await play(find('Deployment', 'api')), await play(find('Deployment', 'worker'))];
    const [api, worker] = pods as [Pod, Pod];
    const PROBES = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const;
    for (const pod of pods) await until(async () => (await findSilentProbe(pod, PROBES)) === null);

    const call = createCall(`http://127.0.0.1:${api.ports['http']}`);
    const invited = await call(key, 'POST', '/users', { body: { email: 'kim@example.com' } });
    expect(invited.status).toBe(201);
    await until(() => mail.received.some(({ to }) => to === 'kim@example.com'));
    // What prometheus-adapter.yaml makes the metric of the autoscaler from.
    const { text } = await ask(worker, '/metrics', 'metrics');
    expect(text).toMatch(/^webhook_attempts_in_flight\{state="queued"\} \d+$/m);

    for (const pod of pods) {
      const startedAt = performance.now();
      await podman('stop', `--time=${pod.graceS}`, pod.container);
      expect(performance.now() - startedAt).toBeLessThan(pod.graceS * 1000);
      expect(await podman('inspect', '--format={{.State.ExitCode}}', pod.container)).toBe('0');
    }
    expect(await logsOf(api)).toContain('api stopped');
    expect(await logsOf(worker)).toContain('worker stopped');
  });

  interface Pod {
    readonly container: string;
    readonly graceS: number;
    readonly probes: Container;
    /** By the names that the manifest gives them. */
    readonly ports: Readonly<Record<string, number>>;
  }

  /**
   * Runs the pod of a workload. It has the network of this machine, and so ports of its own. podman
   * 4.3 cannot run a Job, asks no probe, and writes a Secret as base64, so that a ConfigMap stands
   * for it.
   */
  async function play(workload: Manifest): Promise<Pod> {
    const { terminationGracePeriodSeconds: graceS, ...spec } = podOf(workload);
    const [{ startupProbe, readinessProbe, livenessProbe, ...container }] = spec.containers;
    const name = `${workload.metadata.name}-${await findFreePort()}`;
    const ports = { http: await findFreePort(), metrics: await findFreePort() };
    const own = { HOST: '127.0.0.1', PORT: `${ports.http}`, METRICS_PORT: `${ports.metrics}` };
    const secrets = {
      DATABASE_URL: database.url,
      APP_SECRET: TEST_APP_SECRET,
      APP_AUTH_SECRET: TEST_APP_AUTH_SECRET,
      SMTP_URL: mail.url,
    };
    const { items } = spec.volumes[0].secret;
    const pod = {
      ...spec,
      restartPolicy: 'Never',
      hostNetwork: true,
      containers: [{ ...container, image, imagePullPolicy: 'Never', ports: [] }],
      volumes: [{ name: 'secrets', configMap: { name: `secrets-${name}`, items } }],
    };
    const documents = [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `secrets-${name}` }, data: secrets },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'settings' },
        data: { ...settings, ...own },
      },
      { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: pod },
    ];
    const file = join(work, `${name}.yaml`);
    await writeFile(file, documents.map((one) => JSON.stringify(one)).join('\n---\n'));
    onTestFinished(async () => {
      await podman('pod', 'rm', '--force', '--time=0', name);
      await podman('volume', 'rm', '--force', `secrets-${name}`);
    });
    await podman('kube', 'play', file);
    const probes = { ...container, startupProbe, readinessProbe, livenessProbe } as Container;
    return { container: `${name}-${container.name}`, graceS, probes, ports };
  }

  /** Also what it wrote to standard error. */
  function logsOf({ container }: Pod): Promise<string> {
    return run('sh', ['-c', 'exec podman logs "$0" 2>&1', container], { env: podmanSettings() });
  }

  async function ask(
    { ports }: Pod,
    path: string,
    port: string,
  ): Promise<{ status: number; text: string }> {
    const asking = async (): Promise<{ status: number; text: string } | null> =>
      fetch(`http://127.0.0.1:${ports[port]}${path}`).then(
        async (response) => ({ status: response.status, text: await response.text() }),
        () => null,
      );
    return until(asking);
  }

  /** Asks what the kubelet would ask. Resolves with the first of the probes that fails. */
  async function findSilentProbe(
    pod: Pod,
    names: readonly ('startupProbe' | 'readinessProbe' | 'livenessProbe')[],
  ): Promise<string | null> {
    for (const name of names) {
      const asked = pod.probes[name]?.httpGet;
      if (asked && (await ask(pod, asked.path, asked.port)).status >= 400) return name;
    }
    return null;
  }
});
