import type { Statement } from '../db/statement.ts';
import { isPooled } from '../db/wire/cancel.ts';
import { PrimaryClient } from '../db/wire/primary-client.ts';
import { SET_LOCALLY } from '../db/wire/session-settings.ts';

/** Asks the database, in a transaction that cannot write. */
export interface Ask {
  <Row>(sql: string): Promise<Row[]>;
  /** A declared statement, by its name. */
  prepared<Row>(statement: Statement<Row>): Promise<Row[]>;
  /** Whether the database has the extension. */
  isCitus(): Promise<boolean>;
  /** Asks plain Postgres, or every node of Citus. The statement has no parameters. */
  everywhere<Row>(sql: string): Promise<Answers<Row>>;
  /** Whether a pooler stands between. */
  readonly isPooled: boolean;
  /** How the connection is encrypted, as far as this process has decided it. */
  readonly tls: 'none' | 'unverified' | 'verified';
  /** The host that the connection leads to. A folder, if it is a socket of this machine. */
  readonly host: string;
}

/** What the nodes have answered. */
export interface Answers<Row> {
  /** `at`: " at HOST:PORT" of a node of Citus, else empty. */
  readonly rows: readonly (Row & { readonly at: string })[];
  /** The nodes that did not answer. */
  readonly silent: readonly string[];
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
    // A pooler may stand between.
    options: undefined,
  });
  const giveUp = (): void => client.break(new Error('timeout expired'));
  signal.addEventListener('abort', giveUp);
  try {
    await client.connect();
    await client.query('begin transaction read only');
    const limits = await client.query<{ pid: number }>(
      `select pg_backend_pid() as pid,
         ${SET_LOCALLY}, set_config('statement_timeout', '${STATEMENT_TIMEOUT_MS}', true),
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
  const find = async (): Promise<boolean> =>
    (await ask(`select from pg_extension where extname = 'citus'`)).length > 0;
  let found: Promise<boolean> | null = null;
  // A check may ask all nodes several times.
  const isCitus = (): Promise<boolean> => (found ??= find());
  return Object.assign(ask, {
    prepared: async <Row>({ name, text }: Statement<Row>) =>
      (await client.query({ name, text })).rows as Row[],
    isCitus,
    everywhere: async <Row>(sql: string) => {
      const nodes = (await isCitus()) ? await ask<NodeAnswer>(onAllNodes(sql)) : [];
      // A database with the extension and without nodes is asked like any other.
      if (nodes.length === 0) {
        const rows = await ask<Row>(sql);
        return { rows: rows.map((row) => ({ ...row, at: '' })), silent: [] };
      }
      return {
        rows: nodes
          .filter(({ success }) => success)
          .flatMap(({ node, result }) =>
            (JSON.parse(result) as Row[]).map((row) => ({ ...row, at: ` at ${node}` })),
          ),
        silent: nodes.filter(({ success }) => !success).map(({ node }) => node),
      };
    },
    isPooled: pooled,
    tls: tlsOf(client.ssl),
    host: client.host,
  });
}

interface NodeAnswer {
  readonly node: string;
  readonly success: boolean;
  readonly result: string;
}

/** SQL: the rows of a statement as JSON, from each node. */
function onAllNodes(sql: string): string {
  return `select nodename || ':' || nodeport as node, success, result
    from run_command_on_all_nodes($nodes$
      select coalesce(json_agg(answer), '[]') from (${sql}) answer
    $nodes$)
    join pg_dist_node using (nodeid)
    where noderole = 'primary'
    order by 1`;
}

/** `ssl` is what pg has made of DATABASE_URL: an object, true or false. */
function tlsOf(ssl: unknown): Ask['tls'] {
  if (!ssl) return 'none';
  const isLax = typeof ssl === 'object' && 'rejectUnauthorized' in ssl && !ssl.rejectUnauthorized;
  return isLax ? 'unverified' : 'verified';
}
