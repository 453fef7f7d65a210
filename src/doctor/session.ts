import type { Statement } from '../db/statement.ts';
import { isPooled } from '../db/wire/pooled.ts';
import { PrimaryClient } from '../db/wire/primary-client.ts';

/** Asks the database, in a transaction that cannot write. */
export interface Ask {
  <Row>(sql: string): Promise<Row[]>;
  /** A declared statement, by its name. */
  prepared<Row>(statement: Statement<Row>): Promise<Row[]>;
  /** Whether the database has the extension. */
  isCitus(): Promise<boolean>;
  /** Whether a pooler stands between. */
  readonly isPooled: boolean;
  /** How the connection is encrypted, as far as this process has decided it. */
  readonly tls: 'none' | 'unverified' | 'verified';
  /** The host that the connection leads to. A folder, if it is a socket of this machine. */
  readonly host: string;
}

export interface SessionOptions {
  readonly databaseUrl: string;
  /** Breaks the connection when it aborts. */
  readonly signal: AbortSignal;
}

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 8_000;

/**
 * Runs `work` on a connection of its own. It cannot write, waits for no lock for long, and no
 * statement takes longer than eight seconds. Settings are those of the transaction, so that it
 * works behind a pooler, too.
 */
export async function inspect<T>(
  { databaseUrl, signal }: SessionOptions,
  work: (ask: Ask) => Promise<T>,
): Promise<T> {
  const client = new PrimaryClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'doctor',
  });
  const giveUp = (): void => client.break(new Error('timeout expired'));
  signal.addEventListener('abort', giveUp);
  try {
    await client.connect();
    await client.query('begin transaction read only');
    const limits = await client.query<{ pid: number }>(
      `select pg_backend_pid() as pid,
         set_config('statement_timeout', '${STATEMENT_TIMEOUT_MS}', true),
         set_config('lock_timeout', '1000', true)`,
    );
    const result = await work(askOn(client, isPooled(client, limits.rows[0]?.pid ?? 0)));
    await client.query('rollback');
    return result;
  } finally {
    signal.removeEventListener('abort', giveUp);
    client.break();
  }
}

function askOn(client: PrimaryClient, pooled: boolean): Ask {
  const ask = async <Row>(sql: string): Promise<Row[]> => (await client.query(sql)).rows as Row[];
  return Object.assign(ask, {
    prepared: async <Row>({ name, text }: Statement<Row>) =>
      (await client.query({ name, text })).rows as Row[],
    isCitus: async () => (await ask(`select from pg_extension where extname = 'citus'`)).length > 0,
    isPooled: pooled,
    tls: tlsOf(client.ssl),
    host: client.host,
  });
}

/** `ssl` is what pg has made of DATABASE_URL: an object, true or false. */
function tlsOf(ssl: unknown): Ask['tls'] {
  if (!ssl) return 'none';
  const isLax = typeof ssl === 'object' && 'rejectUnauthorized' in ssl && !ssl.rejectUnauthorized;
  return isLax ? 'unverified' : 'verified';
}
