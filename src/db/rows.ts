/**
 * Rows as Prisma's model has them (prisma/schema.prisma), for statements: their types and lists of
 * their columns. A new column of the model is in the row type, in what is read and in what is
 * inserted, unless a list leaves it out. The columns' names are those of the fields in snake case.
 */
import type { ACTOR_KINDS, MemberStatus, Role } from '../core/actor.ts';
import type { CatalogKind } from '../core/catalog-kinds.ts';
import type { DeliveryStatus } from '../core/delivery-status.ts';
import type { Language } from '../core/language.ts';
import type { PLANS } from '../core/plans.ts';
import type { AssignmentStatus, Scenario, TeamStatus } from '../core/vocabularies.ts';
import { Prisma } from './generated/client.ts';

/** A model, by its name in prisma/schema.prisma. */
export type Model = Prisma.ModelName;
type Scalars<M extends Model> = Prisma.TypeMap['model'][M]['payload']['scalars'];

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** The table of a model. */
export type TableOf<M extends Model> = SnakeCase<Uncapitalize<M>>;

/** A column of a model, by its name in Postgres. */
export type ColumnOf<M extends Model> = SnakeCase<keyof Scalars<M> & string>;

/** A value as a statement reads it: timestamps and dates are text, JSON is whatever it is. */
type Read<Value> = Prisma.JsonObject extends Value
  ? unknown
  : Value extends Date | bigint
    ? string
    : Value extends Uint8Array
      ? Buffer
      : Value extends readonly (infer Element)[]
        ? readonly Read<Element>[]
        : Value;

/**
 * What a text is, if a `CHECK` lists words of `core`. `test/contract/row-types.smoke.test.ts`
 * compares these with the database.
 */
interface Words {
  readonly Assignment: { readonly status: AssignmentStatus };
  readonly AuditLog: { readonly actorKind: (typeof ACTOR_KINDS)[number] };
  readonly CatalogEntry: { readonly kind: CatalogKind };
  readonly Member: {
    readonly language: Language;
    readonly role: Role;
    readonly status: MemberStatus;
  };
  readonly Sandbox: { readonly scenario: Scenario };
  readonly Team: {
    readonly language: Language;
    readonly plan: (typeof PLANS)[number];
    readonly status: TeamStatus;
  };
  readonly TeamCatalogEntry: { readonly kind: CatalogKind };
  readonly WebhookDelivery: { readonly status: DeliveryStatus };
}

type ReadField<M extends Model, Field extends keyof Scalars<M>> = M extends keyof Words
  ? Field extends keyof Words[M]
    ? Words[M][Field] | Extract<Scalars<M>[Field], null>
    : Read<Scalars<M>[Field]>
  : Read<Scalars<M>[Field]>;

/** A row of a model with these columns; all by default. */
export type RowOf<M extends Model, Column extends ColumnOf<M> = ColumnOf<M>> = {
  readonly [Field in keyof Scalars<M> & string as SnakeCase<Field> & Column]: ReadField<M, Field>;
};

/** The row of a member who has not ended: they have an address (member_live_has_email_check). */
export type LiveMember<Column extends ColumnOf<'Member'>> = RowOf<'Member', Column> & {
  readonly email: string;
};

/** For what Prisma's client has found, whose types do not know the check. */
export function asLiveMember<Row extends { readonly email: string | null }>(
  row: Row,
): Row & { readonly email: string } {
  const { email } = row;
  if (email === null) throw new Error('a member who has not ended has no address');
  return { ...row, email };
}

/** A field of a model, by the name of its column. */
type FieldOf<M extends Model, Column extends ColumnOf<M>> = {
  [Field in keyof Scalars<M> & string]: SnakeCase<Field> extends Column ? Field : never;
}[keyof Scalars<M> & string];

const PRISMA: Readonly<Record<string, unknown>> = Prisma;

const fieldsOf = (model: Model): string[] =>
  Object.keys(PRISMA[`${model}ScalarFieldEnum`] as object);

const toColumn = (field: string): string =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The columns of a model, in its order, without some of them. */
export function columnsOf<M extends Model, Left extends ColumnOf<M> = never>(
  model: M,
  ...leftOut: readonly Left[]
): readonly Exclude<ColumnOf<M>, Left>[] {
  return fieldsOf(model)
    .map((field) => toColumn(field) as ColumnOf<M>)
    .filter((name): name is Exclude<ColumnOf<M>, Left> => !leftOut.includes(name as Left));
}

/** SQL: the columns, of a range by its name and a point (`a.`) if one is given. */
export function listed(columns: readonly string[], range = ''): string {
  return columns.map((name) => `${range}${name}`).join(', ');
}

/** SQL: a parameter for each of the columns, the first of them with this number. */
export function parameters(columns: readonly string[], first: number): string {
  return columns.map((_name, place) => `$${first + place}`).join(', ');
}

/** SQL: sets each of the columns to a parameter, the first to the one with this number. */
export function assigned(columns: readonly string[], first: number): string {
  return columns.map((name, place) => `${name} = $${first + place}`).join(', ');
}

/** A value of a parameter. JSON is given as its text: `pg` makes arrays of Postgres of arrays. */
type Parameter = string | number | boolean | Buffer | readonly string[] | null;

/** The values of the columns, in their order. */
export function valuesIn<Column extends string>(
  columns: readonly Column[],
  row: Readonly<Record<Column, Parameter>>,
): Parameter[] {
  return columns.map((name) => row[name]);
}

/** How Prisma's client reads some columns of a model. */
export interface Selection<M extends Model, Column extends ColumnOf<M>> {
  /** For the `select` of a call. */
  readonly select: Readonly<Record<FieldOf<M, Column>, true>>;
  /** Makes a row of what the call has found: a `Date` becomes ISO text, bytes a `Buffer`. */
  readonly toRow: (found: Pick<Scalars<M>, FieldOf<M, Column>>) => RowOf<M, Column>;
  /** Makes the `data` of a call from a row. */
  readonly toData: (row: RowOf<M, Column>) => {
    [Field in FieldOf<M, Column>]: Written<Scalars<M>[Field]>;
  };
}

/** A value of Prisma's client as a statement reads it. */
function asRead(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}

/** A value as Prisma's client writes it: it takes ISO text for a timestamp, too. */
type Written<Value> = Date extends Value ? Exclude<Value, Date> | Date | string : Value;

export function selectionOf<M extends Model, Column extends ColumnOf<M>>(
  model: M,
  columns: readonly Column[],
): Selection<M, Column> {
  const isSelected = (field: string): boolean => columns.includes(toColumn(field) as Column);
  const select = fieldsOf(model)
    .filter(isSelected)
    .map((field) => [field, true] as const);
  return {
    select: Object.fromEntries(select) as Record<FieldOf<M, Column>, true>,
    toRow: (found) => {
      const row = Object.entries(found).map(([field, value]: [string, unknown]) => [
        toColumn(field),
        asRead(value),
      ]);
      return Object.fromEntries(row) as RowOf<M, Column>;
    },
    toData: (row) => {
      const values: Readonly<Record<string, unknown>> = row;
      const data = select.map(([field]) => [field, values[toColumn(field)]]);
      return Object.fromEntries(data) as ReturnType<Selection<M, Column>['toData']>;
    },
  };
}
