/** Shapes that several features share. */
import { z } from 'zod';
import { ADDRESS_FORM, isMailAddress, normalizeAddress } from './email-address.ts';
import { invalidField } from './problem.ts';

/** The longest text of a request that names something. */
const NAME_MAX_CHARACTERS = 200;
/** Longer than any id that fits into the path of a request. */
const ID_MAX_CHARACTERS = 10_000;
const ADDRESS_MAX_CHARACTERS = 254;
/** More digits of a second than anybody has. */
const DATE_TIME_MAX_CHARACTERS = 64;
const DATE_CHARACTERS = 10;

/** An id in the path or body of a request. Any text is valid: an impossible id is just unknown. */
export const id = z.string().min(1).max(ID_MAX_CHARACTERS);

const NO_ADDRESS = 'Not an email address.';
const address = z.string().trim().max(ADDRESS_MAX_CHARACTERS);

/** The address of a person who is invited. White space around it is removed. */
export const newAddress = address
  .refine(isMailAddress, { error: NO_ADDRESS, params: { code: 'invalid_format' } })
  .overwrite(normalizeAddress);

/** The address of a person who is looked up: any that a member can have. */
export const knownAddress = address
  .refine((text) => ADDRESS_FORM.test(text), {
    error: NO_ADDRESS,
    params: { code: 'invalid_format' },
  })
  .overwrite(normalizeAddress);

/** A text that names one of few values, which the operation checks. */
export const nameInput = z.string().max(NAME_MAX_CHARACTERS);

/**
 * A list of at most `max` items. A longer one is refused before its items are looked at: zod alone
 * would describe what is wrong with each of them.
 */
export function listOf<T extends z.ZodType>(
  item: T,
  { min = 0, max }: { readonly min?: number; readonly max: number },
): z.ZodType<z.output<T>[], z.input<T>[]> {
  const refuseLonger = (value: unknown, ctx: z.RefinementCtx): unknown => {
    if (!Array.isArray(value) || value.length <= max) return value;
    const limit = { maximum: max, origin: 'array', inclusive: true } as const;
    ctx.issues.push({ code: 'too_big', ...limit, input: value });
    return z.NEVER;
  };
  const list = z.array(item).max(max);
  return z.preprocess(refuseLonger, min === 0 ? list : list.min(min)) as unknown as z.ZodType<
    z.output<T>[],
    z.input<T>[]
  >;
}

const NO_DATE_TIME =
  'Expected an ISO 8601 date-time with an offset, such as 2026-11-26T09:00:00Z or ' +
  '2026-11-26T10:00:00+01:00. In a query, write + as %2B.';

/**
 * ISO 8601 with an offset, as programs write it: with or without separators, seconds and a fraction
 * of them, after a point or a comma; the offset with or without a colon or minutes.
 */
const DATE_TIME = new RegExp(
  [
    String.raw`^(?<year>\d{4})(?<dash>-?)(?<month>\d\d)\k<dash>(?<day>\d\d)[Tt]`,
    String.raw`(?<hour>[01]\d|2[0-3])(?<colon>:?)(?<minute>[0-5]\d)`,
    String.raw`(?:\k<colon>(?<second>[0-5]\d)(?:[.,](?<fraction>\d+))?)?`,
    String.raw`(?:[Zz]|(?<sign>[+-])(?<hours>[01]\d|2[0-3])(?::?(?<minutes>[0-5]\d))?)$`,
  ].join(''),
);

/** Returns the moment, or null if the text is no date-time with an offset, or its day is none. */
function readInstant(text: string): Date | null {
  const found = DATE_TIME.exec(text)?.groups;
  if (!found) return null;
  const { year, month, day, hour, minute, second = '00', fraction = '0' } = found;
  const { sign, hours, minutes = '00' } = found;
  const date = `${year}-${month}-${day}`;
  const midnight = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(date)) return null;
  const offset = sign === undefined ? 'Z' : `${sign}${hours}:${minutes}`;
  return new Date(`${date}T${hour}:${minute}:${second}.${fraction.slice(0, 3)}${offset}`);
}

/** A date-time in a request. It must have an offset. Read it with `toInstant`. */
export const dateTimeInput = z
  .string(NO_DATE_TIME)
  .max(DATE_TIME_MAX_CHARACTERS, { abort: true })
  .refine((text) => readInstant(text) !== null, {
    abort: true,
    error: NO_DATE_TIME,
    params: { code: 'invalid_format' },
  })
  .refine(isInYears, { error: 'The date-time must lie in the years 1 to 9999.' })
  .meta({ format: 'date-time' });

