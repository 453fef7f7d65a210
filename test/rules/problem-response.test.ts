import { TRPCError } from '@trpc/server';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { invalidField, notFound, ProblemError } from '../../src/core/problem.ts';
import { unavailable } from '../../src/db/errors.ts';
import { isOurFault, problemBody, toProblem } from '../../src/http/api/problem-response.ts';

type Route = NonNullable<Parameters<typeof toProblem>[1]>;

const POST: Route = { method: 'POST', path: '/users' };
const NO_CONNECTION = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });

function failureOf(schema: z.ZodType, input: unknown): z.ZodError {
  const { error } = schema.safeParse(input);
  if (!error) throw new Error('the input is valid');
  return error;
}

/** The places and codes that a refused value is reported with. */
function reported(error: z.ZodError, route: Route | null): [path: string, code: string][] {
  const { code, fields } = toProblem(error, route);
  expect(code).toBe('validation_error');
  return (fields['errors'] as { path: string; code: string }[]).map((each) => [
    each.path,
    each.code,
  ]);
}

describe('an error', () => {
  const missing = failureOf(z.object({ title: z.string() }), {});
  const trpc = (code: TRPCError['code'], cause?: unknown, message?: string): TRPCError =>
    new TRPCError({ code, cause, ...(message === undefined ? {} : { message }) });

  it.each<[string, unknown, string, number]>([
    ['that a feature throws on purpose', notFound(), 'not_found', 404],
    ['in the input', trpc('BAD_REQUEST', missing), 'validation_error', 422],
    [
      'in the output, which is our fault',
      trpc('INTERNAL_SERVER_ERROR', missing, 'Output validation failed'),
      'internal',
      500,
    ],
    [
      'that a procedure throws on purpose',
      trpc('INTERNAL_SERVER_ERROR', new ProblemError('last_admin')),
      'last_admin',
      409,
    ],
    [
      'that a procedure does not expect',
      trpc('INTERNAL_SERVER_ERROR', new TypeError('x is undefined')),
      'internal',
      500,
    ],
    ['that tRPC does not explain', trpc('INTERNAL_SERVER_ERROR'), 'internal', 500],
    ['for an unknown procedure', trpc('NOT_FOUND'), 'not_found', 404],
    ['for a body that is not JSON', trpc('PARSE_ERROR', new SyntaxError('x')), 'bad_request', 400],
    ['for a bad request', trpc('BAD_REQUEST'), 'bad_request', 400],
    ['for a wrong method', trpc('METHOD_NOT_SUPPORTED'), 'bad_request', 405],
    ['for a large body', trpc('PAYLOAD_TOO_LARGE'), 'bad_request', 413],
    ['for a wrong content type', trpc('UNSUPPORTED_MEDIA_TYPE'), 'bad_request', 415],
    ['of a broken connection', NO_CONNECTION, 'unavailable', 503],
    [
      'of a broken connection in a procedure',
      trpc('INTERNAL_SERVER_ERROR', NO_CONNECTION),
      'unavailable',
      503,
    ],
    ['that nobody expects', new TypeError('x is undefined'), 'internal', 500],
    ['that is no error', undefined, 'internal', 500],
  ])('%s is the right problem', (_what, error, code, status) => {
    expect(toProblem(error, POST)).toMatchObject({ code, status });
  });

  it('that a feature throws on purpose keeps its fields', () => {
    const problem = invalidField('name', 'Taken.');
    expect(toProblem(problem, POST)).toBe(problem);
    expect(toProblem(trpc('INTERNAL_SERVER_ERROR', problem), POST)).toBe(problem);
  });
});

// A team's own burst is no news for the operator, and a database that is away is.
test.each<[string, unknown, boolean]>([
  ['a database that is away', unavailable(NO_CONNECTION), true],
  ['a broken connection', NO_CONNECTION, true],
  ['what nobody expects', new TypeError('x is undefined'), true],
  ['a team with too much in progress', new ProblemError('unavailable'), false],
  ['a refusal', notFound(), false],
])('%s is our fault or not', (_what, error, expected) => {
  expect(isOurFault(error, toProblem(error, POST))).toBe(expected);
});

