import { describe, expect, test } from 'vitest';
import { limitOf, TEAM_LIMITS } from '../../src/core/team-limits.ts';
import { requireCreatable } from '../../src/features/api-keys/rules.ts';
import { requireRoom as requireConnection } from '../../src/features/crm/connections/rules.ts';
import { requireRoom as requireEndpoint } from '../../src/features/webhook-endpoints/rules.ts';

const NAMES = Object.keys(TEAM_LIMITS) as (keyof typeof TEAM_LIMITS)[];

describe('the limits', () => {
  test('of a team are those that the documentation names', () => {
    expect(NAMES.map((name) => [name, limitOf('team_a', name)])).toEqual([
      ['liveKeys', 50],
      ['webhookEndpoints', 50],
      ['resentDeliveries', 10_000],
      ['crmConnections', 10],
    ]);
  });

  test.each(NAMES)('of a sandbox are smaller: %s', (name) => {
    expect(limitOf('team_a:sandbox', name)).toBe(TEAM_LIMITS[name].test);
    expect(TEAM_LIMITS[name].test).toBeLessThan(TEAM_LIMITS[name].live);
  });
});

test.each([
  ['webhookEndpoints', requireEndpoint],
  ['crmConnections', requireConnection],
  [
    'liveKeys',
    (teamId: string, liveKeys: number) => requireCreatable(teamId, { liveKeys, nameTaken: false }),
  ],
] as const)('%s end at the limit of the team or of the sandbox', (name, requireRoom) => {
  for (const teamId of ['team_a', 'team_a:sandbox']) {
    const max = limitOf(teamId, name);
    expect(() => requireRoom(teamId, max - 1)).not.toThrow();
    expect(() => requireRoom(teamId, max)).toThrow('validation_error');
  }
});
