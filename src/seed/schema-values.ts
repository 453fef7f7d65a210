// Shapes of single values in a seed file. Their limits are those of columns, indexes and UTF-8.
import { z } from 'zod';
import { findJsonFault } from '../core/json.ts';
import { isMappedNetwork, isNetwork } from '../core/network.ts';
import { FREE_JSON_MAX_BYTES } from '../core/shapes.ts';

/** An index entry must be smaller than 2704 bytes. It may hold three ids of 4 bytes a character. */
export const ID_MAX_CHARACTERS = 200;
export const INT4_MAX = 2_147_483_647;
/**
 * The weekly sums are 4-byte integers. With this limit, one person can have 200,000 sessions in a
 * week.
 */
const SCORE_MAX = 10_000;

/** Text that Postgres can store. */
const isStorable = (value: string): boolean => !value.includes('\0') && value.isWellFormed();
export const text = z
  .string()
  .refine(isStorable, { error: 'must not hold U+0000 or half of a surrogate pair' });
export const filled = text.min(1);
export const id = filled.max(ID_MAX_CHARACTERS);
/** A status or a source. These are open sets, so any word fits. */
export const state = z.string().regex(/^[a-z][a-z_]{0,39}$/, {
  error: 'must be lower-case letters and underscores, at most 40',
});
export const count = z.int().min(0).max(INT4_MAX);
export const score = z.int().min(-SCORE_MAX).max(SCORE_MAX);

/**
 * Free-form JSON that passes `fits`. Other values are refused with the message `refused`. The value
 * is not changed, so that it is stored as it was written.
 */
function freeJson<T>(fits: (value: unknown) => boolean, refused: string) {
  return z.custom<T>().superRefine((value, ctx) => {
    if (!fits(value)) return ctx.addIssue(refused);
    const fault = findJsonFault(value);
    if (fault)
      return ctx.addIssue({ code: 'custom', message: fault.message, path: [...fault.path] });
    if (Buffer.byteLength(JSON.stringify(value)) > FREE_JSON_MAX_BYTES)
      ctx.addIssue('must not be more than 64 KiB');
  });
}

const isContainer = (value: unknown): boolean => typeof value === 'object' && value !== null;
export const freeObject = freeJson<object>(
  (value) => isContainer(value) && !Array.isArray(value),
  'must be an object',
);
export const freeContainer = freeJson<object>(isContainer, 'must be an object or an array');

/** An IP address, or a network in CIDR notation, that callers can have. */
export const network = z
  .string()
  .refine(isNetwork, {
    error: 'must be an IP address or a network such as 10.0.0.0/8',
    abort: true,
  })
  .refine((value) => !isMappedNetwork(value), {
    error: 'must be written as an IPv4 address, without ::ffff:',
  });

export const isHttpUrl = (value: string): boolean =>
  URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);

/** At most 120 characters, counted in code points as Postgres does. */
export const isTitle = (value: string): boolean => Array.from(value).length <= 120;
