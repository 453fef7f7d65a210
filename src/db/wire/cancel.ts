import pg from 'pg';

/** What pg knows about a connection and does not declare in its types. */
interface Cancellable {
  readonly host: string;
  readonly port: number;
  readonly ssl: pg.ConnectionConfig['ssl'];
  readonly processID: number;
  readonly secretKey: number;
}

/** What pg's connections can do and does not declare in its types. */
interface Canceller extends pg.Connection {
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
}

/** Watches whether the caller of a connection's work hangs up. */
export interface HangUp {
  /** Ends the watch. After it has resolved, the connection can be given to somebody else. */
  settle(): Promise<void> | undefined;
}

const TIMEOUT_MS = 2_000;

/** Cancels what runs on the connection when the caller hangs up. null: nobody can hang up. */
export function cancelOnHangUp(
  client: pg.PoolClient,
  signal: AbortSignal | undefined,
): HangUp | null {
  if (!signal) return null;
  let cancelling: Promise<void> | undefined;
  const cancel = (): void => {
    cancelling = cancelStatement(client);
  };
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel);
  return {
    settle: () => {
      signal.removeEventListener('abort', cancel);
      return cancelling;
    },
  };
}

/**
 * Asks the server to end the statement that runs on the connection, on a connection of its own, as
 * the protocol wants it. Resolves when the server has acted on it, or cannot be reached: a limit on
 * the statement's time ends it then. Before that, it could still hit a later statement of the
 * connection.
 */
function cancelStatement(client: pg.PoolClient): Promise<void> {
  const { host, port, ssl, processID, secretKey } = client as unknown as Cancellable;
  const connection = new pg.Connection({ ssl }) as Canceller;
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
