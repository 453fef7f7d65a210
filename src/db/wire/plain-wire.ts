/**
 * Sends statements with nothing but what pg documents: each is sent when the one before it on the
 * connection was answered. So it takes a round trip for each, and pg reads the rows.
 */
import pg from 'pg';
import { areDeclared, changedColumns } from './declared-columns.ts';
import { poolToPrimary, PrimaryClient } from './primary-client.ts';
import { asText } from './types.ts';
import { isLostStatement, skip, type OnEnd, type Outgoing, type Wire } from './wire.ts';

const CANCEL_TIMEOUT_MS = 2_000;

export const plainWire: Wire = {
  openPool: ({ url, config, onLostStatement }) => {
    const pool = new pg.Pool({ ...poolToPrimary(url), ...config });
    pool.on('connect', (client) => lostBy.set(client, onLostStatement));
    return pool;
  },
  // A session without the limits that it was opened with is a pooler's, whose process changes.
  welcome: (client, { pid, hasLimits }) => {
    if (hasLimits) pids.set(client, pid);
    return !hasLimits;
  },
  prepare: ({ name, text }, values, onEnd, isRead = true) => {
    const config = { text, values: toSendable(values), ...(name !== undefined && { name }) };
    const query = new PlainQuery(isRead ? config : { ...config, types: UNREAD }, onEnd);
    query.hasDeclaredColumns = isRead && name !== undefined;
    return query;
  },
  fromConfig: (config, onEnd) =>
    new PlainQuery({ ...config, values: toSendable(config.values ?? []) }, onEnd),
  send: (client, queries) => enqueue(client, () => runAll(client, own(queries))),
  sendAlone: (client, limits, query) =>
    enqueue(client, () =>
      limits.length === 0
        ? runAll(client, own([query]))
        : runInTransaction(client, own(limits), query as PlainQuery),
    ),
  cancel: async (client, clock) => {
    const pid = pids.get(client);
    if (pid === undefined || !(client instanceof PrimaryClient)) return true;
    const other = client.copy();
    const stopTimer = clock.after(CANCEL_TIMEOUT_MS, () => other.break());
    try {
      await other.connect();
      await other.query('select pg_cancel_backend($1)', [pid]);
      return true;
    } catch {
      return false;
    } finally {
      stopTimer();
      other.break();
    }
  },
};

/** Whom to tell when the server has lost a prepared statement of the connection. */
const lostBy = new WeakMap<pg.ClientBase, () => void>();
/** The server's process of each connection, unless a pooler may change it. */
const pids = new WeakMap<pg.ClientBase, number>();
/** Ends with the last statement that was given to the connection. */
const tails = new WeakMap<pg.ClientBase, Promise<unknown>>();

/** Runs the work behind what was given to the connection before. The work never rejects. */
function enqueue(client: pg.ClientBase, work: () => Promise<unknown>): void {
  tails.set(client, (tails.get(client) ?? Promise.resolve(null)).then(work));
}

/** How a statement has ended. */
type Outcome =
  | { readonly error: null; readonly result: pg.QueryResult }
  | { readonly error: Error };

class PlainQuery implements Outgoing {
  sentAt = 0;
  readonly bytes = 0;
  hasDeclaredColumns = false;
  readonly #config: pg.QueryConfig;
  readonly #onEnd: OnEnd;

  constructor(config: pg.QueryConfig, onEnd: OnEnd) {
    this.#config = config;
    this.#onEnd = onEnd;
  }

  /** Executes it. `end` tells how it ended. */
  async run(client: pg.ClientBase): Promise<Outcome> {
    this.sentAt = performance.now();
    try {
      const result = await client.query(this.#config);
      const { name } = this.#config;
      if (this.hasDeclaredColumns && name !== undefined) {
        const columns = JSON.stringify(result.fields.map((field) => field.name));
        if (!areDeclared(name, columns)) return { error: changedColumns(name) };
      }
      return { error: null, result };
    } catch (error) {
      if (isLostStatement(error as Error)) lostBy.get(client)?.();
      return { error: error as Error };
    }
  }

  end(outcome: Outcome): void {
    if (outcome.error) this.fail(outcome.error);
    else this.#onEnd(null, outcome.result);
  }

  fail(error: Error): void {
    this.#onEnd(error, undefined as unknown as pg.QueryResult);
  }
}

/** Whether the server refused it. For an unreadable row or a broken connection it did not. */
function isRefused({ error }: Outcome): boolean {
  return error instanceof pg.DatabaseError;
}

/** Runs them one after the other, until the server refuses one. Returns its error. */
async function runAll(
  client: pg.ClientBase,
  queries: readonly PlainQuery[],
): Promise<Error | null> {
  for (const [place, query] of queries.entries()) {
    const outcome = await query.run(client);
    query.end(outcome);
    if (!outcome.error || !isRefused(outcome)) continue;
    skip(queries.slice(place + 1), outcome.error);
    return outcome.error;
  }
  return null;
}

/** Runs a single statement in a transaction with its limits. It succeeds if the commit does. */
async function runInTransaction(
  client: pg.ClientBase,
  limits: readonly PlainQuery[],
  query: PlainQuery,
): Promise<void> {
  const refusal = await runAll(client, [make('begin'), ...limits]);
  if (refusal) {
    await make('rollback').run(client);
    return skip([query], refusal);
  }
  const outcome = await query.run(client);
  const ended = await make(isRefused(outcome) ? 'rollback' : 'commit').run(client);
  query.end(outcome.error ? outcome : ended.error ? ended : outcome);
}

/** Makes a statement whose end nobody needs to hear of. */
function make(text: string): PlainQuery {
  return new PlainQuery({ text }, () => undefined);
}

/** They are all made above. */
function own(queries: readonly Outgoing[]): readonly PlainQuery[] {
  return queries as readonly PlainQuery[];
}

/** Reads no value of a row. */
const UNREAD = { getTypeParser: () => asText } as unknown as pg.CustomTypesConfig;

/**
 * Makes the text of each object, as pg would while it sends. Throws where that is not possible: by
 * then pg would have sent a part of the statement.
 */
function toSendable(values: readonly unknown[]): unknown[] {
  return values.map((value) => {
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof Date || ArrayBuffer.isView(value)) return value;
    const text = JSON.stringify(value);
    return Array.isArray(value) ? value : text;
  });
}
