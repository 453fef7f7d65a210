/**
 * Marks on the fields of a shape that not everybody may see at any time: personal ones, which
 * depend on `member_detail_enabled`, and secrets, which only one API key may see. What a response
 * shows (`trpc/protection.ts`), what is kept of it (`http/api/idempotency.ts`) and what an event
 * holds (`core/events.ts`) derive from these marks.
 */
import { z } from 'zod';

export type PrivateKind = 'personal' | 'secret';

/** Returns what is shown instead of the value. `holder` is the object that has the field. */
type Withhold = (value: unknown, holder: Readonly<Record<string, unknown>>) => unknown;

interface Mark {
  readonly kind: PrivateKind;
  /** null: the contract demands the field, so that it cannot be withheld. */
  readonly withhold: Withhold | null;
}

const OMITTED = Symbol('omitted');
const marks = z.registry<Mark>();

declare const markedAsPersonal: unique symbol;

/** A field that is marked as personal, for the types: a declaration must say how it protects it. */
interface Personal {
  readonly [markedAsPersonal]: true;
}

/**
 * Marks a field that reveals something about a person: while the team's `member_detail_enabled` is
 * off, it is left out. Put a mark on the field of an object, around all wrappers.
 */
export function personal<T extends z.ZodType>(field: T): z.ZodOptional<T> & Personal {
  const note = 'Only while `member_detail_enabled` is on.';
  return markPersonal(withNote(field.optional(), field, note), () => OMITTED);
}

/** Like `personal`, but the field is null instead of left out. */
export function personalOrNull<T extends z.ZodNullable>(field: T): T & Personal {
  const note = 'Null while `member_detail_enabled` is off.';
  return markPersonal(withNote(field, field, note), () => null);
}

/**
 * Like `personal`, for a field that holds personal parts: `withhold` returns it without them. The
 * description of the field says what then becomes of it.
 */
export function personalParts<T extends z.ZodType>(
  field: T,
  withhold: (value: z.output<T>, holder: Readonly<Record<string, unknown>>) => z.output<T>,
): T & Personal {
  return markPersonal(field.clone() as T, withhold as Withhold);
}

/**
 * Marks a field that reveals something about a person and that the contract demands, for instance a
 * score. It cannot be left out: an operation that shows it is refused while
 * `member_detail_enabled` is off.
 */
export function restricted<T extends z.ZodType>(field: T): T & Personal {
  // A copy, because other shapes may use the field for something that is not personal.
  return markPersonal(field.clone() as T, null);
}

/** Marks a secret that only the response to its creation shows. */
export function secretField<T extends z.ZodType>(field: T): z.ZodOptional<T> {
  const marked = field.optional().meta(field.meta() ?? {});
  marks.add(marked as z.ZodType, { kind: 'secret', withhold: () => OMITTED });
  return marked;
}

/** Whether the field is marked as personal. */
export function isPersonal(field: z.ZodType): boolean {
  return marks.get(field)?.kind === 'personal';
}

function withNote<T extends z.ZodType>(wrapped: T, field: z.ZodType, note: string): T {
  const { description = '', ...meta } = field.meta() ?? {};
  return wrapped.meta({ ...meta, description: `${description} ${note}`.trimStart() });
}

function markPersonal<T extends z.ZodType>(field: T, withhold: Withhold | null): T & Personal {
  marks.add(field as z.ZodType, { kind: 'personal', withhold });
  return field as T & Personal;
}

/** Whether the compiler sees a personal field in a shape. `privateFieldsOf` finds all of them. */
export type HasPersonal<S> = S extends Personal
  ? true
  : S extends z.ZodObject<infer Shape, z.core.$ZodObjectConfig>
    ? true extends { readonly [Name in keyof Shape]: HasPersonal<Shape[Name]> }[keyof Shape]
      ? true
      : false
    : S extends z.ZodArray<infer Inner> | z.ZodOptional<infer Inner> | z.ZodNullable<infer Inner>
      ? HasPersonal<Inner>
      : S extends z.ZodDefault<infer Inner>
        ? HasPersonal<Inner>
        : false;

