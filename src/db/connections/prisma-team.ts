import { Prisma } from '../generated/client.ts';

/**
 * The operations that a call may use. Those by a unique key are not among them: Prisma merges
 * concurrent calls of `findUnique` into one query, across our transactions, and `update`, `upsert`
 * and `delete` take a key that need not be of the team.
 */
const ALLOWED = new Set(
  `findFirst findFirstOrThrow findMany count aggregate groupBy
   create createMany createManyAndReturn updateMany updateManyAndReturn deleteMany`.split(/\s+/),
);

const PRISMA: Readonly<Record<string, unknown>> = Prisma;

/** The field of a model that says whose its rows are; null if they are no team's. */
function teamFieldOf(model: string): 'teamId' | 'id' | null {
  if (model === 'Team') return 'id';
  return 'teamId' in (PRISMA[`${model}ScalarFieldEnum`] as object) ? 'teamId' : null;
}

/**
 * Throws unless a call of Prisma is for the rows of one team. Prisma leaves out a condition whose
 * value is undefined, so a forgotten team would mean all of them.
 */
export function requireTeam(
  model: string,
  operation: string,
  { where, data }: { readonly where?: unknown; readonly data?: unknown },
): void {
  if (!ALLOWED.has(operation))
    throw new Error(`${model}.${operation} is not for use: findFirst is`);
  const field = teamFieldOf(model);
  if (field === null) return;
  const rows = [operation.startsWith('create') ? data : where].flat();
  const isBound = (row: unknown): boolean =>
    typeof row === 'object' && row !== null && typeof Reflect.get(row, field) === 'string';
  if (rows.length === 0 || !rows.every(isBound))
    throw new Error(`${model}.${operation} names no team (${field})`);
}
