// The processes of the service, under a supervisor that restarts those that end, and a way to kill
// them without warning.
import { setTimeout as delay } from 'node:timers/promises';
import { pick, type Random } from '../../../src/seed/random.ts';
import { createCall, type Call } from '../../support/api.ts';
import {
  startApiProcess,
  startWorkerProcess,
  type Exit,
  type RunningProcess,
} from '../../support/processes.ts';

export interface Fleet {
  /** Resolves with a running API process; waits until there is one. */
  call(random: Random): Promise<Call>;
  /** Returns all running API processes. */
  calls(): readonly Call[];
  /** Kills a process with SIGKILL. Returns its kind, or null if the chosen one is not running. */
  kill(random: Random): 'api' | 'worker' | null;
  /** Resolves when all processes run. */
  whole(): Promise<void>;
  /** The processes that ended without being killed, and the end of their output. */
  readonly died: readonly string[];
  /** Returns the standard output and standard error of all processes so far. */
  output(): string;
  /** Ends all processes with SIGTERM. Resolves with how each of them ended. */
  stop(): Promise<Exit[]>;
}

interface Place {
  readonly kind: 'api' | 'worker';
  running: { readonly process: RunningProcess; readonly call: Call | null } | null;
}

const RESTART_DELAY_MS = 100;
const CONNECTIONS = 32;

/** Starts two API processes and two workers. They are restarted until `stop`. */
export function startFleet(databaseUrl: string, env: Record<string, string>): Fleet {
  const places: Place[] = (['api', 'api', 'worker', 'worker'] as const).map((kind) => ({
    kind,
    running: null,
  }));
  const outputs: (() => string)[] = [];
  const died: string[] = [];
  let stopping = false;

  /** Restarts a process as often as needed while the database is down. */
  const supervise = async (place: Place): Promise<void> => {
    while (!stopping) {
      place.running = await start(place.kind, databaseUrl, env).catch(() => null);
      if (!place.running) {
        await delay(RESTART_DELAY_MS);
        continue;
      }
      const { process } = place.running;
      outputs.push(() => process.output());
      const { code, signal } = await process.exited;
      if (signal !== 'SIGKILL' && !stopping)
        died.push(`${place.kind}: ${code ?? signal}\n${process.output().slice(-2_000)}`);
      place.running = null;
    }
  };
  const supervised = places.map(supervise);

  const running = (): NonNullable<Place['running']>[] =>
    places.flatMap((place) => place.running ?? []);
  const calls = (): Call[] => running().flatMap(({ call }) => call ?? []);
  return {
    calls,
    died,
    call: async (random) => {
      for (;;) {
        const [first, ...others] = calls();
        if (first) return pick(random, [first, ...others]);
        await delay(20);
      }
    },
    kill: (random) => {
      const place = places[Math.floor(random() * places.length)];
      if (!place?.running) return null;
      void place.running.process.kill('SIGKILL');
      place.running = null;
      return place.kind;
    },
    whole: async () => {
      while (running().length < places.length) await delay(20);
    },
    output: () => outputs.map((output) => output()).join(''),
    stop: async () => {
      stopping = true;
      const exits = await Promise.all(running().map(({ process }) => process.kill('SIGTERM')));
      await Promise.all(supervised);
      return exits;
    },
  };
}

async function start(
  kind: Place['kind'],
  databaseUrl: string,
  env: Record<string, string>,
): Promise<NonNullable<Place['running']>> {
  if (kind === 'worker') return { process: await startWorkerProcess(databaseUrl, env), call: null };
  const process = await startApiProcess(databaseUrl, env);
  return { process, call: createCall(process.url, { connections: CONNECTIONS }) };
}
