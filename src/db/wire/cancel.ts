import type pg from 'pg';
import type { Clock } from '../../core/clock.ts';
import { createCancelConnection, partsOf } from './undocumented.ts';

const TIMEOUT_MS = 2_000;

/** Cancels as the protocol wants it, on a connection of its own (`Wire.cancel`). */
export function cancelStatement(
  client: pg.ClientBase,
  clock: Pick<Clock, 'after'>,
): Promise<boolean> {
  const { host, port, ssl } = client as pg.Client;
  const { processID, secretKey } = partsOf(client);
  if (processID === null || secretKey === null) return Promise.resolve(true);
  const connection = createCancelConnection(ssl);
  return new Promise((resolve) => {
    let hasActed = true;
    const giveUp = (): void => void connection.stream.destroy(new Error('no answer'));
    const stopTimer = clock.after(TIMEOUT_MS, giveUp);
    const send = (): void => connection.cancel(processID, secretKey);
    connection.on('connect', ssl ? () => connection.requestSsl() : send);
    connection.on('sslconnect', send);
    // Its end follows.
    connection.on('error', () => {
      hasActed = false;
    });
    connection.on('end', () => {
      stopTimer();
      resolve(hasActed);
    });
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
    else connection.connect(port, host);
  });
}