describe('a refused value', () => {
  const issueAt = (path: (string | number)[]): z.ZodError =>
    new z.ZodError([{ code: 'invalid_format', format: 'email', message: 'x', path }]);

  test.each<[Route | null, (string | number)[], string]>([
    [POST, ['title'], 'body.title'],
    [POST, ['events', 0, 'type'], 'body.events.0.type'],
    [POST, [], 'body'],
    [{ method: 'PATCH', path: '/users' }, ['title'], 'body.title'],
    [{ method: 'GET', path: '/users' }, ['limit'], 'query.limit'],
    [{ method: 'DELETE', path: '/users' }, ['limit'], 'query.limit'],
    [{ method: 'GET', path: '/users/{member_id}' }, ['member_id'], 'path.member_id'],
    [{ method: 'PATCH', path: '/users/{member_id}' }, ['role', 'member_id'], 'body.role.member_id'],
    [{ method: 'PATCH', path: '/users/{member_id}' }, ['role'], 'body.role'],
    [null, ['member_id'], 'input.member_id'],
  ])('of %j at %j is reported at %s', (route, path, expected) => {
    expect(reported(issueAt(path), route)).toEqual([[expected, 'invalid_format']]);
  });

  // http/api/request-input.ts marks such a field with an empty first step.
  it('of the body is told from a parameter of the path with the same name', () => {
    const route: Route = { method: 'PATCH', path: '/users/{member_id}' };
    expect(reported(issueAt(['', 'member_id']), route)).toEqual([
      ['body.member_id', 'invalid_format'],
    ]);
  });

  it('may have a field with an empty name', () => {
    expect(reported(issueAt(['']), POST)).toEqual([['body.', 'invalid_format']]);
  });
});

describe('the errors of a request', () => {
  it('name each misspelt field', () => {
    const schema = z.strictObject({ member: z.strictObject({ title: z.string() }) });
    const error = failureOf(schema, { member: { title: 'x', titel: 'x', '': 'x' } });
    expect(reported(error, POST)).toEqual([
      ['body.member.titel', 'unrecognized_keys'],
      ['body.member.', 'unrecognized_keys'],
    ]);
  });

  it('have the code of the rule that was broken, if the rule has one', () => {
    const schema = z.object({
      own: z.unknown().refine(() => false, { params: { code: 'invalid_number' } }),
      plain: z.unknown().refine(() => false),
      short: z.string().min(2),
    });
    expect(reported(failureOf(schema, { own: 1, plain: 1, short: 'x' }), POST)).toEqual([
      ['body.own', 'invalid_number'],
      ['body.plain', 'custom'],
      ['body.short', 'too_small'],
    ]);
  });
});

describe('the body of a problem', () => {
  const context = {
    publicUrl: 'https://api.test',
    language: 'de',
    requestId: 'req_1',
    route: POST,
  } as const;

  it('links to its documentation and has its title in the language of the request', () => {
    expect(problemBody(invalidField('name', 'Taken.'), context)).toEqual({
      type: 'https://api.test/docs/errors#validation_error',
      title: 'Ungültige Eingabe',
      status: 422,
      code: 'validation_error',
      request_id: 'req_1',
      errors: [{ path: 'body.name', message: 'Taken.', code: 'refused' }],
      field: 'name',
      detail: 'Taken.',
    });
    expect(problemBody(notFound(), { ...context, language: 'en' }).title).toBe('Not found');
  });

  it('has the status of a bad request that has one of its own', () => {
    expect(problemBody(new ProblemError('bad_request', { status: 413 }), context).status).toBe(413);
  });
});

describe('an answer to a bad input', () => {
  const errorsOf = (shape: z.ZodType, input: unknown) => {
    const { fields } = toProblem(failureOf(shape, input), POST);
    return fields as { errors: { path: string; message: string }[]; more_errors?: true };
  };
  const unknown = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, 1]));

  it('lists 20 faults, and says whether there are more', () => {
    const all = errorsOf(z.strictObject({}), unknown(20));
    expect([all.errors.length, all.more_errors]).toEqual([20, undefined]);
    for (const shape of [z.strictObject({}), z.record(z.string(), z.string())]) {
      const some = errorsOf(shape, unknown(21));
      expect([some.errors.length, some.more_errors]).toEqual([20, true]);
    }
  });

  it('counts several faults of one place once', () => {
    const shape = z.string().min(3).regex(/b/).array();
    const some = errorsOf(
      shape,
      Array.from({ length: 20 }, () => ''),
    );
    expect([some.errors.length, some.more_errors]).toEqual([20, undefined]);
  });

  it('cuts long names of the caller, and no character in two', () => {
    const name = `${'x'.repeat(99)}😀${'y'.repeat(100_000)}`;
    const { errors } = errorsOf(z.strictObject({ a: z.record(z.string(), z.int()) }), {
      a: { [name]: 'x' },
      [name]: 1,
    });
    const cut = `${'x'.repeat(99)}\ufffd…`;
    expect(errors).toMatchObject([
      { path: `body.a.${cut}` },
      { path: `body.${cut}`, message: `Unknown field: ${cut}` },
    ]);
  });
});
