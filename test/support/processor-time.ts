// The processor time of work: unlike the time that passes, it hardly depends on who else uses the
// machine.
import { readCpuMs } from '../../scripts/bench/processes.ts';
import type { TestApi } from './api.ts';

/**
 * Resolves with the milliseconds that this process and the sessions of the database spend while
 * `work` runs; without the sessions on systems without /proc. Let nothing else run meanwhile.
 */
export async function processorTimeOf(
  { db }: Pick<TestApi, 'db'>,
  work: () => Promise<unknown>,
): Promise<number> {
  const before = await readSessions(db);
  const usage = process.cpuUsage();
  await work();
  const own = process.cpuUsage(usage);
  const after = await readSessions(db);
  const spent = [...after].map(([pid, ms]) => ms - (before.get(pid) ?? 0));
  return spent.reduce((sum, ms) => sum + ms, (own.user + own.system) / 1000);
}

async function readSessions(db: TestApi['db']): Promise<Map<number, number>> {
  const { rows } = await db.pool.query<{ pid: number }>(
    `select pid
     from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend'`,
  );
  const entries = rows.map(async ({ pid }) => [pid, (await readCpuMs(pid)) ?? 0] as const);
  return new Map(await Promise.all(entries));
}
