// Small rules of src/core and src/db that many features rely on.
import { describe, expect, it, test } from 'vitest';
import { hasApi, PLANS } from '../../src/core/plans.ts';
import {
  narrow,
  privacyOf,
  privacyOfCall,
  requireMemberDetail,
  showsLeaderboard,
  showsMemberDetail,
} from '../../src/core/privacy.ts';
import { invalidField, notFound, PROBLEMS, ProblemError } from '../../src/core/problem.ts';
import { dateInput, dateTimeInput, toInstant } from '../../src/core/shapes.ts';
import { isConnectionBroken, isUnavailable } from '../../src/db/errors.ts';
import { isoFromText } from '../../src/db/wire/types.ts';

test('the API is part of the plans team and enterprise', () => {
  expect(PLANS.filter(hasApi)).toEqual(['team', 'enterprise']);
  expect(hasApi('unknown')).toBe(false);
});

describe('the leaderboard', () => {
  it.each([
    [true, true, 5, true],
    [true, true, 4, false],
    [false, true, 5, false],
    [true, false, 5, false],
  ])(
    'with details %s, leaderboard %s and %i people is shown: %s',
    (detail, board, people, shown) => {
      const privacy = privacyOf({ memberDetailEnabled: detail, leaderboardEnabled: board });
      expect(showsLeaderboard(privacy, people)).toBe(shown);
    },
  );
});

test('a page about one person throws privacy_restricted while details are off', () => {
  const open = (memberDetailEnabled: boolean) => () =>
    requireMemberDetail(privacyOf({ memberDetailEnabled, leaderboardEnabled: true }));
  expect(open(true)).not.toThrow();
  expect(open(false)).toThrow(expect.objectContaining({ code: 'privacy_restricted' }));
});

test('a call shows what all switches that it has read allow, and no other call does', () => {
  const on = privacyOf({ memberDetailEnabled: true, leaderboardEnabled: true });
  const off = privacyOf({ memberDetailEnabled: false, leaderboardEnabled: true });
  const call = privacyOfCall(on);
  narrow(call, on);
  expect([showsMemberDetail(call), showsLeaderboard(call, 5)]).toEqual([true, true]);
  narrow(call, privacyOf({ memberDetailEnabled: true, leaderboardEnabled: false }));
  expect([showsMemberDetail(call), showsLeaderboard(call, 5)]).toEqual([true, false]);
  narrow(call, off);
  narrow(call, on);
  expect([showsMemberDetail(call), showsMemberDetail(on)]).toEqual([false, true]);
});

describe('a problem', () => {
  it('has the status of its code, and bad_request also another one', () => {
    expect(new ProblemError('not_found').status).toBe(404);
    expect(new ProblemError('bad_request').status).toBe(400);
    expect(new ProblemError('bad_request', { status: 413 }).status).toBe(413);
  });

  it('of a missing thing says nothing about it', () => {
    expect(notFound()).toMatchObject({ code: 'not_found', fields: {} });
  });

  it('of a refused value names the field', () => {
    expect(invalidField('title', 'Too long.')).toMatchObject({
      code: 'validation_error',
      fields: { field: 'title', detail: 'Too long.' },
    });
  });

  it.each(Object.entries(PROBLEMS))('%s has its texts in both languages', (_code, problem) => {
    for (const text of [problem.title, problem.cause, problem.remedy])
      expect(text).toEqual({
        de: expect.stringMatching(/\S/) as string,
        en: expect.stringMatching(/\S/) as string,
      });
  });
});

describe('a date-time in a request', () => {
  it.each(['2026-11-02T09:15:00Z', '2026-11-02T09:15:00.5+02:00', '0001-01-01T00:00:00Z'])(
    'may be %s',
    (text) => expect(dateTimeInput.safeParse(text).success).toBe(true),
  );

  it.each(['2026-11-02T09:15:00', '2026-11-02', '2026-02-30T00:00:00Z', '0000-06-01T00:00:00Z'])(
    'must not be %s',
    (text) => expect(dateTimeInput.safeParse(text).success).toBe(false),
  );

  it('is an instant in UTC to the database', () => {
    expect(toInstant('2026-11-02T00:15:00.5+02:00')).toBe('2026-11-01T22:15:00.500Z');
  });
});

