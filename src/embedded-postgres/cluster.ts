/** Creates the cluster (Postgres's word for its data folder) of the embedded Postgres. */
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spawnProgram, type ProgramUser } from './programs.ts';

export interface ClusterOptions {
  dataDir: string;
  /** The path of the program `initdb`. */
  initdb: string;
  user: ProgramUser | null;
  /** The password of the superuser `postgres`. */
  password: string;
  signal: AbortSignal | undefined;
}

/**
 * Returns the real path of the cluster, and creates it if there is none. First removes what an
 * interrupted attempt has left. A cluster is created under another name and then renamed, so
 * `<dataDir>/postgres` is complete or absent.
 */
export async function ensureCluster(options: ClusterOptions): Promise<string> {
  const { dataDir, user, password } = options;
  const cluster = join(dataDir, 'postgres');
  if (await stat(join(cluster, 'PG_VERSION')).catch(() => null)) return realpath(cluster);

  await removeLeftovers(dataDir);
  const suffix = `${process.pid}-${randomBytes(4).toString('hex')}`;
  const folder = join(dataDir, `postgres.init-${suffix}`);
  await mkdir(folder, { mode: 0o700 });
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user)
    await Promise.all([chown(folder, user.uid, user.gid), chown(passwordFile, user.uid, user.gid)]);

  await runInitdb(options, join(folder, 'data'), passwordFile);
  await rename(join(folder, 'data'), cluster);
  await rm(folder, { recursive: true, force: true });
  return realpath(cluster);
}

async function removeLeftovers(dataDir: string): Promise<void> {
  const leftovers = (await readdir(dataDir)).filter(
    (name) => name === 'postgres' || name.startsWith('postgres.init-'),
  );
  await Promise.all(
    leftovers.map((name) =>
      rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 5 }),
    ),
  );
}

/** These settings make initdb quick, and the cluster the same on every machine. */
const INITDB_FLAGS = [
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--locale=C',
  '--encoding=UTF8',
  '--auth=scram-sha-256',
  '--username=postgres',
  // One iteration is enough for a password of 192 random bits, and saves each new connection
  // milliseconds.
  '--set=scram_iterations=1',
  '--no-sync',
  '--no-instructions',
  '--no-data-checksums',
  '--set=timezone=UTC',
  '--set=log_timezone=UTC',
];

async function runInitdb(
  { initdb, user, signal }: ClusterOptions,
  folder: string,
  passwordFile: string,
): Promise<void> {
  const flags = [`--pgdata=${folder}`, `--pwfile=${passwordFile}`, ...INITDB_FLAGS];
  const child = spawnProgram(initdb, flags, {
    user,
    signal,
    // A half-made cluster is not worth keeping, and initdb delays every other signal until its
    // current step is done.
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errorOutput = '';
  child.stderr?.on('data', (chunk: Buffer) => (errorOutput += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`initdb failed: ${errorOutput.trim()}`);
}
