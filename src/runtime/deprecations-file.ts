/** The file that `DEPRECATIONS_FILE` names: what ends, and when. README.md shows one. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { isLongEnough, PARALLEL_MONTHS, type Deprecations } from '../core/deprecation.ts';

const day = z.iso.date('must be a date (YYYY-MM-DD)');

const deprecation = z
  .strictObject({
    since: day,
    sunset: day,
    link: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .regex(/^[^<>"]*$/, 'must have no quotes or angle brackets')
      // A header holds no other letters than the parser writes.
      .transform((value) => new URL(value).href)
      .optional(),
  })
  .refine(isLongEnough, {
    path: ['sunset'],
    error: `must be at least ${PARALLEL_MONTHS} months after since`,
    when: ({ issues }) => issues.length === 0,
  });

const contents = z.strictObject({
  version: deprecation.nullable().default(null),
  operations: z.record(z.string(), deprecation).default({}),
});

/** Reads the file when the environment is parsed. Its faults are those of the variable. */
export const deprecationsFile = z.string().transform((path, context): Deprecations => {
  let json: unknown;
  let isNamedAsPrototype = false;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'), (key, value: unknown) => {
      isNamedAsPrototype ||= key === '__proto__';
      return value;
    });
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error;
    context.addIssue(isMissing ? 'names a file that cannot be read' : 'names a file without JSON');
    return z.NEVER;
  }
  // zod would leave it out without a word, and what ends would not be announced.
  if (isNamedAsPrototype) {
    context.addIssue('has a fault: it knows no __proto__');
    return z.NEVER;
  }
  const result = contents.safeParse(json);
  for (const issue of result.error?.issues ?? [])
    context.addIssue(`has a fault at ${issue.path.join(' > ') || 'its top'}: ${issue.message}`);
  return result.data ?? z.NEVER;
});
