/**
 * Every connection of the service leads to a primary. A node in recovery (a standby, or a former
 * primary that a late route still names) answers reads, refuses writes, and gives away advisory
 * locks that no other node knows of.
 */
import { Socket } from 'node:net';
import { callbackify } from 'node:util';
import pg from 'pg';
import { standbyError } from '../errors.ts';
import type { Host } from '../database-url.ts';
import { applicationName } from './application-name.ts';
import { SESSION_OPTIONS } from './session-settings.ts';
import { createRoute, routeTo, type Route } from './route.ts';

/** How to connect. `connectionString` is DATABASE_URL. */
interface PrimaryConfig extends pg.ClientConfig {
  /** Shared by the connections of a pool, so that they know where the primary is. */
  readonly route?: Route;
}

/**
 * After this time a silent host is asked whether it still lives: then every second, ten times. TCP
 * by itself begins after two hours.
 */
const KEEP_ALIVE_DELAY_MS = 5_000;
/** How long one of several hosts may take to show whether it is the primary. */
const PROBE_TIMEOUT_MS = 1_500;

/**
 * A connection that `connect` refuses unless it leads to a primary. A class, because `pg.Pool`
 * makes its connections from one. It uses only what pg documents.
 */
export class PrimaryClient extends pg.Client {
  readonly #config: PrimaryConfig;
  readonly #route: Route;
  readonly #socket: Socket;

  constructor(config: PrimaryConfig = {}) {
    const route = config.route ?? createRoute(config.connectionString);
    // Our own socket, so that it can be broken.
    const socket = new Socket();
    super({
      application_name: applicationName(),
      options: SESSION_OPTIONS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
      ...config,
      connectionString: route.url,
      stream: () => socket,
    });
    this.#socket = socket;
    this.#config = config;
    this.#route = route;
    // Without a listener, the error of a broken connection would end the process. Its statements
    // reject anyway.
    this.on('error', () => undefined);
  }

  override connect(): Promise<this>;
  override connect(callback: (error: Error | null, client?: this) => void): void;
  override connect(
    callback?: (error: Error | null, client?: this) => void,
  ): Promise<this> | undefined {
    const connected = this.#connectToPrimary();
    if (!callback) return connected;
    callbackify(() => connected)(callback);
    return undefined;
  }

  async #connectToPrimary(): Promise<this> {
    const host = await this.#route.locate((one) => this.#probe(one));
    if (!host) return this.#connectToOne();
    // The pool has given up meanwhile.
    if (this.#socket.destroyed) throw new Error('timeout expired');
    Object.assign(this, host);
    this.on('error', () => this.#route.forget(host));
    try {
      return await this.#connectToOne();
    } catch (error) {
      this.#route.forget(host);
      throw error;
    }
  }

  /** Rejects unless the host is the primary. */
  async #probe(host: Host): Promise<void> {
    const client = new PrimaryClient({
      ...this.#config,
      route: routeTo(this.#route.url, host),
      connectionTimeoutMillis: PROBE_TIMEOUT_MS,
    });
    await client.connect();
    void client.end();
  }

  async #connectToOne(): Promise<this> {
    await super.connect();
    if (!(await this.#isInRecovery())) return this;
    void this.end();
    throw standbyError();
  }

  async #isInRecovery(): Promise<boolean> {
    const late = (): void => this.break(new Error('timeout expired'));
    const timer = setTimeout(late, this.#config.connectionTimeoutMillis ?? 10_000);
    try {
      const { rows } = await this.query<{ standby: boolean }>(
        'select pg_is_in_recovery() as standby',
      );
      return rows[0]?.standby === true;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Closes the connection at once. Its statements reject with the error. Give none where the
   * connection may not have begun: nobody listens for the socket's errors then.
   */
  break(error?: Error): void {
    this.#socket.destroy(error);
  }
}

/** Returns how the connections of a pool are made. They share what they know of the primary. */
export function poolToPrimary(databaseUrl: string): pg.PoolConfig {
  const route = createRoute(databaseUrl);
  const config = { Client: PrimaryClient, connectionString: databaseUrl, route };
  return config as pg.PoolConfig;
}

/** Closes a connection of such a pool at once. Its statements reject with the error. */
export function breakConnection(client: pg.ClientBase, error: Error): void {
  if (client instanceof PrimaryClient) client.break(error);
}
