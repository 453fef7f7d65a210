import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as secure, type ConnectionOptions } from 'node:tls';
import type pg from 'pg';
import type { Clock } from '../../core/clock.ts';

const TIMEOUT_MS = 2_000;
/** The numbers that the protocol has in place of its version. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const CANCEL_REQUEST = 80_877_102;

/**
 * What the server told with the login. pg keeps it, and neither its documentation nor its types
 * say so: the only names of this room that are in neither.
 */
interface BackendKey {
  readonly processID: number | null;
  readonly secretKey: number | null;
}

function backendKeyOf(client: pg.ClientBase): BackendKey {
  return client as unknown as BackendKey;
}

/**
 * Whether a connection leads to a pooler, which tells a number of its own with the login.
 * `serverPid` is what the server says about itself. False where the login names no number.
 */
export function isPooled(client: pg.ClientBase, serverPid: number): boolean {
  return (backendKeyOf(client).processID ?? serverPid) !== serverPid;
}

/**
 * Asks the server, on a connection of its own, to end the statement that runs on the client's.
 * Resolves with whether it has acted. If it does not answer, false: a limit on the statement's time
 * ends it then, but the request may still hit a later statement of the connection.
 */
export async function cancelStatement(
  client: pg.Client,
  clock: Pick<Clock, 'after'>,
): Promise<boolean> {
  const { host, port, ssl } = client;
  const { processID, secretKey } = backendKeyOf(client);
  if (processID === null || secretKey === null) return true;
  const late = new AbortController();
  const stopTimer = clock.after(TIMEOUT_MS, () => late.abort());
  const place = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
  const socket = connect(place).on('error', () => undefined);
  try {
    await once(socket, 'connect', late);
    const stream = ssl ? await encrypt(socket, { host, ...Object(ssl) }, late) : socket;
    stream.write(cancelRequest(processID, secretKey));
    // The server answers by closing.
    await once(stream.resume(), 'close', late);
    return true;
  } catch {
    return false;
  } finally {
    stopTimer();
    socket.destroy();
  }
}

async function encrypt(
  socket: Socket,
  options: ConnectionOptions & { readonly host: string },
  late: { readonly signal: AbortSignal },
): Promise<Socket> {
  socket.write(SSL_REQUEST);
  const [answer] = (await once(socket, 'data', late)) as [Buffer];
  if (answer.toString() !== 'S') throw new Error('the server does not support TLS');
  const servername = isIP(options.host) ? undefined : options.host;
  const stream = secure({ socket, ...(servername && { servername }), ...options });
  stream.on('error', () => undefined);
  await once(stream, 'secureConnect', late);
  return stream;
}

function cancelRequest(processId: number, secretKey: number): Buffer {
  const message = Buffer.alloc(16);
  for (const [place, word] of [16, CANCEL_REQUEST, processId, secretKey].entries())
    message.writeInt32BE(word, place * 4);
  return message;
}
