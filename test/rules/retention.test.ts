import { expect, test } from 'vitest';
import { RATE_COUNTER_KEEP_MINUTES, RETENTIONS } from '../../src/features/retention/rules.ts';

const DAY_MS = 86_400_000;

test('rows are kept for so many days', () => {
  const days = Object.fromEntries(RETENTIONS.map(({ name, keepMs }) => [name, keepMs / DAY_MS]));
  expect(days).toEqual({
    idempotency: 25 / 24,
    deliveries: 30,
    events: 30,
    usage: 90,
    resends: 30,
    invitation_resends: 1,
    spent_tokens: 1 / 24,
    sandbox_mails: 30,
    audit: 400,
    sandbox_usage: 30,
    sandbox_audit: 30,
  });
});

test('rate counters are kept for an hour', () => {
  expect(RATE_COUNTER_KEEP_MINUTES).toBe(60);
});

test('deliveries are deleted before their events', () => {
  const names = RETENTIONS.map(({ name }) => name);
  expect(names.indexOf('deliveries')).toBeLessThan(names.indexOf('events'));
});
