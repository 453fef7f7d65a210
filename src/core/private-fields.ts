/**
 * Marks on the fields of a shape that not everybody may see at any time: personal ones, which
 * depend on `member_detail_enabled`, and secrets, which only one API key may see. What is kept of a
 * response (`http/api/idempotency.ts`) and of an event derives from these marks.
 */
import { z } from 'zod';

export type PrivateKind = 'personal' | 'secret';

interface Mark {
  readonly kind: PrivateKind;
  /** True: a withheld field is null. False: it is left out. */
  readonly nullable: boolean;
}

const marks = z.registry<Mark>();

/**
 * Marks a field that reveals something about a person: while the team's `member_detail_enabled` is
 * off, it is left out. Apply it last: a wrapper such as `.nullable()` hides the mark.
 */
export function personal<T extends z.ZodType>(field: T): z.ZodOptional<T> {
  const note = 'Only while `member_detail_enabled` is on.';
  return mark(withNote(field.optional(), field, note), { kind: 'personal', nullable: false });
}

/** Like `personal`, but the field is null instead of left out. */
export function personalOrNull<T extends z.ZodNullable>(field: T): T {
  const note = 'Null while `member_detail_enabled` is off.';
  return mark(withNote(field, field, note), { kind: 'personal', nullable: true });
}

/** Marks a secret that only the response to its creation shows. Apply it last. */
export function secretField<T extends z.ZodType>(field: T): z.ZodOptional<T> {
  const marked = field.optional().meta(field.meta() ?? {});
  return mark(marked, { kind: 'secret', nullable: false });
}

/** Whether the field is marked as personal. */
export function isPersonal(field: z.ZodType): boolean {
  return marks.get(field)?.kind === 'personal';
}

function withNote<T extends z.ZodType>(wrapped: T, field: z.ZodType, note: string): T {
  const { description = '', ...meta } = field.meta() ?? {};
  return wrapped.meta({ ...meta, description: `${description} ${note}`.trimStart() });
}

function mark<T extends z.ZodType>(field: T, meaning: Mark): T {
  marks.add(field as z.ZodType, meaning);
  return field;
}

/** The marked fields of a shape. */
export interface PrivateFields {
  readonly kind: PrivateKind;
  /** Returns a value of the shape without these fields. Does not change the value. */
  readonly withhold: (value: unknown) => unknown;
}

/**
 * Returns the marked fields of a shape, or null without any. Throws if personal fields and secrets
 * are mixed, because they are withheld under different conditions.
 */
export function privateFieldsOf(shape: z.ZodType): PrivateFields | null {
  const kinds = new Set<PrivateKind>();
  const withhold = withholderOf(shape, kinds);
  const [kind, ...others] = kinds;
  if (!kind || !withhold) return null;
  if (others.length > 0) throw new Error('a shape holds either personal fields or secrets');
  return { kind, withhold };
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

/** Returns null if the shape holds no marked field. Collects the kinds of the marks. */
function withholderOf(shape: z.ZodType, kinds: Set<PrivateKind>): Withholder | null {
  if (shape instanceof z.ZodObject) return withholderOfObject(shape, kinds);
  if (shape instanceof z.ZodArray) {
    const inner = withholderOf(shape.element as z.ZodType, kinds);
    return inner && ((value) => (value as unknown[]).map(inner));
  }
  if (shape instanceof z.ZodOptional || shape instanceof z.ZodNullable) {
    const inner = withholderOf(shape.unwrap() as z.ZodType, kinds);
    return inner && ((value) => (value === null || value === undefined ? value : inner(value)));
  }
  if (LEAVES.has(shape.def.type)) return null;
  // A mark inside would be overlooked.
  throw new Error(`private fields cannot be looked for in a shape of type ${shape.def.type}`);
}

function withholderOfObject(shape: z.ZodObject, kinds: Set<PrivateKind>): Withholder | null {
  const changes = Object.entries(shape.shape as Record<string, z.ZodType>).flatMap(
    ([name, field]): (readonly [string, Withholder | null])[] => {
      const marked = marks.get(field);
      if (marked) kinds.add(marked.kind);
      if (marked) return [[name, marked.nullable ? () => null : null]];
      const inner = withholderOf(field, kinds);
      return inner ? [[name, inner]] : [];
    },
  );
  if (changes.length === 0) return null;
  return (value) => {
    const left = { ...(value as Record<string, unknown>) };
    for (const [name, change] of changes) {
      if (change === null) delete left[name];
      else if (name in left) left[name] = change(left[name]);
    }
    return left;
  };
}
