import { describe, expect, it, test } from 'vitest';
import { mayAccess, requireAccess, type Access } from '../../src/core/access.ts';
import {
  mayChangeAdmins,
  type Actor,
  type CurrentActor,
  type MemberStatus,
  type Role,
} from '../../src/core/actor.ts';
import { EVENT_TYPES, isRaisedBy } from '../../src/core/events.ts';

const user = (role: Role, rights: readonly string[] = []): Actor => ({
  kind: 'user',
  id: 'usr_01',
  memberId: 'usr_01',
  role,
  rights,
  access: null,
});
const key = (role: Role = 'owner', status: MemberStatus = 'active'): Actor => ({
  kind: 'api_key',
  id: 'key_01',
  scopes: ['users:write'],
  creator: { id: 'mem_01', role, status },
});
const service: Actor = { kind: 'platform', id: 'billing' };
const granted = ['schnittstellen'];

/** Who may call a procedure of the tRPC API with this access. */
const TABLE: readonly [who: string, Actor, readonly Access[]][] = [
  ['the owner', user('owner'), ['admins', 'schnittstellen', 'owner']],
  ['an admin', user('admin'), ['admins']],
  ['an admin with the right', user('admin', granted), ['admins', 'schnittstellen']],
  ['an admin with another right', user('admin', ['billing']), ['admins']],
  ['a member', user('member'), []],
  ['a member with the right', user('member', granted), []],
  ['a service of the host application', service, ['platform']],
  ['an API key of the owner', key(), []],
];

describe('a procedure of the tRPC API', () => {
  it.each(TABLE)('is open to %s for exactly the declared access', (_who, actor, expected) => {
    const all: Access[] = ['admins', 'schnittstellen', 'owner', 'platform'];
    expect(all.filter((access) => mayAccess(actor, access))).toEqual(expected);
  });

  it('throws forbidden for others', () => {
    expect(() => requireAccess(user('owner'), 'owner')).not.toThrow();
    expect(() => requireAccess(user('admin'), 'owner')).toThrow(
      expect.objectContaining({ code: 'forbidden' }),
    );
  });
});

describe('the role admin', () => {
  test.each<[string, Actor, boolean]>([
    ['the owner', user('owner'), true],
    ['an admin', user('admin'), true],
    ['a member', user('member'), false],
    ['a service of the host application', service, true],
    ['a key of the owner', key('owner'), true],
    ['a key of an admin', key('admin'), true],
    ['a key whose creator is no longer an admin', key('member'), false],
    ['a key whose creator has left the team', key('admin', 'ended'), false],
    ['a key whose creator is only invited', key('admin', 'invited'), false],
  ])('is changed by %s: %s', (_who, actor, expected) => {
    expect(mayChangeAdmins(actor as CurrentActor)).toBe(expected);
  });
});

describe('an event', () => {
  const onlyByKeys = ['assignment.created', 'assignment.completed'];

  test.each(EVENT_TYPES)('%s is raised by the actors that its description promises', (type) => {
    expect(isRaisedBy(type, key())).toBe(true);
    expect(isRaisedBy(type, user('owner'))).toBe(!onlyByKeys.includes(type));
    expect(isRaisedBy(type, service)).toBe(!onlyByKeys.includes(type));
  });
});
