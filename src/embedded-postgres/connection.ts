/** The port and the password of the embedded Postgres, which are kept in postgres.json. */
import { randomBytes, randomInt } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';

/** How to connect to the server on 127.0.0.1 as its superuser `postgres`. */
export interface ConnectionSettings {
  port: number;
  password: string;
}

/** Reads postgres.json. Writes it with a free port and a new password if there is none. */
export async function readConnection(dataDir: string): Promise<ConnectionSettings> {
  const text = await readFile(join(dataDir, 'postgres.json'), 'utf8').catch(() => null);
  if (text !== null) {
    const { port, password } = JSON.parse(text) as Partial<ConnectionSettings>;
    if (typeof port === 'number' && typeof password === 'string') return { port, password };
  }
  const connection = {
    port: await findFreePort(),
    password: randomBytes(24).toString('base64url'),
  };
  await writeConnection(dataDir, connection);
  return connection;
}

/** Returns the settings with a free port, and remembers the port if it is a new one. */
export async function ensureFreePort(
  dataDir: string,
  connection: ConnectionSettings,
): Promise<ConnectionSettings> {
  if ((await tryPort(connection.port)) !== null) return connection;
  const moved = { ...connection, port: await findFreePort() };
  await writeConnection(dataDir, moved);
  return moved;
}

/** Returns the `DATABASE_URL` of the server. */
export function urlOf({ port, password }: ConnectionSettings): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

/** Writes a second file and renames it, so that a kill never leaves half a password. */
async function writeConnection(dataDir: string, connection: ConnectionSettings): Promise<void> {
  const file = join(dataDir, 'postgres.json');
  await writeFile(`${file}.new`, `${JSON.stringify(connection)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Systems give the ports above these to outgoing connections. */
const LOW_PORTS = { first: 20_000, end: 32_000 };
const LOW_TRIES = 20;

/**
 * Returns a free port. Prefers one that no outgoing connection gets: the server keeps its port from
 * start to start, and could not have it back.
 */
async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < LOW_TRIES; tries += 1) {
    const port = await tryPort(randomInt(LOW_PORTS.first, LOW_PORTS.end));
    if (port !== null) return port;
  }
  const port = await tryPort(0);
  if (port === null) throw new Error('This machine has no free port on 127.0.0.1.');
  return port;
}

/** Listens on the port for a moment. Returns the port, or null if it is in use. 0: any port. */
async function tryPort(port: number): Promise<number | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : null));
    });
  });
}
