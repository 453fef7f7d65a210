import type pg from 'pg';
import { createCancelConnection, partsOf } from './undocumented.ts';

const TIMEOUT_MS = 2_000;

/** Cancels as the protocol wants it, on a connection of its own (`Wire.cancel`). */
export function cancelStatement(client: pg.ClientBase): Promise<void> {
  const { host, port, ssl } = client as pg.Client;
  const { processID, secretKey } = partsOf(client);
  if (processID === null || secretKey === null) return Promise.resolve();
  const connection = createCancelConnection(ssl);
  return new Promise((resolve) => {
    const timer = setTimeout(() => connection.stream.destroy(), TIMEOUT_MS);
    const send = (): void => connection.cancel(processID, secretKey);
    connection.on('connect', ssl ? () => connection.requestSsl() : send);
    connection.on('sslconnect', send);
    // Its end follows.
    connection.on('error', () => undefined);
    connection.on('end', () => {
      clearTimeout(timer);
      resolve();
    });
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
    else connection.connect(port, host);
  });
}