function isInYears(text: string): boolean {
  const year = readInstant(text)?.getUTCFullYear() ?? 0;
  return year >= 1 && year <= 9999;
}

/** Converts a date-time of a request for the database: ISO text in UTC with milliseconds. */
export function toInstant(text: string): string {
  const instant = readInstant(text);
  if (instant === null) throw new Error('a date-time of a request was not checked');
  return instant.toISOString();
}

/** A calendar date in a request, `YYYY-MM-DD`. The date must exist. */
export const dateInput = z.iso
  .date({ error: 'Expected a date that exists, such as 2026-11-26.' })
  .max(DATE_CHARACTERS)
  .refine((text) => !text.startsWith('0000'), {
    error: 'The date must lie in the years 1 to 9999.',
  });

/**
 * A date-time in a response: UTC with milliseconds and `Z`. There is no pattern here, because it
 * would be a third of the cost of validating a page. The database client produces the form
 * (src/db/wire/types.ts), and the contract tests check it.
 */
export const dateTime = z.string().meta({ format: 'date-time' });

/** A calendar date in a response. */
export const dateOnly = z.string().meta({ format: 'date' });

/** The id of a catalog entry in a response. null: there is none. */
export const catalogId = z.string().nullable().meta({ description: 'Id of a catalog entry.' });

const isContainer = (value: unknown): boolean => typeof value === 'object' && value !== null;
const isObject = (value: unknown): boolean => isContainer(value) && !Array.isArray(value);
const INVALID_TYPE = { params: { code: 'invalid_type' } };

/** The maximum size of a free-form JSON value. */
export const FREE_JSON_MAX_BYTES = 64 * 1024;

/** Throws `validation_error` (this field) for free-form JSON that is larger; null has no size. */
export function requireFreeJson(field: string, value: object | null | undefined): void {
  const bytes = value ? Buffer.byteLength(JSON.stringify(value)) : 0;
  if (bytes > FREE_JSON_MAX_BYTES)
    throw invalidField(field, `At most ${FREE_JSON_MAX_BYTES} bytes of JSON.`);
}

/** JSON schemas have no word for it. */
const FREE_JSON = { 'x-max-bytes': FREE_JSON_MAX_BYTES };

/**
 * A free-form JSON object (`external_ref`, `fields`), which is returned as it was stored. The value
 * is not copied: `z.record` would copy it and lose a field named `__proto__`.
 */
export const freeObject = z
  .unknown()
  .refine(isObject, { error: 'Expected an object.', ...INVALID_TYPE })
  .meta({ type: 'object', additionalProperties: true, ...FREE_JSON }) as unknown as z.ZodType<
  Record<string, unknown>
>;

/** Like `freeObject`, but also accepts an array. */
export const freeContainer = z
  .unknown()
  .refine(isContainer, { error: 'Expected an object or an array.', ...INVALID_TYPE })
  .meta({
    anyOf: [
      { type: 'object', additionalProperties: true },
      { type: 'array', items: {} },
    ],
    ...FREE_JSON,
  }) as unknown as z.ZodType<Record<string, unknown> | unknown[]>;

/**
 * A text of which some values are known. Later versions may add values, so the document names the
 * known ones and allows any other text beside them: a generated client then accepts a new one.
 */
export function knownText(values: readonly string[], text = z.string()): z.ZodString {
  return text.meta({ anyOf: [{ type: 'string', enum: [...values] }, { type: 'string' }] });
}

/** The output of an operation that has nothing to return. */
export const okOutput = z
  .object({ ok: z.boolean().meta({ description: 'Always true.' }) })
  .meta({ description: 'It is done.' });

/** Makes the bounds of a list comparable: each is ISO in any time zone, and may be missing. */
export function toInstants<Filters extends Partial<Record<'since' | 'until', string | undefined>>>(
  filters: Filters,
): Filters {
  const { since, until } = filters;
  return { ...filters, since: since && toInstant(since), until: until && toInstant(until) };
}

/** An input with all of its fields: null where nothing was sent. */
export type OrNull<Input> = {
  [Name in keyof Input]-?:
    | Exclude<Input[Name], undefined>
    | (undefined extends Input[Name] ? null : never);
};

/** The fields of a shape as they were given; null for one that was left out. */
export function orNull<Shape extends z.ZodObject>(
  { shape }: Shape,
  given: z.output<Shape>,
): OrNull<z.output<Shape>> {
  const fields = Object.keys(shape).map((name) => [name, given[name] ?? null]);
  return Object.fromEntries(fields) as OrNull<z.output<Shape>>;
}
