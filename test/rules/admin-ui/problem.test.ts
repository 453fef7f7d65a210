// What the page makes of the error of a call.
import { TRPCClientError } from '@trpc/client';
import { describe, expect, test } from 'vitest';
import { changedMeanwhile, problemOf } from '../../../src/admin-ui/lib/problem.ts';

/** The error of a call as the client throws it. */
function refusal(problem: object | null): Error {
  const error = { code: -32_600, message: 'refused', data: { problem } };
  return TRPCClientError.from({ error } as never);
}

const NONE = { requestId: null, fields: [], detail: null };

describe('an error of a call', () => {
  test.each([
    ['without an answer', TRPCClientError.from(new Error('fetch failed'))],
    ['whose answer is not ours', refusal(null)],
    ['of something else', new Error('changed meanwhile')],
    ['that is none', 'ChangedMeanwhile'],
    ['that is nothing', null],
    ['that has the name of ours', { name: 'ChangedMeanwhile' }],
    ['that has the form of ours', { data: { problem: { code: 'conflict', request_id: '1' } } }],
  ])('%s is one of the network', (_, error) => {
    expect(problemOf(error)).toEqual({ code: 'network', ...NONE });
  });

  test('by a change of another admin says so', () => {
    expect(changedMeanwhile()).toBeInstanceOf(Error);
    expect(problemOf(changedMeanwhile())).toEqual({ code: 'changed_meanwhile', ...NONE });
  });

  test('has its code, its request and what it says', () => {
    const problem = { code: 'conflict', request_id: 'r1', detail: 'It is there.' };
    expect(problemOf(refusal(problem))).toEqual({
      code: 'conflict',
      requestId: 'r1',
      fields: [],
      detail: 'It is there.',
    });
    expect(problemOf(refusal({ code: 'conflict', request_id: 'r1' })).detail).toBeNull();
  });

  test('about one field names it', () => {
    const problem = { code: 'conflict', request_id: 'r1', field: 'email', detail: 'It is taken.' };
    expect(problemOf(refusal(problem)).fields).toEqual([
      { field: 'email', code: 'conflict', message: 'It is taken.' },
    ]);
    const silent = { code: 'conflict', request_id: 'r1', field: 'email' };
    expect(problemOf(refusal(silent)).fields).toEqual([
      { field: 'email', code: 'conflict', message: '' },
    ]);
  });

  test.each([
    ['email', 'email'],
    ['body.email', 'email'],
    ['query.limit', 'limit'],
    ['path.member_id', 'member_id'],
    ['input.url', 'url'],
    ['body.events[2]', 'events'],
    ['events[0].name', 'events'],
    ['input.body.email', 'body'],
    ['antibody.email', 'antibody'],
    ['bodyweight', 'bodyweight'],
    ['', ''],
  ])('at %j is one of the field %j', (path, field) => {
    const errors = [{ path, code: 'too_small', message: 'Too small.' }];
    const problem = { code: 'validation_error', request_id: 'r1', errors };
    expect(problemOf(refusal(problem)).fields).toEqual([
      { field, code: 'too_small', message: 'Too small.' },
    ]);
  });

  test('at several fields names each, in their order', () => {
    const errors = ['body.b', 'body.a'].map((path) => ({ path, code: 'x', message: path }));
    const problem = { code: 'validation_error', request_id: 'r1', field: 'c', errors };
    expect(problemOf(refusal(problem)).fields.map(({ field }) => field)).toEqual(['b', 'a']);
  });
});
