import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { makeFolder } from './folder.ts';

/**
 * Below the ports that the system gives to outgoing connections and to servers that ask for any
 * port. Between this function and the start of a server, or while a server is away, one of those
 * would take the port. Processes begin at different places.
 */
const PORTS = { first: 12_000, count: 20_000 };
let next = Math.floor(Math.random() * PORTS.count);

/** Resolves with a port of 127.0.0.1 that is free. Returns none twice. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + next;
    next = (next + 1) % PORTS.count;
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
  const dataDir = await makeFolder(name);
  const connection = { port: await findFreePort(), password: name };
  await writeFile(join(dataDir, 'postgres.json'), JSON.stringify(connection));
  return dataDir;
}
