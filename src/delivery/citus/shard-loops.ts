/**
 * The delivery loops of one worker on a distributed database: one for each shard, because all rows
 * of a team are in one shard. So each statement stays within one node, and a node that is away
 * stops its own loops only. The loops share the worker's limits and its number.
 *
 *  * Which shards there are, and at which nodes, the coordinator is asked each second. Where a
 *    shard goes, its loop ends; where it comes, one begins. What the old loop has in hand it
 *    attempts and records: a claim goes with its row, and Citus finds the row by the team.
 *  * A node is asked for the work of all its shards at once, twice a second and at each wake-up.
 *    Only the loops that have something to do look for it, so shards without cost next to nothing.
 *  * The worker's lock is held at every node under the same number. A node that does not answer
 *    has lost it, and the claims there, as every database that is away.
 */
import type { TeamKey } from '../../core/team-key.ts';
import { listShards, type Shard } from '../../db/citus/shards.ts';
import type { Db } from '../../db/client.ts';
import type { Database } from '../../db/connections/database.ts';
import {
  holdSessionLock,
  newLockNumber,
  type SessionLock,
} from '../../db/connections/session-lock.ts';
import { urlOfNode, type Host } from '../../db/database-url.ts';
import { WORKER_LOCK_CLASS } from '../claim-store.ts';
import { askShards, atShard, FIND_WORK } from './shard-store.ts';
import { startDispatcher, type Dispatcher, type Loops, type LoopsOptions } from '../dispatcher.ts';

/** A worker's connections to one node. */
interface NodeConnections {
  readonly db: Database;
  /** Held at this node under the worker's number. */
  readonly lock: SessionLock;
  close(): Promise<void>;
}

/** What the loops of a worker need. The caller closes the coordinator after they have stopped. */
export interface ShardLoopsOptions extends LoopsOptions {
  /** Opens the database by a node of its own. */
  readonly openNode: (databaseUrl: string) => Database;
}

const LOOK_MS = 500;
const MAP_MS = 1_000;
/** How often a loop looks for work although its node has reported none. */
const LOOP_TICK_MS = 5_000;

interface ShardLoop {
  readonly shard: Shard;
  readonly db: Db;
  readonly dispatcher: Dispatcher;
}

/** A node that has shards, or had them. */
interface Node {
  readonly host: Host;
  /** null until it is open. */
  connections: NodeConnections | null;
  /** The shards that are there, as the coordinator last said. */
  shards: readonly Shard[];
  /** Those that run, by the ids of their shards. */
  readonly loops: Map<string, ShardLoop>;
  /** Loops whose shard has gone. They end what they have in hand. */
  readonly ending: Set<Dispatcher>;
  /** The look for work that runs now. */
  looking: Promise<void> | null;
  /** What to look for when it has ended. */
  lookAgain: Look | null;
  /** Whether the last look had no answer. The log tells the first of them. */
  isSilent: boolean;
}

/** At a wake-up only new events and requested attempts are looked for. */
type Look = 'wake' | 'tick';

interface Worker {
  readonly options: ShardLoopsOptions;
  /** Of its locks: the same at every node. */
  readonly number: number;
  readonly nodes: Map<string, Node>;
  readonly stopping: AbortController;
}

/** Starts the loops of all shards. Rejects if the coordinator cannot be asked for them. */
export async function startShardLoops(options: ShardLoopsOptions): Promise<Loops> {
  const worker: Worker = {
    options,
    number: newLockNumber(),
    nodes: new Map(),
    stopping: new AbortController(),
  };
  await followMap(worker);
  const following = keepFollowing(worker);
  const lookAgain = () => lookEverywhere(worker, 'tick');
  const endLooks = options.clock.every(options.tickMs ?? LOOK_MS, lookAgain);
  let stopped: Promise<void> | null = null;
  return {
    wake: () => lookEverywhere(worker, 'wake'),
    tick: () => lookEverywhere(worker, 'tick'),
    inHand: () => inHand(worker),
    stats: () => sumStats(worker),
    atLimit: () => dispatchersOf(worker).flatMap((dispatcher) => dispatcher.atLimit()),
    databases: () => [...worker.nodes.values()].flatMap(({ loops }) => databasesOf(loops)),
    stop: () => {
      endLooks();
      worker.stopping.abort();
      stopped ??= following.then(() => stop(worker));
      return stopped;
    },
  };
}

async function keepFollowing(worker: Worker): Promise<void> {
  const { signal } = worker.stopping;
  while (!signal.aborted) {
    await worker.options.clock.wait(MAP_MS, signal);
    if (signal.aborted) return;
    await followMap(worker).catch((error: unknown) => {
      // The loops go on where they are.
      worker.options.logger.warn({ err: error }, 'the worker could not ask for the shards');
    });
  }
}

