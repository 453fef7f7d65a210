/**
 * Which of the hosts of DATABASE_URL a connection goes to. With one host there is nothing to find.
 *
 * With several, all are tried at once, and the first that turns out to be the primary is remembered
 * until a connection to it breaks. So an ordinary connection costs nothing more, a host that is
 * gone delays nobody, and a failover is noticed by the first connection that it breaks.
 */
import { parseDatabaseUrl, type Host } from '../database-url.ts';

/** The route of the connections of one pool, or of a single one. */
export interface Route {
  /** A connection string with one host. */
  readonly url: string | undefined;
  /**
   * Resolves with the host of the primary; null: that of `url`. `probe` connects to a host and
   * rejects unless it is the primary. Rejects with an error for each host if none is.
   */
  locate(probe: (host: Host) => Promise<unknown>): Promise<Host | null>;
  /** Call it when a connection to the host has failed: the primary may be another one now. */
  forget(host: Host): void;
}

/** After all hosts were tried in vain, nobody tries again for this time. */
const PAUSE_MS = 250;

/** Throws an error for the operator if DATABASE_URL is not valid. */
export function createRoute(databaseUrl: string | undefined): Route {
  if (databaseUrl === undefined) return routeTo(undefined, null);
  const { url, hosts } = parseDatabaseUrl(databaseUrl);
  return hosts.length === 0 ? routeTo(url, null) : createSearch(url, hosts);
}

/** Returns the route that always leads to this host. */
export function routeTo(url: string | undefined, host: Host | null): Route {
  return { url, locate: () => Promise.resolve(host), forget: () => undefined };
}

function createSearch(url: string, hosts: readonly Host[]): Route {
  let known: Host | null = null;
  let looking: Promise<Host> | null = null;
  return {
    url,
    locate: async (probe) => {
      if (known) return known;
      looking ??= findPrimary(hosts, probe).then(
        (host) => {
          known = host;
          looking = null;
          return host;
        },
        (error: unknown) => {
          setTimeout(() => {
            looking = null;
          }, PAUSE_MS).unref();
          throw error;
        },
      );
      return looking;
    },
    forget: (host) => {
      if (known === host) known = null;
    },
  };
}

async function findPrimary(
  hosts: readonly Host[],
  probe: (host: Host) => Promise<unknown>,
): Promise<Host> {
  const errors: Error[] = [];
  const probes = hosts.map(async (host, index) => {
    try {
      await probe(host);
      return host;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      errors[index] = new Error(`${host.host}:${host.port}: ${reason}`, { cause: error });
      throw error;
    }
  });
  return Promise.any(probes).catch(() => {
    throw new AggregateError(errors, 'none of the hosts of DATABASE_URL is a primary');
  });
}
