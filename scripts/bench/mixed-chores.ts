// What goes on beside the requests of the mixed load: old deliveries are removed, over and over,
// and a backup reads the database. `POST /` with `Chores` does both and responds at their end.
import { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { fixedClock } from '../../src/core/clock.ts';
import { openDatabase } from '../../src/db/connections/database.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { serve } from './serve.ts';

/** What is done for how long. */
export interface Chores {
  readonly side: 'floor' | 'API';
  readonly seconds: number;
  /**
   * The clock of the removal goes from one time to the other, in ISO. So as many deliveries become
   * old in each second, however many there are.
   */
  readonly from: string;
  readonly to: string;
}

/** What was done. */
export interface DoneChores {
  /** Deliveries and events. */
  readonly removed: number;
  readonly copiedMb: number;
}

/** After a removal, before the next one. */
const PAUSE_MS = 500;
/** How long deliveries and events are kept. */
export const KEPT_MS = 30 * 86_400_000;
/** The floor's statements for what one removal finds. */
const FLOOR_STEPS = 5;
const BACKUP_BYTES_PER_S = 20_000_000;
const THROTTLE_MS = 20;

const BACKED_UP: Readonly<Record<Chores['side'], readonly string[]>> = {
  floor: ['floor.event', 'floor.delivery', 'floor.page_row', 'floor.audit', 'floor.member'],
  API: ['event', 'webhook_delivery', 'assignment', 'audit_log', 'member'],
};

/** Deletes what becomes old between two times of its clock. Returns how many rows. */
type Remove = (from: Date, to: Date) => Promise<number>;

async function removeAll(remove: Remove, { from, to, seconds }: Chores): Promise<number> {
  const startedAt = performance.now();
  const [begin, end] = [Date.parse(from), Date.parse(to)];
  let removed = 0;
  for (let reached = begin; reached < end;) {
    await delay(PAUSE_MS);
    const share = Math.min(1, (performance.now() - startedAt) / (seconds * 1000));
    const next = begin + share * (end - begin);
    removed += await remove(new Date(reached), new Date(next));
    reached = next;
  }
  return removed;
}

/** The service's own removal. */
function removerOf(url: string): Remove {
  const database = openDatabase({ url, poolMax: 4, onError: (error) => console.error(error) });
  return async (_from, to) => {
    // The days of the request log are not those of this clock, which is late.
    const options = { requestLogDays: Infinity };
    const { deliveries = 0, events = 0 } = await removeOld(database, fixedClock(to), options);
    return deliveries + events;
  };
}

const FLOOR_DELETIONS = [
  'delete from floor.delivery where last_attempt_at >= $1 and last_attempt_at < $2',
  `delete from floor.event
   where created_at >= $1 and created_at < $2 and fanned_out_at is not null`,
];

function removerOfFloor(pool: pg.Pool): Remove {
  return async (from, to) => {
    const stepMs = (to.getTime() - from.getTime()) / FLOOR_STEPS;
    const timeOf = (step: number): Date => new Date(from.getTime() - KEPT_MS + step * stepMs);
    let removed = 0;
    for (let step = 0; step < FLOOR_STEPS; step += 1)
      for (const deletion of FLOOR_DELETIONS) {
        const { rowCount } = await pool.query(deletion, [timeOf(step), timeOf(step + 1)]);
        removed += rowCount ?? 0;
      }
    return removed;
  };
}

/**
 * Begins to read tables as a backup does: in one transaction, whose snapshot all statements share,
 * and at a bounded rate. Then the transaction stays open. Returns a function that ends it and
 * returns how many bytes were read.
 */
async function startBackup(url: string, tables: readonly string[]): Promise<() => number> {
  const socket = new Socket();
  const client = new pg.Client({ connectionString: url, stream: () => socket });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin isolation level repeatable read read only');
  // pg would look at each row.
  socket.removeAllListeners('data').on('data', () => undefined);
  const copies = tables.map((table) => `copy ${table} to stdout`).join('; ');
  client.query(copies).catch(() => undefined);
  const [startedAt, before] = [performance.now(), socket.bytesRead];
  const timer = setInterval(() => {
    const allowed = ((performance.now() - startedAt) / 1000) * BACKUP_BYTES_PER_S;
    if (socket.bytesRead - before > allowed) socket.pause();
    else socket.resume();
  }, THROTTLE_MS);
  return () => {
    clearInterval(timer);
    socket.destroy();
    return socket.bytesRead - before;
  };
}

if (import.meta.main) {
  const url = process.env['DATABASE_URL'] ?? '';
  const removers: Readonly<Record<Chores['side'], Remove>> = {
    floor: removerOfFloor(new pg.Pool({ connectionString: url, max: 1 })),
    API: removerOf(url),
  };
  const doAll = async (chores: Chores): Promise<DoneChores> => {
    const endBackup = await startBackup(url, BACKED_UP[chores.side]);
    try {
      const removed = await removeAll(removers[chores.side], chores);
      return { removed, copiedMb: endBackup() / 1_000_000 };
    } finally {
      endBackup();
    }
  };
  serve((chores) => doAll(chores as Chores));
}