/** Has one loop at each shard, where it is now. */
async function followMap(worker: Worker): Promise<void> {
  const { nodes, options } = worker;
  const shards = await listShards(options.db);
  const byNode = Map.groupBy(shards, ({ node }) => `${node.host}:${node.port}`);
  for (const [key, [first]] of byNode)
    if (first && !nodes.has(key)) nodes.set(key, newNode(first.node));
  for (const [key, node] of nodes) {
    node.shards = byNode.get(key) ?? [];
    endLoops(node);
  }
  const open = [...nodes.values()].filter(({ connections }) => connections === null);
  await Promise.all(open.map((node) => openNode(worker, node)));
  for (const [key, node] of nodes) {
    startLoops(worker, node);
    if (node.shards.length === 0 && node.ending.size === 0) await closeNode(nodes, key, node);
  }
}

function newNode(host: Host): Node {
  return {
    host,
    connections: null,
    shards: [],
    loops: new Map(),
    ending: new Set(),
    looking: null,
    lookAgain: null,
    isSilent: false,
  };
}

async function openNode({ options, number }: Worker, node: Node): Promise<void> {
  const url = urlOfNode(options.databaseUrl, node.host);
  const db = options.openNode(url);
  const lock = await holdSessionLock(url, WORKER_LOCK_CLASS, number);
  const close = async (): Promise<void> => {
    await lock.close();
    await db.close();
  };
  node.connections = { db, lock, close };
}

async function closeNode(nodes: Map<string, Node>, key: string, node: Node): Promise<void> {
  nodes.delete(key);
  await node.looking;
  await node.connections?.close();
}

function startLoops(worker: Worker, node: Node): void {
  const { options } = worker;
  const { connections, loops } = node;
  if (!connections) return;
  for (const shard of node.shards) {
    if (loops.has(shard.id)) continue;
    const db = atShard(connections.db, shard);
    const dispatcher = startDispatcher({
      ...options,
      db,
      beside: atShard(connections.db, shard, { isBeside: true }),
      lock: connections.lock,
      oneOfMany: { heldByAll: () => heldByAll(worker), inHandOfAll: () => inHand(worker) },
      tickMs: LOOP_TICK_MS,
    });
    loops.set(shard.id, { shard, db, dispatcher });
  }
}

function endLoops({ shards, loops, ending }: Node): void {
  const ids = new Set(shards.map(({ id }) => id));
  for (const [id, { dispatcher }] of loops) {
    if (ids.has(id)) continue;
    loops.delete(id);
    ending.add(dispatcher);
    void dispatcher.stop().then(() => ending.delete(dispatcher));
  }
}

function lookEverywhere(worker: Worker, what: Look): void {
  for (const node of worker.nodes.values()) look(worker, node, what);
}

/** Looks for work at one node, unless that runs already. */
function look(worker: Worker, node: Node, what: Look): void {
  if (node.looking) {
    if (node.lookAgain !== 'tick') node.lookAgain = what;
    return;
  }
  node.looking = lookOnce(worker, node, what).finally(() => {
    const again = node.lookAgain;
    node.looking = null;
    node.lookAgain = null;
    if (again) look(worker, node, again);
  });
}

/** Never rejects: without an answer the loops look for themselves, more rarely. */
async function lookOnce({ options }: Worker, node: Node, what: Look): Promise<void> {
  const { connections, loops } = node;
  if (!connections || loops.size === 0) return;
  const shards = [...loops.values()].map(({ shard }) => shard);
  const found = await askShards(connections.db, shards, {
    what: FIND_WORK,
    values: [options.clock.now()],
  }).catch((error: unknown) => {
    if (!node.isSilent) options.logger.warn({ err: error, ...node.host }, 'a node does not answer');
    return null;
  });
  node.isSilent = found === null;
  for (const { shard, has_new, has_more } of found ?? []) {
    const dispatcher = loops.get(shard)?.dispatcher;
    if (what === 'tick' && (has_more || has_new)) dispatcher?.tick();
    else if (has_new) dispatcher?.wake('all');
  }
}

function dispatchersOf({ nodes }: Worker): Dispatcher[] {
  return [...nodes.values()].flatMap(({ loops, ending }) => [
    ...[...loops.values()].map(({ dispatcher }) => dispatcher),
    ...ending,
  ]);
}

function databasesOf(loops: Node['loops']): Db[] {
  return [...loops.values()].map(({ db }) => db);
}

function inHand(worker: Worker): TeamKey[] {
  return dispatchersOf(worker).flatMap((dispatcher) => dispatcher.inHand());
}

function sumStats(worker: Worker): ReturnType<Dispatcher['stats']> {
  const sum = { inFlight: 0, slow: 0, queued: 0 };
  for (const dispatcher of dispatchersOf(worker)) {
    const { inFlight, slow, queued } = dispatcher.stats();
    sum.inFlight += inFlight;
    sum.slow += slow;
    sum.queued += queued;
  }
  return sum;
}

function heldByAll(worker: Worker): number {
  const { inFlight, queued } = sumStats(worker);
  return inFlight + queued;
}

async function stop(worker: Worker): Promise<void> {
  await Promise.all(dispatchersOf(worker).map((dispatcher) => dispatcher.stop()));
  for (const [key, node] of worker.nodes) await closeNode(worker.nodes, key, node);
}
