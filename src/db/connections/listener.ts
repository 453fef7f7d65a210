import pg from 'pg';
import { systemClock, type Clock } from '../../core/clock.ts';
import { PrimaryClient } from '../wire/primary-client.ts';

/** Listens to channels of the database's NOTIFY. */
export interface Listener {
  /** Ends at once, whatever the server does. */
  close(): Promise<void>;
}

export interface ListenerOptions {
  readonly databaseUrl: string;
  /**
   * Channel → what to do with a message. Also called, with an empty one, when listening begins and
   * when it begins again after the connection broke.
   */
  readonly channels: Readonly<Record<string, (payload: string) => void>>;
  /** Called when the connection could not be made or broke. The listener tries again. */
  readonly onError: (error: Error) => void;
  readonly clock?: Pick<Clock, 'wait'>;
}

const CONNECT_TIMEOUT_MS = 2_000;
const RETRY_MS = 1_000;

/**
 * Listens on a connection of its own until `close`. Never rejects: without a database it tries
 * again. A message that was sent meanwhile is lost, so the caller must also poll. Needs a direct
 * connection, because PgBouncer's transaction mode does not keep a session.
 */
export function startListener({
  databaseUrl,
  channels,
  onError,
  clock = systemClock,
}: ListenerOptions): Listener {
  const closing = new AbortController();
  const { signal } = closing;
  const listen = async (): Promise<void> => {
    while (!signal.aborted) {
      await listenOnce(databaseUrl, channels, signal).catch((error: Error) => onError(error));
      await clock.wait(RETRY_MS, signal);
    }
  };
  const listening = listen();
  return {
    close: async () => {
      closing.abort();
      await listening;
    },
  };
}

/** Resolves at once after `signal`. Rejects when the connection breaks. */
async function listenOnce(
  databaseUrl: string,
  channels: ListenerOptions['channels'],
  signal: AbortSignal,
): Promise<void> {
  const client = new PrimaryClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
  });
  let stop = (): void => undefined;
  const ended = new Promise<void>((resolve, reject) => {
    stop = resolve;
    client.on('error', reject);
    client.on('end', () => reject(new Error('the connection of the listener ended')));
  });
  signal.addEventListener('abort', stop);
  client.on('notification', ({ channel, payload }) => channels[channel]?.(payload ?? ''));
  const listening = subscribe(client, channels, signal);
  try {
    await Promise.race([ended, listening.then(() => ended)]);
  } finally {
    signal.removeEventListener('abort', stop);
    // Not `end`, which waits until the server has closed its side, too.
    client.break();
  }
}

async function subscribe(
  client: PrimaryClient,
  channels: ListenerOptions['channels'],
  signal: AbortSignal,
): Promise<void> {
  await client.connect();
  const names = Object.keys(channels);
  // The search for the primary may have gone on after the end.
  if (signal.aborted) return client.break();
  await client.query(names.map((name) => `listen ${pg.escapeIdentifier(name)}`).join('; '));
  for (const wake of Object.values(channels)) wake('');
}
