// A thread that has not used Prisma yet. It says what loading it costs, and the first call after.
import { parentPort, workerData } from 'node:worker_threads';
import { openTestDatabase } from '../support/wire.ts';

export interface FirstPrisma {
  readonly loadMs: number;
  readonly findMs: number;
  readonly updateMs: number;
}

const db = openTestDatabase({ url: workerData as string, poolMax: 4 });
// The connection is there, too.
await db.pool.query('select');

/** In milliseconds of this thread's processor time. */
async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

const teamId = 'team_none';
const loadMs = await cost(() => db.loadPrisma());
const findMs = await cost(() => db.prisma.apiKey.findMany({ where: { teamId } }));
const updateMs = await cost(() =>
  db.prisma.member.updateMany({ where: { teamId }, data: { language: 'de' } }),
);
await db.close();
parentPort?.postMessage({ loadMs, findMs, updateMs } satisfies FirstPrisma);
