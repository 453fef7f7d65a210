/**
 * Every connection of the service leads to a primary. A node in recovery (a standby, or a former
 * primary that a late route still names) answers reads, refuses writes, and gives away advisory
 * locks that no other node knows of.
 */
import type { Duplex } from 'node:stream';
import { callbackify } from 'node:util';
import pg from 'pg';
import { standbyError } from './errors.ts';

/** What pg knows about a connection and does not declare in its types. */
interface Parts {
  readonly connection: {
    readonly stream: Duplex;
    on(event: 'parameterStatus', listener: (status: ParameterStatus) => void): void;
  };
}

interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/**
 * After this time a silent host is asked whether it still lives: then every second, ten times. TCP
 * by itself begins after two hours.
 */
const KEEP_ALIVE_DELAY_MS = 5_000;

/**
 * A connection that `connect` refuses unless it leads to a primary, and that breaks when its node
 * becomes a standby. A class, because `pg.Pool` makes its connections from one.
 *
 * Postgres reports `in_hot_standby` with the login, and whenever it changes, so a connection to a
 * primary costs no round trip more. Poolers report nothing, or what one of their connections was
 * told long ago: whoever is not told "off" asks.
 */
export class PrimaryClient extends pg.Client {
  readonly #timeoutMs: number;
  #inHotStandby = '';
  #isConnected = false;

  constructor(config: pg.ClientConfig = {}) {
    super({ keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS, ...config });
    this.#timeoutMs = config.connectionTimeoutMillis ?? 0;
    // Without a listener, the error of a broken connection would end the process. Its statements
    // reject anyway.
    this.on('error', () => undefined);
    partsOf(this).connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (parameterName !== 'in_hot_standby') return;
      this.#inHotStandby = parameterValue;
      if (this.#isConnected && parameterValue === 'on') this.break(standbyError());
    });
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
    await super.connect();
    if (this.#inHotStandby !== 'off' && (await this.#isInRecovery())) {
      void this.end();
      throw standbyError();
    }
    this.#isConnected = true;
    return this;
  }

  async #isInRecovery(): Promise<boolean> {
    const late = (): void => this.break(new Error('timeout expired'));
    const timer = this.#timeoutMs > 0 ? setTimeout(late, this.#timeoutMs) : undefined;
    try {
      const { rows } = await this.query<{ standby: boolean }>(
        'select pg_is_in_recovery() as standby',
      );
      return rows[0]?.standby === true;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes the connection at once. Its statements reject with the error. */
  break(error: Error): void {
    partsOf(this).connection.stream.destroy(error);
  }
}

function partsOf(client: pg.Client): Parts {
  return client as unknown as Parts;
}
