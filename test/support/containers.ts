// Builds the image of scripts/deploy/Dockerfile and runs it, with buildah, podman and runc of
// Debian's packages. No registry of images is needed: `mmdebstrap` makes the base from Debian's
// packages, as Debian's own image is made, and the build's base adds this Node and npm to it.
import { copyFile, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './debian.ts';

/** What {@link buildImage} and {@link podman} need. */
export const CONTAINER_TOOLS = ['buildah', 'podman', 'runc', 'mmdebstrap', 'iptables'] as const;

const root = fileURLToPath(new URL('../..', import.meta.url));
const REPOSITORY = 'localhost/team-customer-api-test';
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
  const base = await baseImage();
  const buildBase = await buildBaseImage(base);
  const name = `${REPOSITORY}/service:${process.pid}`;
  const deploy = join(root, 'scripts/deploy');
  const cache = await run('npm', ['config', 'get', 'cache']);
  await run(
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

/** Runs podman, which must not need systemd nor rights that a container of CI lacks. */
export function podman(...args: string[]): Promise<string> {
  const file = join(tmpdir(), 'customer-api-containers.conf');
  writeFileSync(
    file,
    '[containers]\ndefault_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]\n' +
      '[engine]\nruntime = "runc"\nevents_logger = "file"\n',
  );
  return run('podman', args, { env: { CONTAINERS_CONF: file } });
}

async function exists(image: string): Promise<boolean> {
  return podman('image', 'exists', image).then(
    () => true,
    () => false,
  );
}

/** Debian's essential packages and the C++ library, which Node needs. Made once per machine. */
export async function baseImage(): Promise<string> {
  const name = `${REPOSITORY}/debian:bookworm`;
  if (await exists(name)) return name;
  const folder = await mkdtemp(join(tmpdir(), 'debian-base-'));
  try {
    const archive = join(folder, 'base.tar');
    const packages = ['--variant=essential', '--include=passwd,libstdc++6'];
    const plain = ['--aptopt=APT::Install-Recommends "false"', ...LEFT_OUT];
    await run('mmdebstrap', [...packages, ...plain, 'bookworm', archive]);
    await podman('import', '--quiet', archive, name);
    return name;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The base with this machine's npm, and with the certificates that it trusts. */
async function buildBaseImage(base: string): Promise<string> {
  const name = `${REPOSITORY}/node:${process.versions.node}`;
  if (await exists(name)) return name;
  const folder = await mkdtemp(join(tmpdir(), 'node-base-'));
  try {
    const npm = join(await run('npm', ['root', '--global']), 'npm');
    await copyFile(process.execPath, join(folder, 'node'));
    await cp(npm, join(folder, 'npm'), { recursive: true });
    await copyFile(CERTIFICATES, join(folder, 'certificates.crt'));
    await writeFile(join(folder, 'Dockerfile'), await buildBaseFile(base));
    await run('buildah', ['build', '--isolation=chroot', '--tag', name, folder]);
    return name;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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
