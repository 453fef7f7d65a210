import { describe, expect, test } from 'vitest';
import type { ApiKeyActor, CurrentActor, MemberStatus, Role } from '../../src/core/actor.ts';
import { HOUR_MS } from '../../src/core/hourly-limit.ts';
import { privacyOf } from '../../src/core/privacy.ts';
import type { ProblemError } from '../../src/core/problem.ts';
import { requireAcceptable } from '../../src/features/members/platform-rules.ts';
import {
  INVITATIONS_PER_HOUR,
  isAskedFor,
  requireAnotherAdmin,
  requireAssignableRole,
  requireBelowInvitationLimit,
  requireInvitable,
  requireInvited,
  requireMayChangeAdmins,
  requireNotOwner,
  type InvitationFacts,
} from '../../src/features/members/rules.ts';

const ROLES: readonly Role[] = ['owner', 'admin', 'member'];
const STATUSES: readonly MemberStatus[] = ['active', 'invited', 'ended'];
const NOW = new Date('2026-11-02T09:00:00Z');
const agoMs = (ms: number): string => new Date(NOW.getTime() - ms).toISOString();
/** The problem code that the check throws; null if it passes. */
const codeOf = (check: () => void): string | null => {
  try {
    check();
    return null;
  } catch (error) {
    return (error as ProblemError).code;
  }
};
const problem = (code: string, fields: object = {}) =>
  expect.objectContaining({ code, fields: expect.objectContaining(fields) });

test('a team may send 60 invitations per hour', () => {
  expect([INVITATIONS_PER_HOUR, HOUR_MS]).toEqual([60, 3_600_000]);
});

describe('a role', () => {
  test.each(['admin', 'member'])('can be %s', (role) => {
    expect(requireAssignableRole(role)).toBe(role);
  });

  test.each(['owner', 'Admin', ''])('cannot be "%s"', (role) => {
    expect(() => requireAssignableRole(role)).toThrow(
      problem('validation_error', { field: 'role' }),
    );
  });
});

describe('admins', () => {
  const creator = (role: Role, status: MemberStatus): CurrentActor => {
    const creator = { id: 'mem_1', role, status };
    const key: ApiKeyActor = { kind: 'api_key', id: 'key_1', scopes: [], creator };
    return key as CurrentActor;
  };

  test.each<[Role, MemberStatus]>([
    ['owner', 'active'],
    ['admin', 'active'],
  ])('may be made by a key whose creator is %s and %s', (role, status) => {
    expect(() => requireMayChangeAdmins(creator(role, status))).not.toThrow();
  });

  test.each<[Role, MemberStatus]>([
    ['member', 'active'],
    ['admin', 'ended'],
    ['owner', 'ended'],
  ])('may not be made by a key whose creator is %s and %s', (role, status) => {
    expect(() => requireMayChangeAdmins(creator(role, status))).toThrow(
      problem('insufficient_scope', { required_scope: 'users:write' }),
    );
  });
});

describe('a member to change', () => {
  test.each(ROLES)('with the role %s is refused only if it is the owner', (role) => {
    const code = codeOf(() => requireNotOwner({ role, status: 'active' }));
    expect(code).toBe(role === 'owner' ? 'owner' : null);
  });

  const targets = ROLES.flatMap((role) =>
    STATUSES.flatMap((status) => [false, true].map((hasOther) => ({ role, status, hasOther }))),
  );

  test.each(targets)('($role, $status) needs another admin; there is one: $hasOther', (target) => {
    const { hasOther, ...facts } = target;
    const isLast = facts.role === 'admin' && facts.status === 'active' && !hasOther;
    expect(codeOf(() => requireAnotherAdmin(facts, hasOther))).toBe(isLast ? 'last_admin' : null);
  });
});

