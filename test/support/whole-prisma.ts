import type { Db } from '../../src/db/client.ts';
import type { PrismaClient } from '../../src/db/generated/client.ts';

/** All that Prisma's client has, also what no store may use: raw SQL, calls of no team. */
export const wholePrisma = ({ prisma }: Pick<Db, 'prisma'>): PrismaClient =>
  prisma as unknown as PrismaClient;
