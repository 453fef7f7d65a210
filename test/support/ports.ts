import { createServer, type AddressInfo } from 'node:net';

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
