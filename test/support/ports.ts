import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Resolves with a port of 127.0.0.1 that was free a moment ago. */
export function findFreePort(): Promise<number> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}

/**
 * Resolves with a free port below those of outgoing connections, for a server that stops and starts
 * again. Otherwise a client that tries to connect meanwhile could take its port.
 */
export async function findLowPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const probe = createServer();
    const isFree = await new Promise<boolean>((done) => {
      probe.once('error', () => done(false));
      probe.listen(port, '127.0.0.1', () => probe.close(() => done(true)));
    });
    if (isFree) return port;
  }
}

/** Makes a data folder for an embedded Postgres that stops and comes back on the same port. */
export async function makeDataDir(name: string): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), `${name}-`));
  const connection = { port: await findLowPort(), password: name };
  await writeFile(join(dataDir, 'postgres.json'), JSON.stringify(connection));
  return dataDir;
}
