/** The shapes of problems in responses, as the OpenAPI document describes them. */
import { z } from 'zod';
import { CATALOG_KINDS } from './catalog-kinds.ts';
import { PROBLEMS, type ProblemCode } from './problem.ts';
import { TEST_SCOPES } from './scopes.ts';
import { knownText } from './shapes.ts';

/**
 * The codes of the REST API. `forbidden` occurs only in the tRPC API: a key that lacks a scope gets
 * `insufficient_scope`.
 */
export const API_CODES = (Object.keys(PROBLEMS) as readonly ProblemCode[]).filter(
  (code) => code !== 'forbidden',
);

const fieldError = z.object({
  path: z.string().meta({
    description: 'Where the value was, for instance `body.title` or `query.limit`.',
    examples: ['body.title'],
  }),
  message: z.string().meta({ description: 'What is wrong with it, in English.' }),
  code: z
    .string()
    .meta({ description: 'The kind of fault, for programs.', examples: ['invalid_type'] }),
});

/** What is wrong: the part of a problem that an entry of a batch has, too. v1 may add codes. */
const fault = {
  status: z.int().min(400).max(599).meta({ description: 'Repeats the HTTP status.' }),
  code: knownText(API_CODES).meta({
    description: 'Stable and never localized. Treat an unknown one by its status.',
    examples: [...API_CODES],
  }),
  detail: z
    .string()
    .optional()
    .meta({ description: 'An English explanation for the developer. Never with 500 or 503.' }),
  errors: z.array(fieldError).optional().meta({
    description: 'What is wrong with the input, 20 faults at most. Always with `validation_error`.',
  }),
  more_errors: z.literal(true).optional().meta({
    description: 'There are more faults than `errors` lists. Only with `validation_error`.',
  }),
  field: z
    .string()
    .optional()
    .meta({
      description:
        'The field at fault, if there is only one. With `validation_error`, `conflict`, and ' +
        '`not_found` for an id in the body.',
    }),
  dimension: knownText(CATALOG_KINDS)
    .optional()
    .meta({ description: 'The catalog dimension at fault. Only with `kombination_ungueltig`.' }),
  id: z.string().optional().meta({
    description:
      'The id that is unknown or not visible. Only with `kombination_ungueltig`, and not always.',
  }),
};

/** What an entry of a batch can be refused for. */
const ENTRY_CODES = [
  'not_found',
  'vorgabe_gesperrt',
  'validation_error',
  'kombination_ungueltig',
] as const satisfies readonly ProblemCode[];

/** Why one entry of a batch was refused. */
export const entryProblem = z
  .object({
    ...fault,
    status: fault.status.meta({ description: 'The HTTP status that the entry alone would have.' }),
    code: knownText(ENTRY_CODES).meta({ description: 'As that of a refused call.' }),
  })
  .meta({
    description:
      'Why an entry was refused: what the same call with this entry alone would respond. Its ' +
      '`errors` name places in the entry, so `body.title` is the title of the entry.',
  });

/** What an entry of a batch was refused for. */
export type EntryProblem = z.output<typeof entryProblem>;

export const entryIndex = z.int().min(0).meta({
  description: 'The place of the entry in the request, from 0.',
});

/** The error body. */
export const problem = z
  .object({
    type: z.url().meta({
      description: 'A stable identifier, and the page that explains the code. Match on `code`.',
    }),
    title: z.string().meta({
      description: 'What happened, in the language of `Accept-Language` (`de` or `en`).',
    }),
    status: fault.status,
    code: fault.code,
    request_id: z.uuid().meta({
      description:
        'Also in the header `X-Request-Id`, but for a replay. Name it when you contact support.',
    }),
    detail: fault.detail,
    errors: fault.errors,
    more_errors: fault.more_errors,
    field: fault.field,
    dimension: fault.dimension,
    id: fault.id,
    required_scope: knownText(TEST_SCOPES)
      .optional()
      .meta({ description: 'The scope that the call needs. Only with `insufficient_scope`.' }),
    retry_after: z
      .int()
      .min(0)
      .optional()
      .meta({
        description:
          'Seconds to wait, as the header `Retry-After`. With `rate_limited`, and with a ' +
          '`conflict` that passes by itself, such as a call with the same `Idempotency-Key` ' +
          'that is still running.',
      }),
    entries: z
      .array(
        z.object({
          index: entryIndex,
          problem: entryProblem,
        }),
      )
      .optional()
      .meta({ description: 'The entries that are wrong, and why. Only with `batch_refused`.' }),
  })
  .meta({ description: 'Why a request was refused, as in RFC 9457.' });