test.each([
  ['2026-11-02', true],
  ['2028-02-29', true],
  ['2027-02-29', false],
  ['0000-01-01', false],
  ['2026-11-2', false],
])('the calendar date %s is valid: %s', (text, valid) => {
  expect(dateInput.safeParse(text).success).toBe(valid);
});

test.each([
  ['2026-01-02 03:04:05+00', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02 03:04:05.6+00', '2026-01-02T03:04:05.600Z'],
  ['2026-01-02 03:04:05.67+00', '2026-01-02T03:04:05.670Z'],
  ['2026-01-02 03:04:05.678+00', '2026-01-02T03:04:05.678Z'],
  ['2026-01-02 03:04:05.6+02', '2026-01-02T01:04:05.600Z'],
  ['2026-01-02 03:04:05.678901+00', '2026-01-02T03:04:05.678Z'],
])('the timestamp %s of the database is read as %s', (text, iso) => {
  expect(isoFromText(text)).toBe(iso);
});

describe('an error of the database', () => {
  const withCode = (code: string): Error => Object.assign(new Error('x'), { code });
  const NETWORK = [
    'EHOSTDOWN',
    'ENETDOWN',
    'EADDRNOTAVAIL',
    'EMFILE',
    'EAI_FAIL',
    'EPROTO',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ];

  it.each<[string, unknown]>([
    ['a refused connection', withCode('ECONNREFUSED')],
    ['a failed connection', withCode('08006')],
    ['a full disk', withCode('53100')],
    ['too many connections', withCode('53300')],
    ['a cancelled statement', withCode('57014')],
    ['a shutdown', withCode('57P01')],
    ['a start', withCode('57P03')],
    ['a failing disk', withCode('58030')],
    ['a failover', withCode('25006')],
    ['a serialization failure', withCode('40001')],
    ['a deadlock', withCode('40P01')],
    ['a lock that was not free in time', withCode('55P03')],
    ['a transaction that took too long', withCode('25P04')],
    ...NETWORK.map((code): [string, unknown] => [code, withCode(code)]),
    ['a broken connection', new Error('Connection terminated unexpectedly')],
    ['the watchdog', new Error('Query read timeout')],
    ['a cause inside', new Error('x', { cause: withCode('ECONNRESET') })],
    ['several addresses', new AggregateError([new Error('x'), withCode('ECONNREFUSED')])],
    [
      'a shard that is being split',
      Object.assign(new Error('could not find valid entry for shard 102147'), { code: 'XX000' }),
    ],
  ])('means unavailable for %s', (_what, error) => {
    expect(isUnavailable(error)).toBe(true);
  });

  it.each<[string, unknown]>([
    ['a violated constraint', withCode('23505')],
    ['a limit of the program', withCode('54000')],
    ['an internal error', withCode('XX000')],
    ['a code that only begins like one', withCode('530')],
    ['a programming error', new TypeError('x is undefined')],
    ['a misuse of Node', withCode('ERR_INVALID_ARG_TYPE')],
    ['something that is no error', 'ECONNREFUSED'],
  ])('does not mean unavailable for %s', (_what, error) => {
    expect(isUnavailable(error)).toBe(false);
  });

  it.each<[string, unknown, boolean]>([
    ['a failed connection', withCode('08006'), true],
    ['a reset connection', withCode('ECONNRESET'), true],
    ...NETWORK.map((code): [string, unknown, boolean] => [code, withCode(code), true]),
    ['a shutdown', withCode('57P01'), true],
    ['a start', withCode('57P03'), true],
    ['a failover', withCode('25006'), true],
    ['a transaction that took too long', withCode('25P04'), true],
    ['a lock that was not free in time', withCode('55P03'), false],
    ['the watchdog', new Error('Query read timeout'), true],
    ['a cause inside', new Error('x', { cause: withCode('08003') }), true],
    ['a full disk', withCode('53100'), false],
    ['a failing disk', withCode('58030'), false],
    ['a cancelled statement', withCode('57014'), false],
    ['a deadlock', withCode('40P01'), false],
    ['a violated constraint', withCode('23505'), false],
  ])('tells whether its connection is of use after %s', (_what, error, isBroken) => {
    expect(isConnectionBroken(error)).toBe(isBroken);
  });
});
