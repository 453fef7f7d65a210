import type { oas31 } from 'zod-openapi';
import { z } from 'zod';
import { CATALOG_KINDS } from '../../core/catalog-kinds.ts';
import { insufficientScope, PROBLEMS, ProblemError, type ProblemCode } from '../../core/problem.ts';
import type { Endpoint } from '../../routers/endpoints.ts';
import { TEST_SCOPES } from '../../core/scopes.ts';
import { knownText } from '../../core/shapes.ts';
import { refTo } from './schemas.ts';
import { stillRunning } from '../api/idempotency.ts';
import { problemBody } from '../api/problem-response.ts';
import { rateLimited } from '../api/rate-limited.ts';

/** `forbidden` occurs only in the tRPC API. A key that lacks a scope gets `insufficient_scope`. */
const CODES = (Object.keys(PROBLEMS) as readonly ProblemCode[]).filter(
  (code) => code !== 'forbidden',
);
const REQUEST_ID = '0193a1b2-7c4d-7e5f-8a6b-1c2d3e4f5a6b';

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

/** The error body. v1 may add codes, so `code` is not a closed enum. */
export const problem = z
  .object({
    type: z.url().meta({
      description: 'A stable identifier, and the page that explains the code. Match on `code`.',
    }),
    title: z.string().meta({
      description: 'What happened, in the language of `Accept-Language` (`de` or `en`).',
    }),
    status: z.int().min(400).max(599).meta({ description: 'Repeats the HTTP status.' }),
    code: knownText(CODES).meta({
      description: 'Stable and never localized. Treat an unknown one by its status.',
      examples: [...CODES],
    }),
    request_id: z.uuid().meta({
      description: 'Also in the header `X-Request-Id`. Name it when you contact support.',
    }),
    detail: z
      .string()
      .optional()
      .meta({ description: 'An English explanation for the developer. Never with 500 or 503.' }),
    errors: z.array(fieldError).optional().meta({
      description:
        'What is wrong with the input, 20 faults at most. Always with `validation_error`.',
    }),
    more_errors: z.literal(true).optional().meta({
      description: 'There are more faults than `errors` lists. Only with `validation_error`.',
    }),
    field: z
      .string()
      .optional()
      .meta({
        description:
          'The field at fault, if there is only one. With `validation_error`, and with ' +
          '`not_found` for an id in the body.',
      }),
    dimension: knownText(CATALOG_KINDS)
      .optional()
      .meta({ description: 'The catalog dimension at fault. Only with `kombination_ungueltig`.' }),
    id: z.string().optional().meta({
      description:
        'The id that is unknown or not visible. Only with `kombination_ungueltig`, and not always.',
    }),
    required_scope: knownText(TEST_SCOPES)
      .optional()
      .meta({ description: 'The scope that the key lacks. Only with `insufficient_scope`.' }),
    retry_after: z
      .int()
      .min(0)
      .optional()
      .meta({
        description:
          'Seconds to wait, as the header `Retry-After`. With `rate_limited`, and with ' +
          '`conflict` only while a call with the same `Idempotency-Key` is still running.',
      }),
  })
  .meta({ description: 'Why a request was refused, as in RFC 9457.' });

/** The codes that an operation can respond with, by HTTP status in ascending order. */
export function codesByStatus(endpoint: Endpoint): ReadonlyMap<number, readonly ProblemCode[]> {
  const pairs = CODES.filter((code) => endpoint.errors.includes(code)).flatMap((code) =>
    statusesOf(code, endpoint).map((status) => ({ status, code })),
  );
  const grouped = Map.groupBy(
    pairs.toSorted((a, b) => a.status - b.status),
    ({ status }) => status,
  );
  return new Map([...grouped].map(([status, group]) => [status, group.map(({ code }) => code)]));
}

/** The status of `bad_request` depends on its cause: 413 and 415 need an operation with a body. */
function statusesOf(code: ProblemCode, { method }: Endpoint): readonly number[] {
  if (code !== 'bad_request') return [PROBLEMS[code].status];
  return method === 'POST' || method === 'PATCH' ? [400, 413, 415] : [400];
}

