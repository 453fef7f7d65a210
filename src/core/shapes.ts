import { z } from 'zod';

/** Shapes that several features share. */

/** A path or body id. Any text: an id that cannot exist is simply unknown. */
export const id = z.string().min(1);

const inYears = (text: string): boolean => {
  const year = new Date(text).getUTCFullYear();
  return year >= 1 && year <= 9999;
};

/** A date-time that a request brings: with an offset (decisions 12). Read it with `toInstant`. */
export const dateTimeInput = z.iso
  .datetime({ offset: true })
  .refine(inYears, { error: 'The date-time must lie in the years 1 to 9999.' });

/** The instant as the database takes it: UTC, milliseconds. */
export function toInstant(text: string): string {
  return new Date(text).toISOString();
}

/** A real calendar date, `YYYY-MM-DD`. */
export const dateInput = z.iso
  .date()
  .refine((text) => !text.startsWith('0000'), {
    error: 'The date must lie in the years 1 to 9999.',
  });

/**
 * A date-time in a response: UTC, milliseconds, `Z`. Its form is the database client's work and the contract tests' to check: a pattern here is a third of what
 * validating a page costs.
 */
export const dateTime = z.string().meta({ format: 'date-time' });

/** A calendar date in a response. */
export const dateOnly = z.string().meta({ format: 'date' });

export const catalogId = z.string().nullable().meta({ description: 'Id of a catalog entry.' });

const isContainer = (value: unknown): boolean => typeof value === 'object' && value !== null;
const isObject = (value: unknown): boolean => isContainer(value) && !Array.isArray(value);
const INVALID_TYPE = { params: { code: 'invalid_type' } };

/**
 * A free-form JSON object (`external_ref`, `fields`), returned as it was stored. The value passes untouched: `z.record` would copy it, and lose a key
 * named `__proto__` on the way.
 */
export const freeObject = z
  .unknown()
  .refine(isObject, { error: 'Expected an object.', ...INVALID_TYPE })
  .meta({ type: 'object', additionalProperties: true }) as unknown as z.ZodType<
  Record<string, unknown>
>;

/** The same, where an array may stand too. */
export const freeContainer = z
  .unknown()
  .refine(isContainer, { error: 'Expected an object or an array.', ...INVALID_TYPE })
  .meta({ type: ['object', 'array'] }) as unknown as z.ZodType<Record<string, unknown> | unknown[]>;

export const okOutput = z.object({ ok: z.boolean() });

export const FREE_JSON_MAX_BYTES = 64 * 1024;
