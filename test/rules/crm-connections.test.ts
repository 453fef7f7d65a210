import { expect, test } from 'vitest';
import { CONNECTIONS_MAX } from '../../src/features/crm/connections/rules.ts';

test('a team may have 10 CRM connections', () => {
  expect(CONNECTIONS_MAX).toBe(10);
});