/** One example per problem code. `component` collects the examples that operations share. */
export function problemExample(
  publicUrl: string,
  endpoint: Endpoint,
  status: number,
  code: ProblemCode,
): { readonly component: string | null; readonly example: oas31.ExampleObject } {
  const { error, component } = sample(endpoint, status, code);
  const context = { publicUrl, language: 'en', requestId: REQUEST_ID, route: endpoint } as const;
  const value = problemBody(error, context);
  return { component, example: { summary: PROBLEMS[code].title.en, value } };
}

function sample(
  endpoint: Endpoint,
  status: number,
  code: ProblemCode,
): { error: ProblemError; component: string | null } {
  switch (code) {
    case 'bad_request':
      return {
        error: new ProblemError(code, { status, detail: BAD_REQUEST_DETAILS[status] ?? '' }),
        component: `${code}_${status}`,
      };
    case 'insufficient_scope':
      return { error: insufficientScope(endpoint.scope ?? 'users:read'), component: null };
    case 'validation_error':
      return sampleValidationError(endpoint);
    case 'kombination_ungueltig':
      return {
        error: new ProblemError(code, {
          dimension: 'situation',
          id: 'sit_unknown',
          detail:
            'The situation is unknown, or not visible to the team. Use an id from GET /catalog.',
        }),
        component: code,
      };
    case 'rate_limited':
      return { error: rateLimited({ limit: 120, resetS: 17 }, 'key'), component: code };
    case 'conflict':
      return {
        error: stillRunning(),
        component: code,
      };
    default:
      // Its detail is the operation's own if the cause is.
      return {
        error: new ProblemError(code),
        component: endpoint.causes[code] === undefined ? code : null,
      };
  }
}

const BAD_REQUEST_DETAILS: Readonly<Record<number, string>> = {
  400: 'The body ended before it was complete.',
  413: 'The body is larger than 1048576 bytes.',
  415: 'Send the body as application/json in UTF-8.',
};

/** An example of invalid input, in the operation's body, query or path. */
function sampleValidationError(endpoint: Endpoint): {
  error: ProblemError;
  component: string | null;
} {
  const names = Object.keys(endpoint.input.shape);
  const own = names.find((name) => !endpoint.pathParameters.includes(name));
  if (endpoint.bodyName !== null && own !== undefined) {
    return validationError(
      `body.${own}`,
      'Invalid input: expected string, received number',
      'invalid_type',
      null,
    );
  }
  if (names.includes('limit'))
    return validationError(
      'query.limit',
      'Too big: expected number to be <=200',
      'too_big',
      'query',
    );
  const [parameter] = endpoint.pathParameters;
  if (parameter !== undefined)
    return validationError(
      `path.${parameter}`,
      'Malformed percent-encoding.',
      'invalid_encoding',
      null,
    );
  return validationError('query', 'Malformed percent-encoding.', 'invalid_encoding', 'encoding');
}

function validationError(
  path: string,
  message: string,
  code: string,
  variant: string | null,
): { error: ProblemError; component: string | null } {
  const [, field] = path.split('.');
  const error = new ProblemError('validation_error', {
    errors: [{ path, message, code }],
    ...(field !== undefined && { field, detail: message }),
  });
  return { error, component: variant === null ? null : `validation_error_${variant}` };
}

/**
 * Describes the problem codes of one status, each with what it means for the operation. The pages
 * of the operations read it with `readCauses`.
 */
export function describeCodes(
  { causes }: Pick<Endpoint, 'causes'>,
  status: number,
  codes: readonly ProblemCode[],
): string {
  const lines = codes.map((code) => {
    const detail = code === 'bad_request' ? BAD_REQUEST_DETAILS[status] : undefined;
    return `\`${code}\`: ${detail ?? causes[code] ?? PROBLEMS[code].cause.en}`;
  });
  return lines.join('\n\n');
}

/** Reads the text of `describeCodes`: what each code means. */
export function readCauses(description: string): ReadonlyMap<string, string> {
  const lines = description.matchAll(/^`(\w+)`: (.+)$/gm);
  return new Map(Array.from(lines, ([, code = '', cause = '']) => [code, cause]));
}

export const problemRef = refTo('schemas', 'Problem');
