import type { oas31 } from 'zod-openapi';
import { PAGE_LIMIT_MAX } from '../../core/page.ts';
import {
  insufficientScope,
  invalidInput,
  PROBLEMS,
  ProblemError,
  unknownId,
  type ProblemCode,
} from '../../core/problem.ts';
import { API_CODES, entryProblem, type EntryProblem } from '../../core/problem-shapes.ts';
import type { Endpoint } from '../../routers/endpoints.ts';
import { refTo } from './schemas.ts';
import { stillRunning } from '../api/idempotency.ts';
import { problemBody, toProblem } from '../api/problem-response.ts';
import { rateLimited } from '../api/rate-limited.ts';
import { UNDECODED } from '../api/request-input.ts';

const REQUEST_ID = '0193a1b2-7c4d-7e5f-8a6b-1c2d3e4f5a6b';

/** The codes that an operation can respond with, by HTTP status in ascending order. */
export function codesByStatus(endpoint: Endpoint): ReadonlyMap<number, readonly ProblemCode[]> {
  const pairs = API_CODES.filter((code) => endpoint.errors.includes(code)).flatMap((code) =>
    statusesOf(code).map((status) => ({ status, code })),
  );
  const grouped = Map.groupBy(
    pairs.toSorted((a, b) => a.status - b.status),
    ({ status }) => status,
  );
  return new Map([...grouped].map(([status, group]) => [status, group.map(({ code }) => code)]));
}

/** The status of `bad_request` depends on what is wrong with the body. */
function statusesOf(code: ProblemCode): readonly number[] {
  return code === 'bad_request' ? [400, 413, 415] : [PROBLEMS[code].status];
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
    case 'batch_refused':
      return {
        error: new ProblemError(code, {
          entries: [{ index: 1, problem: sampleEntryProblem(endpoint) }],
        }),
        component: null,
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

/** Of an entry of a batch that names an unknown member. */
function sampleEntryProblem(endpoint: Endpoint): EntryProblem {
  const context = {
    publicUrl: '',
    language: 'en',
    requestId: REQUEST_ID,
    route: endpoint,
  } as const;
  return entryProblem.parse(problemBody(unknownId('member_id'), context));
}

const BAD_REQUEST_DETAILS: Readonly<Record<number, string>> = {
  400: 'The body ended before it was complete.',
  413: 'The body is larger than 1048576 bytes.',
  415: 'Send the body as application/json in UTF-8.',
};

/** An example of invalid input, in the operation's body, query or path: what a call would get. */
function sampleValidationError(endpoint: Endpoint): {
  error: ProblemError;
  component: string | null;
} {
  const { input, pathParameters, bodyName } = endpoint;
  const own = Object.keys(input.shape).find((name) => !pathParameters.includes(name));
  if (bodyName !== null && own !== undefined)
    return { error: refuse(endpoint, own, WRONG_VALUES), component: null };
  if ('limit' in input.shape) {
    const error = refuse(endpoint, 'limit', [PAGE_LIMIT_MAX + 1]);
    return { error, component: 'validation_error_query' };
  }
  const [parameter] = pathParameters;
  const undecoded = invalidInput([parameter ?? '%E4'], UNDECODED, 'invalid_encoding');
  return {
    error: toProblem(undecoded, endpoint),
    component: parameter === undefined ? 'validation_error_encoding' : null,
  };
}

/** No field takes both. */
const WRONG_VALUES = [5, 'x'];

/** What the operation answers to the first of the values that it refuses. */
function refuse(endpoint: Endpoint, field: string, values: readonly unknown[]): ProblemError {
  const { input, pathParameters, example } = endpoint;
  const ids = Object.fromEntries(pathParameters.map((name) => [name, 'id']));
  for (const value of values) {
    const sent = { ...ids, ...(example.body as object | undefined), [field]: value };
    const { error } = input.safeParse(sent);
    if (error) return toProblem(error, endpoint);
  }
  throw new Error(`${endpoint.name} takes any ${field}`);
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
