import { z } from 'zod';

/** Shapes that several features share. */

/** A path or body id. Any text: an id that cannot exist is simply unknown. */
export const id = z.string().min(1);

const inYears = (text: string): boolean => {
  const year = new Date(text).getUTCFullYear();
  return year >= 1 && year <= 9999;
};

/** A date-time that a request brings: with an offset (decisions 12). Read it with `toInstant`. */
export const dateTimeInput = z.iso.datetime({ offset: true }).refine(inYears, { error: 'The date-time must lie in the years 1 to 9999.' });

/** The instant as the database takes it: UTC, milliseconds. */
export function toInstant(text: string): string {
  return new Date(text).toISOString();
}

/** A real calendar date, `YYYY-MM-DD`. */
export const dateInput = z.iso.date().refine((text) => !text.startsWith('0000'), { error: 'The date must lie in the years 1 to 9999.' });

/** A date-time in a response: UTC, milliseconds, `Z`. */
export const dateTime = z.iso.datetime({ precision: 3 });

export const catalogId = z.string().nullable().meta({ description: 'Id of a catalog entry.' });

/** A free-form JSON object (`external_ref`, `fields`), returned as it was stored. */
export const freeObject = z.record(z.string(), z.unknown());

export const okOutput = z.object({ ok: z.boolean() });

export const FREE_JSON_MAX_BYTES = 64 * 1024;
