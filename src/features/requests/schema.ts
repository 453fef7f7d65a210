import { z } from 'zod';
import { pageQuery, searchPageOf } from '../../core/page.ts';
import { dateTime, dateTimeInput, id, knownText, nameInput } from '../../core/shapes.ts';

/** A call of the API as the log shows it. */
export const loggedRequest = z
  .object({
    id: z.string().meta({ description: 'The `X-Request-Id` of the response.' }),
    created_at: dateTime.meta({ description: 'When the request came.' }),
    key_id: z.string().meta({ description: 'The API key that called.' }),
    method: knownText(['GET', 'POST', 'PATCH', 'DELETE']).meta({
      description: 'HTTP method of the request.',
    }),
    route: z.string().meta({ description: 'The path with the names of its parameters.' }),
    status: z.int().meta({
      description: 'HTTP status of the response; 499 if the caller hung up before it.',
    }),
    duration_ms: z.int().meta({ description: 'How long the call took, in milliseconds.' }),
    network: z
      .string()
      .nullable()
      .meta({ description: "The /24 network of the caller's address, or /48 for IPv6." }),
    error_code: z.string().nullable().meta({ description: 'The `code` of the problem, if any.' }),
    errors: z
      .array(
        z.object({
          path: z.string().meta({ description: 'Where the value was.' }),
          code: z.string().meta({ description: 'The kind of fault.' }),
        }),
      )
      .nullable()
      .meta({
        description:
          'Where the faults of the input were, without their values. With the code `ignored`: a ' +
          'query parameter that the operation does not know, also of a call that has worked.',
      }),
  })
  .meta({ description: 'A call of the API, as the log has it.' });

export const requestPage = searchPageOf(loggedRequest);

const localized = z.object({ de: z.string(), en: z.string() });

/** A call with what the documentation says about its error. */
export const explainedRequest = loggedRequest.extend({
  help: z.object({ title: localized, cause: localized, remedy: localized }).nullable().meta({
    description: 'About `error_code`; null without one, and for one of an older release.',
  }),
});

export const getInput = z.object({
  request_id: id.meta({
    description: 'The `X-Request-Id` of a response.',
    examples: ['01932f4c-6b1e-7c3a-9f2d-5e8a1b7c4d60'],
  }),
});

export const listInput = z.strictObject({
  ...pageQuery,
  request_id: id.optional(),
  key_id: id.optional(),
  route: nameInput.optional(),
  status: z.int().min(100).max(599).optional(),
  status_class: z
    .enum(['2xx', '3xx', '4xx', '5xx', 'errors'])
    .optional()
    .meta({ description: 'Every status that begins with this digit; `errors`: 400 and above.' }),
  error_code: nameInput.optional(),
  since: dateTimeInput.optional().meta({ description: 'Came at or after this moment.' }),
  until: dateTimeInput.optional().meta({ description: 'Came before this moment.' }),
});
