import { describe, expect, test } from 'vitest';
import type { MemberStatus, Role } from '../../src/core/actor.ts';
import {
  changeOf,
  isChange,
  requireActiveAdmin,
  requireBlockable,
  requireReleasable,
} from '../../src/features/team-settings/rules.ts';

const fault = (field: string, detail?: string) =>
  expect.objectContaining({
    code: 'validation_error',
    fields: expect.objectContaining({ field, ...(detail !== undefined && { detail }) }),
  });

describe('a right', () => {
  test('can be granted to an active admin', () => {
    expect(() => requireActiveAdmin({ role: 'admin', status: 'active' })).not.toThrow();
  });

  test.each<[Role, MemberStatus]>([
    ['admin', 'invited'],
    ['admin', 'ended'],
    ['owner', 'active'],
    ['member', 'active'],
  ])('cannot be granted to a member who is %s and %s', (role, status) => {
    expect(() => requireActiveAdmin({ role, status })).toThrow(fault('member_id'));
  });
});

describe('a list of ids', () => {
  test.each<[string[], string[], string[], string[]]>([
    [[], [], [], []],
    [['a'], ['a'], [], []],
    [['a', 'b'], ['b', 'a', 'b'], [], []],
    [[], ['a', 'a'], ['a'], []],
    [['a'], [], [], ['a']],
    [['a', 'b'], ['b', 'c'], ['c'], ['a']],
  ])('changes from %j to %j by adding %j and removing %j', (before, after, added, removed) => {
    const change = changeOf(before, after);
    expect(change).toEqual({ added, removed });
    expect(isChange(change)).toBe(added.length + removed.length > 0);
  });
});

describe('a blocked or released id', () => {
  test('must be known', () => {
    const change = { added: ['a', 'x', 'y'], removed: [] };
    expect(() => requireBlockable(change, ['a', 'b'])).toThrow(
      fault('blocked', 'Unknown catalog entry: x'),
    );
    expect(() => requireReleasable(['a', 'x', 'y'], ['a', 'b'])).toThrow(
      fault('released', 'Unknown catalog entry: x'),
    );
  });

  test('may be known or absent', () => {
    expect(() => requireBlockable({ added: ['a'], removed: [] }, ['a'])).not.toThrow();
    expect(() => requireReleasable([], [])).not.toThrow();
  });

  test('may be removed, even if it has left the catalog', () => {
    expect(() => requireBlockable({ added: [], removed: ['x'] }, [])).not.toThrow();
  });

  test('is cut to 100 characters in the error', () => {
    expect(() => requireReleasable(['x'.repeat(101)], [])).toThrow(
      fault('released', `Unknown catalog entry: ${'x'.repeat(100)}`),
    );
  });
});