describe('an invitation', () => {
  test('is open while the member is invited', () => {
    expect(() => requireInvited({ role: 'member', status: 'invited' })).not.toThrow();
  });

  test.each<MemberStatus>(['active', 'ended'])('is not open for a member who is %s', (status) => {
    expect(() => requireInvited({ role: 'member', status })).toThrow(
      problem('validation_error', { field: 'member_id' }),
    );
  });

  const FREE: InvitationFacts = {
    seats: 5,
    seatsUsed: 4,
    takenBy: null,
    limitingInvitedAt: null,
  };

  const TAKEN = { takenBy: 'mem_1' };
  const switches = (memberDetailEnabled: boolean) =>
    privacyOf({ memberDetailEnabled, leaderboardEnabled: true });
  const [ON, OFF] = [switches(true), switches(false)];

  test('is possible while a seat is free and the limit is not reached', () => {
    expect(() => requireInvitable(FREE, ON, NOW)).not.toThrow();
  });

  test('is refused without a word about the email while details are off', () => {
    const check = (facts: Partial<InvitationFacts>) => () =>
      requireInvitable({ ...FREE, ...TAKEN, ...facts }, OFF, NOW);
    expect(check({ seatsUsed: 5 })).toThrow(problem('seat_limit_reached'));
    expect(check({ limitingInvitedAt: agoMs(0) })).toThrow(problem('rate_limited'));
    expect(check({})).not.toThrow();
  });

  test.each<[string, Partial<InvitationFacts>]>([
    ['conflict', { ...TAKEN, seatsUsed: 5, limitingInvitedAt: agoMs(0) }],
    ['seat_limit_reached', { seatsUsed: 5, limitingInvitedAt: agoMs(0) }],
    ['seat_limit_reached', { seatsUsed: 6 }],
    ['seat_limit_reached', { seats: 0, seatsUsed: 0 }],
    ['rate_limited', { limitingInvitedAt: agoMs(0) }],
  ])('is refused with %s for %j', (code, facts) => {
    expect(() => requireInvitable({ ...FREE, ...facts }, ON, NOW)).toThrow(problem(code));
  });

  test.each<[number, number]>([
    [0, 3600],
    [1, 3600],
    [1000, 3599],
    [HOUR_MS - 1001, 2],
    [HOUR_MS - 1000, 1],
    [HOUR_MS - 1, 1],
    [HOUR_MS, 1],
  ])('over the limit since %i ms is possible again in %i s', (ms, retryAfterS) => {
    expect(() => requireBelowInvitationLimit(agoMs(ms), NOW)).toThrow(
      problem('rate_limited', { retry_after: retryAfterS }),
    );
  });

  test('is below the limit without a limiting one', () => {
    expect(() => requireBelowInvitationLimit(null, NOW)).not.toThrow();
  });
});

describe('an acceptance', () => {
  const invited = { role: 'member', status: 'invited', user_id: null } as const;
  const active = { role: 'member', status: 'active', user_id: 'usr_1' } as const;

  test('of an open invitation is made', () => {
    expect(requireAcceptable(invited, 'usr_1', false)).toBe(true);
  });

  test('by the same person again changes nothing', () => {
    expect(requireAcceptable(active, 'usr_1', true)).toBe(false);
  });

  test.each([true, false])('of what another person accepted is a conflict (live: %s)', (live) => {
    expect(() => requireAcceptable(active, 'usr_2', live)).toThrow(
      problem('conflict', { detail: 'Somebody else accepted the invitation.' }),
    );
  });

  test('by a person with another live membership is a conflict', () => {
    expect(() => requireAcceptable(invited, 'usr_1', true)).toThrow(
      problem('conflict', { detail: 'The person has another membership in the team.' }),
    );
  });
});

describe('a filtered list of members', () => {
  const admin = { role: 'admin', status: 'active' } as const;

  test.each([
    [{}, true],
    [{ role: 'admin' }, true],
    [{ role: 'member' }, false],
    [{ status: 'active' }, true],
    [{ status: 'invited' }, false],
    [{ role: 'admin', status: 'active' }, true],
    [{ role: 'admin', status: 'invited' }, false],
    [{ role: 'member', status: 'active' }, false],
  ])('asked for %o, holds an active admin: %s', (filters, isHeld) => {
    expect(isAskedFor(admin, filters)).toBe(isHeld);
  });
});
