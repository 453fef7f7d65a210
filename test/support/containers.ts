// Builds the image of scripts/deploy/Dockerfile and runs it, with buildah, podman and runc of
// Debian's packages. No registry of images is needed: `mmdebstrap` makes the base from Debian's
// packages, as Debian's own image is made, and the build's base adds this Node and npm to it.
import { copyFile, cp, writeFile } from 'node:fs/promises';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './debian.ts';
import { makeFolder } from './folder.ts';

/** What {@link buildImage} and {@link podman} need. */
export const CONTAINER_TOOLS = ['buildah', 'podman', 'runc', 'mmdebstrap', 'iptables'] as const;

const root = fileURLToPath(new URL('../..', import.meta.url));
const REPOSITORY = 'localhost/team-customer-api-test';
/** Held by what builds or removes images. Layers that a build has found may not be removed. */
const LOCK = join(tmpdir(), 'customer-api-images.lock');
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** The left out files are left out of Debian's slim image, too. */
const LEFT_OUT = ['doc', 'man', 'info', 'locale'].map(
  (folder) => `--dpkgopt=path-exclude=/usr/share/${folder}/*`,
);

/**
 * Builds the image from the working tree and resolves with its name. Layers are kept, so that a
 * second build takes seconds. The name belongs to this process.
 */
export async function buildImage(): Promise<string> {
  // Node needs the C++ library.
  const base = await makeBase('bookworm', ['passwd', 'libstdc++6']);
  const buildBase = await buildBaseImage(base);
  const name = `${REPOSITORY}/service:${process.pid}`;
  const deploy = join(root, 'scripts/deploy');
  const cache = await run('npm', ['config', 'get', 'cache']);
  await runAlone(
    'buildah',
    [
      ['build', '--layers', '--isolation=chroot', '--format=docker'],
      ['--ignorefile', join(deploy, 'Dockerfile.dockerignore')],
      existsSync(cache) ? ['--volume', `${cache}:/npm`] : [],
      ['--build-arg', `BASE=${base}`, '--build-arg', `BUILD_BASE=${buildBase}`],
      ['--file', join(deploy, 'Dockerfile'), '--tag', name, root],
    ].flat(),
  );
  return name;
}

/** Removes an image that {@link buildImage} has built. Layers of other images stay. */
export async function removeImage(name: string): Promise<void> {
  await runAlone('podman', ['rmi', '--force', name]);
}

/** Runs a program while no other process on this machine builds or removes an image. */
function runAlone(program: string, args: readonly string[]): Promise<string> {
  return run('flock', [LOCK, program, ...args], { env: podmanSettings() });
}

/** Runs podman, which must not need systemd nor rights that a container of CI lacks. */
export function podman(...args: string[]): Promise<string> {
  return run('podman', args, { env: podmanSettings() });
}

/** The environment of programs that run podman. */
export function podmanSettings(): { readonly CONTAINERS_CONF: string } {
  const hooks = join(tmpdir(), 'customer-api-hooks');
  mkdirSync(hooks, { recursive: true });
  writeFileSync(join(hooks, 'limits.json'), JSON.stringify(NO_LIMITS));
  const file = join(hooks, 'containers.conf');
  writeFileSync(
    file,
    '[containers]\ndefault_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]\n' +
      `[engine]\nruntime = "runc"\nevents_logger = "file"\nhooks_dir = ["${hooks}"]\n`,
  );
  return { CONTAINERS_CONF: file };
}

/**
 * A hook that takes the limits of open files and processes out of a container. `kube play` does not
 * heed the default: it sets them as high as root may, which a container of CI may not.
 */
const NO_LIMITS = {
  version: '1.0.0',
  hook: { path: '/bin/sed', args: ['sed', String.raw`s/"rlimits":\[[^]]*\]/"rlimits":[]/`] },
  when: { always: true },
  stages: ['precreate'],
};

async function exists(image: string): Promise<boolean> {
  return podman('image', 'exists', image).then(
    () => true,
    () => false,
  );
}

