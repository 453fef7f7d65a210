import { describe, expect, test } from 'vitest';
import { SCOPES } from '../../src/core/scopes.ts';
import {
  baseOf,
  inOrder,
  NAMES_AT_ONCE,
  requireCreatable,
  requireCreator,
  requireFuture,
  requirePlanWithApi,
  requireRoomForSuccessor,
  requireRotatable,
  successorNames,
  templatesOf,
} from '../../src/features/api-keys/rules.ts';
import { TEAM_LIMITS } from '../../src/core/team-limits.ts';

const LIVE_KEYS_MAX = TEAM_LIMITS.liveKeys.live;

const refusalOf = (field: string) =>
  expect.objectContaining({
    code: 'validation_error',
    fields: expect.objectContaining({ field }),
  });

describe('the scopes of a key', () => {
  test('are each there once, in the order of the documentation', () => {
    expect(inOrder(['webhooks:manage', 'users:read', 'webhooks:manage', 'cases:read'])).toEqual([
      'users:read',
      'cases:read',
      'webhooks:manage',
    ]);
  });

  test('of the general templates are all that read, and those that write assignments', () => {
    const reading = SCOPES.filter((scope) => scope.endsWith(':read'));
    const withAssignments = SCOPES.filter(
      (scope) => reading.includes(scope) || scope === 'assignments:write',
    );
    const scopesOf = (id: string) => templatesOf('live').find((one) => one.id === id)?.scopes;
    expect(scopesOf('read_only')).toEqual(reading);
    expect(scopesOf('read_and_assignments')).toEqual(withAssignments);
  });

  test('of a template for one purpose are fewer, and never those of webhooks', () => {
    const general = ['read_only', 'read_and_assignments'];
    const purposes = templatesOf('live').filter(({ id }) => !general.includes(id));
    expect(purposes).toHaveLength(3);
    for (const { scopes } of purposes) {
      expect(scopes.length).toBeLessThan(5);
      expect(scopes).not.toContain('webhooks:manage');
    }
  });
});

describe('a plan', () => {
  test.each(['team', 'enterprise'])('with the API, such as %s, can have keys', (plan) => {
    expect(() => requirePlanWithApi(plan)).not.toThrow();
  });

  test('without the API cannot have keys', () => {
    expect(() => requirePlanWithApi('starter')).toThrow(
      expect.objectContaining({ code: 'api_disabled' }),
    );
  });
});

describe('the creator of a key', () => {
  test('is the member who acts', () => {
    expect(requireCreator({ kind: 'user', id: 'mem_1' } as never)).toBe('mem_1');
  });

  test.each(['api_key', 'platform', 'system'])('is never of the kind %s', (kind) => {
    expect(() => requireCreator({ kind, id: 'x' } as never)).toThrow(
      expect.objectContaining({ code: 'forbidden' }),
    );
  });
});

describe('the expiry', () => {
  const now = new Date('2026-11-02T09:00:00.000Z');

  test.each([null, '2026-11-02T09:00:00.001Z'])('may be %s', (expiresAt) => {
    expect(() => requireFuture(expiresAt, now)).not.toThrow();
  });

  test.each(['2026-11-02T09:00:00.000Z', '2026-11-02T08:59:59.999Z'])(
    'may not be %s',
    (expiresAt) => {
      expect(() => requireFuture(expiresAt, now)).toThrow(refusalOf('expires_at'));
    },
  );
});

describe('a creation', () => {
  test('is possible up to the maximum of live keys', () => {
    const facts = { liveKeys: LIVE_KEYS_MAX - 1, nameTaken: false };
    expect(LIVE_KEYS_MAX).toBe(50);
    expect(() => requireCreatable('team_a', facts)).not.toThrow();
  });

  test.each([
    { liveKeys: LIVE_KEYS_MAX, nameTaken: false },
    { liveKeys: 0, nameTaken: true },
  ])('is refused with $liveKeys live keys and the name taken: $nameTaken', (facts) => {
    expect(() => requireCreatable('team_a', facts)).toThrow(refusalOf('name'));
  });
});

describe('a rotation', () => {
  const SOON = '2026-11-03T09:00:00.000Z';

  test('is possible for a live key', () => {
    expect(() => requireRotatable({ state: 'active', revoked_at: null })).not.toThrow();
  });

  test.each([
    { state: 'active', revoked_at: SOON },
    { state: 'expired', revoked_at: null },
    { state: 'revoked', revoked_at: SOON },
  ] as const)('is refused for a key that is $state and ends at $revoked_at', (key) => {
    expect(() => requireRotatable(key)).toThrow(refusalOf('key_id'));
  });

  test.each([
    [LIVE_KEYS_MAX, 0],
    [LIVE_KEYS_MAX - 1, 1],
  ])('has room with %d live keys and a grace period of %d s', (liveKeys, graceS) => {
    expect(() => requireRoomForSuccessor('team_a', { liveKeys, graceS })).not.toThrow();
  });

  test.each([
    [LIVE_KEYS_MAX + 1, 0],
    [LIVE_KEYS_MAX, 1],
  ])('has no room with %d live keys and a grace period of %d s', (liveKeys, graceS) => {
    expect(() => requireRoomForSuccessor('team_a', { liveKeys, graceS })).toThrow(
      refusalOf('grace_s'),
    );
  });
});

describe('the name of a successor', () => {
  test.each([
    ['Import', 'Import (2)'],
    ['Import (2)', 'Import (3)'],
    ['Import (0)', 'Import (2)'],
    ['Import (1)', 'Import (2)'],
    ['Import (x)', 'Import (x) (2)'],
    ['Import (999999)', 'Import (1000000)'],
    ['Import (1234567)', 'Import (1234567) (2)'],
    ['Import(2)', 'Import(2) (2)'],
    ['Import (2) old', 'Import (2) old (2)'],
  ])('after %s is %s', (name, successor) => {
    expect(successorNames(name, 0)[0]).toBe(successor);
  });

  test('has one of the next numbers, and then one of those that follow', () => {
    const first = successorNames('Import (7)', 0);
    expect(first.slice(0, 3)).toEqual(['Import (8)', 'Import (9)', 'Import (10)']);
    expect(first).toHaveLength(100);
    const next = successorNames('Import (7)', NAMES_AT_ONCE);
    expect(next[0]).toBe(`Import (${8 + NAMES_AT_ONCE})`);
    expect(new Set([...first, ...next]).size).toBe(2 * NAMES_AT_ONCE);
  });

  test('has no white space before the number where a long name was cut', () => {
    const name = `${'x'.repeat(79)} yz`;
    expect(baseOf(name)).toBe('x'.repeat(79));
    expect(successorNames(name, 0)[0]).toBe(`${'x'.repeat(79)} (2)`);
  });

  test('keeps 80 characters of a long name, and no half of an emoji', () => {
    expect(baseOf('x'.repeat(80))).toBe('x'.repeat(80));
    expect(baseOf('x'.repeat(81))).toBe('x'.repeat(80));
    expect(baseOf('🔑'.repeat(81))).toBe('🔑'.repeat(80));
  });
});