/** A marked field of a shape. */
export interface PrivateField {
  readonly kind: PrivateKind;
  /** The names that lead to it, for instance `data.user_id` for each entry of a list. */
  readonly path: string;
  readonly canBeWithheld: boolean;
}

/** Returns the marked fields of a shape. Throws if a mark cannot be looked for, or is misplaced. */
export function privateFieldsOf(shape: z.ZodType): readonly PrivateField[] {
  const fields: PrivateField[] = [];
  withholderOf(shape, '', (field) => {
    fields.push(field);
    return false;
  });
  return fields;
}

/**
 * Returns what withholds the marked fields of one kind from a value of the shape, as far as they
 * can be withheld, except those with these paths; null if there are none. The value is not changed.
 */
export function withholderFor(
  shape: z.ZodType,
  kind: PrivateKind,
  except: readonly string[] = [],
): ((value: unknown) => unknown) | null {
  return withholderOf(shape, '', (field) => field.kind === kind && !except.includes(field.path));
}

type Withholder = (value: unknown) => unknown;

/** Kinds of shapes that hold no other shape. */
const LEAVES: ReadonlySet<string> = new Set([
  'string',
  'number',
  'boolean',
  'enum',
  'literal',
  'unknown',
]);

type Choice = (field: PrivateField) => boolean;

/** Returns null if the shape holds no field that is chosen. */
function withholderOf(shape: z.ZodType, path: string, choose: Choice): Withholder | null {
  if (marks.get(shape)) throw new Error(`the mark of ${path} is not on the field of an object`);
  if (shape instanceof z.ZodObject) return withholderOfObject(shape, path, choose);
  if (shape instanceof z.ZodArray) {
    const inner = withholderOf(shape.element as z.ZodType, path, choose);
    return inner && ((value) => (value as unknown[]).map(inner));
  }
  if (
    shape instanceof z.ZodOptional ||
    shape instanceof z.ZodNullable ||
    shape instanceof z.ZodDefault
  ) {
    const inner = withholderOf(shape.unwrap() as z.ZodType, path, choose);
    return inner && ((value) => (value === null || value === undefined ? value : inner(value)));
  }
  for (const part of partsOf(shape))
    if (privateFieldsOf(part).length > 0)
      throw new Error(`private fields are not looked for in the ${shape.def.type} ${path}`);
  return null;
}

/** The shapes in a shape that may hold no marks. */
function partsOf(shape: z.ZodType): readonly z.ZodType[] {
  if (LEAVES.has(shape.def.type)) return [];
  if (shape instanceof z.ZodRecord) return [shape.valueType as z.ZodType];
  if (shape instanceof z.ZodUnion) return shape.options as z.ZodType[];
  // A mark inside would be overlooked.
  throw new Error(`private fields cannot be looked for in a shape of type ${shape.def.type}`);
}

function withholderOfObject(shape: z.ZodObject, path: string, choose: Choice): Withholder | null {
  const changes: [string, Withhold][] = [];
  for (const [name, field] of Object.entries(shape.shape as Record<string, z.ZodType>)) {
    const fieldPath = path === '' ? name : `${path}.${name}`;
    const mark = marks.get(field);
    if (mark) {
      const { kind, withhold } = mark;
      const isChosen = choose({ kind, path: fieldPath, canBeWithheld: withhold !== null });
      if (isChosen && withhold) changes.push([name, withhold]);
    } else {
      const inner = withholderOf(field, fieldPath, choose);
      if (inner) changes.push([name, inner]);
    }
  }
  if (changes.length === 0) return null;
  return (value) => {
    const holder = value as Readonly<Record<string, unknown>>;
    const left: Record<string, unknown> = { ...holder };
    for (const [name, withhold] of changes) {
      if (!(name in holder)) continue;
      const shown = withhold(holder[name], holder);
      if (shown === OMITTED) delete left[name];
      else left[name] = shown;
    }
    return left;
  };
}