/** Makes an image of Debian's essential packages and these, once per machine. */
async function makeBase(release: string, packages: readonly string[]): Promise<string> {
  const name = `${REPOSITORY}/debian:${[release, ...packages].join('-').replaceAll('+', 'p')}`;
  if (await exists(name)) return name;
  const folder = await makeFolder('debian-base');
  const archive = join(folder, 'base.tar');
  const include = ['--variant=essential', `--include=${packages.join(',')}`];
  const plain = ['--aptopt=APT::Install-Recommends "false"', ...LEFT_OUT];
  await run('mmdebstrap', [...include, ...plain, release, archive]);
  await podman('import', '--quiet', archive, name);
  return name;
}

/** The base with this machine's npm, and with the certificates that it trusts. */
async function buildBaseImage(base: string): Promise<string> {
  const name = `${REPOSITORY}/node:${process.versions.node}`;
  if (await exists(name)) return name;
  const folder = await makeFolder('node-base');
  const npm = join(await run('npm', ['root', '--global']), 'npm');
  await copyFile(process.execPath, join(folder, 'node'));
  await cp(npm, join(folder, 'npm'), { recursive: true });
  await copyFile(CERTIFICATES, join(folder, 'certificates.crt'));
  await writeFile(join(folder, 'Dockerfile'), await buildBaseFile(base));
  await runAlone('buildah', ['build', '--isolation=chroot', '--tag', name, folder]);
  return name;
}

async function buildBaseFile(base: string): Promise<string> {
  const registry = await run('npm', ['config', 'get', 'registry']);
  return [
    `FROM ${base}`,
    'COPY node /usr/local/bin/node',
    'COPY npm /usr/local/lib/node_modules/npm',
    `COPY certificates.crt ${CERTIFICATES}`,
    'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
    `ENV npm_config_cafile=${CERTIFICATES} npm_config_cache=/npm npm_config_registry=${registry}`,
    '',
  ].join('\n');
}

/** What of Debian's packages stands for an image of compose.yaml, which no registry gives here. */
const STAND_INS = {
  postgres: [
    'COPY postgres-entry /usr/local/bin/',
    'ENV PATH=/usr/lib/postgresql/17/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'ENTRYPOINT ["postgres-entry"]',
  ],
  pgbouncer: ['USER postgres'],
  nginx: [],
  prometheus: ['ENTRYPOINT ["prometheus"]'],
} as const;

/** As the entry point of Docker's image: makes a user and a database, then runs the command. */
const POSTGRES_ENTRY = `#!/bin/sh
set -eu
data=/var/lib/postgresql/data
as="setpriv --reuid postgres --regid postgres --clear-groups"
chown postgres "$data"
if [ ! -s "$data/PG_VERSION" ]; then
  echo "$POSTGRES_PASSWORD" >/tmp/password && chmod 644 /tmp/password
  $as initdb -D "$data" -U "$POSTGRES_USER" --auth=scram-sha-256 --pwfile=/tmp/password --no-sync
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  echo "create database $POSTGRES_DB" | $as postgres --single -D "$data" postgres
fi
exec $as "$@" -D "$data" -c listen_addresses='*' -c unix_socket_directories=/tmp
`;

/** Builds the images that stand for others. Resolves with a name for each. */
export async function standInImages(): Promise<Record<keyof typeof STAND_INS, string>> {
  const base = await makeBase('trixie', [
    'postgresql-17',
    'pgbouncer',
    'nginx-light',
    'curl',
    'prometheus',
  ]);
  const folder = await makeFolder('stand-ins');
  await writeFile(join(folder, 'postgres-entry'), POSTGRES_ENTRY, { mode: 0o755 });
  const name = (service: string): string => `${REPOSITORY}/${service}:trixie`;
  for (const [service, lines] of Object.entries(STAND_INS)) {
    await writeFile(join(folder, 'Dockerfile'), [`FROM ${base}`, ...lines, ''].join('\n'));
    const build = ['build', '--layers', '--isolation=chroot', '--tag', name(service), folder];
    await runAlone('buildah', build);
  }
  return {
    postgres: name('postgres'),
    pgbouncer: name('pgbouncer'),
    nginx: name('nginx'),
    prometheus: name('prometheus'),
  };
}
