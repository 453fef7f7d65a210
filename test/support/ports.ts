import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { makeFolder } from './folder.ts';

/**
 * Below the ports that the system gives to outgoing connections and to servers that ask for any
 * port. Between this function and the start of a server, or while a server is away, one of those
 * would take the port.
 */
const FIRST = 12_000;
/** Each of Vitest's processes has ports of its own, and so has what runs outside of them. */
const SLICES = { count: 8, size: 2_500 };
const slice = Number(process.env['VITEST_POOL_ID'] ?? 0) % SLICES.count;
/** Other runs begin at other places. */
let next = Math.floor(Math.random() * SLICES.size);

/** Resolves with a port of 127.0.0.1 that is free. Returns none twice. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = FIRST + slice * SLICES.size + next;
    next = (next + 1) % SLICES.size;
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((done) => {
    probe.once('error', () => done(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => done(true)));
  });
}

/** Ports that `fetch` refuses, as browsers do. Nothing that tests start takes one by itself. */
const REFUSED_PORTS = [10_080, 6697, 6679, 6669, 6668, 6667, 6666, 6665, 6566, 5061, 5060, 4190];

/** Resolves with a free port of 127.0.0.1 to which `fetch` does not connect. */
export async function findRefusedPort(): Promise<number> {
  for (const port of REFUSED_PORTS) if (await isFree(port)) return port;
  throw new Error('no port that fetch refuses is free');
}

/** Makes a data folder for an embedded Postgres that stops and comes back on the same port. */
export async function makeDataDir(name: string): Promise<string> {
  const dataDir = await makeFolder(name);
  const connection = { port: await findFreePort(), password: name };
  await writeFile(join(dataDir, 'postgres.json'), JSON.stringify(connection));
  return dataDir;
}
