// The database under chaos: one Postgres, or in a run on Citus a cluster of three.
import { migrate } from '../../../src/db/operator/migrate.ts';
import { startEmbedded } from '../../../src/embedded-postgres/embedded-postgres.ts';
import { startCitus } from '../../support/citus.ts';
import { isOnCitus } from '../../support/database.ts';
import { makeDataDir } from '../../support/ports.ts';

/** A server with a part of the data, or all of it. */
export interface ChaosServer {
  /** Shuts it down: sessions end, and what they have committed is on disk. */
  stop(): Promise<void>;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Starts it again. */
  start(): Promise<void>;
}

/** A migrated database, of which servers can be stopped. */
export interface ChaosDatabase {
  readonly url: string;
  /** The one that all processes connect to. */
  readonly server: ChaosServer;
  /** The others, on Citus: the rows of teams are there. */
  readonly nodes: readonly ChaosServer[];
  /** A folder for whatever else the run writes. */
  readonly folder: string;
  /** Stops all servers. */
  stop(): Promise<void>;
}

/** Starts the database of this run. */
export async function startChaosDatabase(): Promise<ChaosDatabase> {
  const folder = await makeDataDir('chaos');
  const database = await (isOnCitus() ? startCluster() : startPostgres(folder));
  await migrate(database.url, { distribute: isOnCitus() });
  return { ...database, folder };
}

async function startPostgres(dataDir: string): Promise<Omit<ChaosDatabase, 'folder'>> {
  const settings = { max_connections: '200', shared_buffers: '64MB', autovacuum_naptime: '5s' };
  let postgres = await startEmbedded({ dataDir, settings });
  const server: ChaosServer = {
    stop: () => postgres.stop(),
    kill: async () => {
      process.kill(postgres.pid, 'SIGKILL');
    },
    start: async () => {
      postgres = await startEmbedded({ dataDir, settings });
    },
  };
  return { url: postgres.databaseUrl, server, nodes: [], stop: () => postgres.stop() };
}

async function startCluster(): Promise<Omit<ChaosDatabase, 'folder'>> {
  const cluster = await startCitus();
  const [server, ...nodes] = cluster.nodes;
  if (!server) throw new Error('a cluster without a coordinator');
  const url = await cluster.createDatabase('chaos');
  await cluster.join('chaos');
  return { url, server, nodes, stop: () => cluster.stop() };
}
