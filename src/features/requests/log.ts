/**
 * Collects the calls of this process in memory and writes them every two seconds and when the
 * process stops, off the path of the calls (see rules.ts).
 */
import type { AnsweredCall } from '../../core/answered-call.ts';
import { systemClock, type Clock } from '../../core/clock.ts';
import { networkForLog } from '../../core/network.ts';
import { writeByHalves } from '../../db/by-halves.ts';
import type { Db } from '../../db/client.ts';
import {
  isLogged,
  keptFaults,
  keptIgnored,
  slotOf,
  timeOfRequest,
  type LoggedFault,
} from './rules.ts';
import { addRequests, type NewRequest } from './store.ts';

/** A running log. */
export interface RequestLog {
  /** Takes a call to write later. Never throws or waits. */
  readonly add: (call: AnsweredCall) => void;
  /** Writes what is left. Never rejects. */
  stop(): Promise<void>;
}

/** What the log needs. */
export interface RequestLogOptions {
  readonly db: Db;
  /** The share of calls without an error that are logged, from 0 to 1; 1 by default. */
  readonly sample?: number;
  /** Gets the error of a failed write, which is tried again. */
  readonly onError: (error: unknown) => void;
  /** Is told how many calls had no room since it was told last, whether or not a write failed. */
  readonly onLeftOut: (count: number) => void;
  /** Gets each call that the database refuses. It is left out. */
  readonly onRefused: (call: AnsweredCall, error: unknown) => void;
  readonly clock?: Pick<Clock, 'every'>;
}

const WRITE_EVERY_MS = 2_000;
const WAITING_MAX = 10_000;
/** Few enough that a statement keeps no processor from others for long: half a millisecond. */
const BATCH = 20;
/** If a hundredth of what waits is more, a statement has so many: the log must keep up. */
const PARTS = 100;

/** Starts the log. The caller must call `stop` before it closes the database. */
export function startRequestLog({
  db,
  sample = 1,
  onError,
  onLeftOut,
  onRefused,
  clock = systemClock,
}: RequestLogOptions): RequestLog {
  let waiting: AnsweredCall[] = [];
  let leftOut = 0;
  let writing: Promise<void> | null = null;

  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, Math.max(BATCH, Math.ceil(waiting.length / PARTS)));
      await writeByHalves(batch, {
        write: (calls) => addRequests(db, calls.flatMap(toRow)),
        onRefused,
      });
      waiting = waiting.slice(batch.length);
    }
  };
  // What could not be written is tried again with the next calls.
  const write = (): Promise<void> =>
    (writing ??= writeAll()
      .catch(onError)
      .finally(() => {
        if (leftOut > 0) onLeftOut(leftOut);
        leftOut = 0;
        writing = null;
      }));
  const endWrites = clock.every(WRITE_EVERY_MS, () => void write());

  return {
    add: (call) => {
      if (!isLogged(call, sample)) return;
      if (waiting.length < WAITING_MAX) waiting.push(call);
      else leftOut += 1;
    },
    stop: async () => {
      endWrites();
      await writing;
      await write();
    },
  };
}

function toRow(call: AnsweredCall): NewRequest[] {
  const at = timeOfRequest(call.requestId);
  if (at === null) return [];
  const { requestId, teamId, keyId, method, route, status, durationMs, ip, problem } = call;
  return [
    {
      team_id: teamId,
      slot: slotOf(at),
      id: requestId,
      created_at: at.toISOString(),
      key_id: keyId,
      method,
      route,
      status,
      duration_ms: Math.round(durationMs),
      network: networkForLog(ip) ?? null,
      error_code: problem?.code ?? null,
      errors: faultsOf(call),
      limited_by: call.limit,
    },
  ];
}

function faultsOf({ problem, declared, ignored }: AnsweredCall): LoggedFault[] | null {
  const faults = keptFaults(problem?.errors, declared);
  const unread = keptIgnored(ignored, declared);
  return faults && unread ? [...faults, ...unread] : (faults ?? unread);
}
