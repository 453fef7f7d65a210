import { describe, expect, test } from 'vitest';
import { hashCreation } from '../../src/features/team-lifecycle/rules.ts';

describe('the hash of a creation', () => {
  const input = { team_id: 'team_a', seats: 5, owner: { user_id: 'usr_1' } };

  test('does not depend on the order of the keys', () => {
    const reordered = { owner: { user_id: 'usr_1' }, seats: 5, team_id: 'team_a' };
    expect(hashCreation(reordered)).toEqual(hashCreation(input));
  });

  test.each([{ seats: 6 }, { owner: { user_id: 'usr_2' } }])('differs with %j', (other) => {
    expect(hashCreation({ ...input, ...other })).not.toEqual(hashCreation(input));
  });
});
