import type pg from 'pg';
import { isConnectionBroken } from '../errors.ts';

/** Connections that carry the single statements of many requests, in pipeline mode. */
export interface SharedConnections {
  /** Runs `work` on the connection with the fewest statements in flight. */
  run<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T>;
  /** Closes the connections. Call it after the last statement. */
  close(): Promise<void>;
}

interface SharedConnection {
  readonly client: Promise<pg.PoolClient>;
  statements: number;
  state: 'open' | 'broken' | 'released';
}

/**
 * Opens `count` shared connections, each when it is first needed. They are kept: when everything
 * else is busy, these are what the service still answers with. A few warm sessions serve more
 * statements than many cold ones. Statements on a connection wait for those before them, so only
 * short ones may come here. A broken connection gets no more statements and is discarded.
 */
export function openSharedConnections(
  connect: () => Promise<pg.PoolClient>,
  count: number,
): SharedConnections {
  const connections: (SharedConnection | null)[] = Array.from({ length: count }, () => null);
  const leastBusy = (): number => {
    let best = 0;
    for (let index = 1; index < count; index++)
      if (loadOf(connections[index]) < loadOf(connections[best])) best = index;
    return best;
  };
  /** Discards a broken connection, after its last statement. */
  const discard = (index: number, session: SharedConnection): void => {
    if (connections[index] === session) connections[index] = null;
    if (session.statements > 0 || session.state === 'released') return;
    session.state = 'released';
    // If there was no connection, the statement has rejected already.
    session.client.then((client) => client.release(true)).catch(() => undefined);
  };
  const open = (index: number): SharedConnection => {
    const session: SharedConnection = { client: connect(), statements: 0, state: 'open' };
    connections[index] = session;
    // It may break while it is idle, or while a large answer that has come waits for its turn.
    const end = (): void => {
      if (session.state === 'open') session.state = 'broken';
      discard(index, session);
    };
    session.client.then((client) => client.once('end', end)).catch(end);
    return session;
  };
  return {
    run: async (work) => {
      const index = leastBusy();
      const session = connections[index] ?? open(index);
      session.statements += 1;
      try {
        return await work(await session.client);
      } catch (error) {
        if (session.state === 'open' && isConnectionBroken(error)) session.state = 'broken';
        throw error;
      } finally {
        session.statements -= 1;
        if (session.state === 'broken') discard(index, session);
      }
    },
    close: async () => {
      const held = connections.splice(0).filter((session) => session !== null);
      await Promise.all(
        held.map(async (session) => {
          session.state = 'released';
          // There may have been no connection.
          await session.client.then((client) => client.release(true)).catch(() => undefined);
        }),
      );
    },
  };
}

/** Shared connections for each node of a distributed database, and for what has no node. */
export interface NodeConnections {
  run<T>(node: string | null, work: (client: pg.PoolClient) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * Opens shared connections that lead to the same database, but carry only the statements for one
 * node. A node needs one; `count` are for the statements without a node.
 */
export function openNodeConnections(
  { connect, grow }: { readonly connect: () => Promise<pg.PoolClient>; readonly grow: () => void },
  count: number,
): NodeConnections {
  const lines = new Map([[null as string | null, openSharedConnections(connect, count)]]);
  const open = (node: string | null): SharedConnections => {
    grow();
    const line = openSharedConnections(connect, 1);
    lines.set(node, line);
    return line;
  };
  return {
    run: (node, work) => (lines.get(node) ?? open(node)).run(work),
    close: async () => {
      await Promise.all([...lines.values()].map((line) => line.close()));
    },
  };
}

function loadOf(session: SharedConnection | null | undefined): number {
  return session?.statements ?? 0;
}
