/** Prisma for the rows of one team: which of its calls a store may make. */
import { Prisma, type PrismaClient } from './generated/client.ts';

/**
 * Those by a unique key are not among them: Prisma merges concurrent calls of `findUnique` into one
 * query, across our transactions, and `update`, `upsert` and `delete` take a key that need not be
 * of the team.
 */
const OPERATIONS = [
  'findFirst',
  'findFirstOrThrow',
  'findMany',
  'count',
  'aggregate',
  'groupBy',
  'create',
  'createMany',
  'createManyAndReturn',
  'updateMany',
  'updateManyAndReturn',
  'deleteMany',
] as const;
type Operation = (typeof OPERATIONS)[number];

/** The fields that say whose a model's rows are, with a value of their type. */
type Owner<Model extends Prisma.ModelName> = Model extends 'Team'
  ? { readonly id: string }
  : 'teamId' extends keyof Prisma.TypeMap['model'][Model]['payload']['scalars']
    ? { readonly teamId: string }
    : unknown;

/** What a call must say. Creations name the team in each row, all others in the condition. */
type NamesTeam<Model extends Prisma.ModelName, Op extends Operation> =
  unknown extends Owner<Model>
    ? unknown
    : Op extends 'create'
      ? { readonly data: Owner<Model> }
      : Op extends `create${string}`
        ? { readonly data: readonly (Owner<Model> & Readonly<Record<string, unknown>>)[] }
        : { readonly where: Owner<Model> };

/**
 * A count up to a number is no call: Prisma orders all that match by the primary key before, so
 * that no other index ends it early. It is a statement, with the order of its index.
 */
type Unlimited<Op extends Operation> = Op extends 'count' | 'aggregate'
  ? { readonly take?: never }
  : unknown;

type Delegate<Model extends Prisma.ModelName> = PrismaClient[Uncapitalize<Model>];

type Calls<Model extends Prisma.ModelName> = {
  readonly [Op in Operation]: <Args extends Prisma.Args<Delegate<Model>, Op>>(
    args: Prisma.Exact<Args, Prisma.Args<Delegate<Model>, Op>> &
      NamesTeam<Model, Op> &
      Unlimited<Op>,
  ) => Promise<Prisma.Result<Delegate<Model>, Args, Op>>;
};

/** A call that does not name its team is no call: it does not compile, and throws when it runs. */
export type TeamPrisma = {
  readonly [Model in Prisma.ModelName as Uncapitalize<Model>]: Calls<Model>;
};

const PRISMA: Readonly<Record<string, unknown>> = Prisma;

/** The field of a model that says whose its rows are; null if they are no team's. */
function ownerFieldOf(model: string): 'teamId' | 'id' | null {
  if (model === 'Team') return 'id';
  return 'teamId' in (PRISMA[`${model}ScalarFieldEnum`] as object) ? 'teamId' : null;
}

/**
 * Throws unless a call is for the rows of one team. Prisma leaves out a condition whose value is
 * undefined, so a team that is forgotten behind a cast would mean all of them. Throws also for a
 * count up to a number, which Prisma does not bound.
 */
export function requireTeam(
  model: string,
  operation: string,
  args: { readonly where?: unknown; readonly data?: unknown; readonly take?: unknown },
): void {
  const { where, data, take } = args;
  if (!OPERATIONS.some((name) => name === operation))
    throw new Error(`${model}.${operation} is not for use: findFirst is`);
  if (take !== undefined && (operation === 'count' || operation === 'aggregate'))
    throw new Error(`${model}.${operation} with take is not for use: it reads all that match`);
  const field = ownerFieldOf(model);
  if (field === null) return;
  const rows = [operation.startsWith('create') ? data : where].flat();
  const isBound = (row: unknown): boolean =>
    typeof row === 'object' && row !== null && typeof Reflect.get(row, field) === 'string';
  if (!rows.every(isBound)) throw new Error(`${model}.${operation} names no team (${field})`);
}
