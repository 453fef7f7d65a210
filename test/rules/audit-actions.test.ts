import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { auditAction, withholdAuditDetails } from '../../src/core/audit-actions.ts';
import { personal } from '../../src/core/private-fields.ts';
import { privacyOf, redactAuditDetails } from '../../src/core/privacy.ts';

const userId = personal(z.string());
const ON = privacyOf({ memberDetailEnabled: true, leaderboardEnabled: true });
const OFF = privacyOf({ memberDetailEnabled: false, leaderboardEnabled: true });

describe('an audit action', () => {
  it('does not load with a personal detail that nobody decided about', () => {
    // @ts-expect-error -- the compiler says it, too
    expect(() => auditAction({ details: { user_id: userId } })).toThrow('needs privacy: user_id');
    const deep = z.looseObject({ user_id: userId }).optional();
    // @ts-expect-error -- as above, at any depth
    expect(() => auditAction({ details: { to: deep } })).toThrow('needs privacy: to.user_id');
    expect(() => auditAction({ target_id: userId })).toThrow('needs privacy: target_id');
  });

  it('does not load if it shows what is not marked, or would withhold its target', () => {
    expect(() =>
      auditAction({ details: { role: z.string() }, privacy: { shows: ['role'] } }),
    ).toThrow('shows what it would not withhold: role');
    expect(() => auditAction({ target_id: userId, privacy: 'redact' })).toThrow(
      'cannot withhold its target',
    );
  });

  it('keeps what is not personal, and what it decided to show', () => {
    const details = { user_id: userId, to: z.object({ user_id: userId }), role: z.string() };
    expect(auditAction({ details, privacy: 'redact' }).open).toEqual(['role']);
    expect(auditAction({ details, privacy: { shows: ['user_id'] } }).open).toEqual([
      'user_id',
      'role',
    ]);
  });
});

describe('the details of an entry', () => {
  const details = { user_id: 'usr_1', private: true, nickname: 'Jo' };

  it('are as they were stored while member_detail_enabled is on', () => {
    expect(redactAuditDetails(ON, 'case.created', details)).toEqual(details);
    expect(redactAuditDetails(ON, 'case.promoted', details)).toEqual(details);
  });

  it('hold only what the action declares and does not withhold while it is off', () => {
    expect(redactAuditDetails(OFF, 'case.created', details)).toEqual({ private: true });
    expect(redactAuditDetails(OFF, 'member.accepted', details)).toEqual({ user_id: 'usr_1' });
  });
});

test('nothing is left of the details of an action that this version does not know', () => {
  expect(withholdAuditDetails('case.promoted', { user_id: 'usr_1' })).toEqual({});
  expect(withholdAuditDetails('toString', { user_id: 'usr_1' })).toEqual({});
});
