import { describe, expect, test } from 'vitest';
import { SUBSCRIBABLE_EVENTS } from '../../src/core/events.ts';
import {
  earlierAfterRotation,
  lastEnd,
  requireRoom,
  requireSettableStatus,
  requireSubscribable,
  webhookSecretContext,
} from '../../src/features/webhook-endpoints/rules.ts';

const LIST = `There are: ${SUBSCRIBABLE_EVENTS.join(', ')}.`;
const fault = (field: string, detail?: string) =>
  expect.objectContaining({
    code: 'validation_error',
    fields: expect.objectContaining({ field, ...(detail !== undefined && { detail }) }),
  });

describe('events of an endpoint', () => {
  test('collapse and keep their order', () => {
    const events = ['member.removed', 'training.completed', 'member.removed', 'crm.sync.failed'];
    expect(requireSubscribable(events)).toEqual([
      'member.removed',
      'training.completed',
      'crm.sync.failed',
    ]);
  });

  test.each<[string[], string]>([
    [[], `At least one event type is needed. ${LIST}`],
    [['ping'], `Not a subscribable event type: ping. ${LIST}`],
    [
      ['member.removed', 'member.Removed'],
      `Not a subscribable event type: member.Removed. ${LIST}`,
    ],
    [[''], `Not a subscribable event type: . ${LIST}`],
    [['x'.repeat(101)], `Not a subscribable event type: ${'x'.repeat(100)}. ${LIST}`],
  ])('cannot be %j', (events, detail) => {
    expect(() => requireSubscribable(events)).toThrow(fault('events', detail));
  });
});

describe('the status of an endpoint', () => {
  test.each(['active', 'disabled'])('can be set to %s', (status) => {
    expect(requireSettableStatus(status)).toBe(status);
  });

  test.each(['disabled_failures', 'Active', ''])('cannot be set to "%s"', (status) => {
    expect(() => requireSettableStatus(status)).toThrow(fault('status'));
  });
});

describe('a team', () => {
  test.each([0, 49])('with %i endpoints may have another one', (endpoints) => {
    expect(() => requireRoom('team_a', endpoints)).not.toThrow();
  });

  test.each([50, 51])('with %i endpoints may not have another one', (endpoints) => {
    expect(() => requireRoom('team_a', endpoints)).toThrow(
      fault('url', 'A team may have 50 endpoints.'),
    );
  });
});

test('the secret of an endpoint is bound to its team and its endpoint', () => {
  const context = webhookSecretContext('team_a', 'whe_1');
  expect(webhookSecretContext('team_b', 'whe_1')).not.toBe(context);
  expect(webhookSecretContext('team_a', 'whe_2')).not.toBe(context);
});

describe('the secrets that stay valid after a rotation', () => {
  const at = new Date('2026-11-02T09:00:00.000Z');
  const ended = { secret: 'ended', until: '2026-11-02T09:00:00.000Z' };
  const valid = ['a', 'b', 'c'].map((secret) => ({ secret, until: '2026-11-02T09:00:00.001Z' }));

  test('are the current one and earlier ones that have not ended, three at most', () => {
    const current = { secret: 'now', until: '2026-11-02T09:01:00.000Z' };
    const earlier = [ended, ...valid];
    expect(earlierAfterRotation({ current: 'now', earlier }, { at, graceS: 60 })).toEqual([
      current,
      valid[0],
      valid[1],
    ]);
    expect(lastEnd([...valid, current])).toBe(current.until);
  });

  test('are none without a grace period', () => {
    const none = earlierAfterRotation({ current: 'now', earlier: valid }, { at, graceS: 0 });
    expect(none).toEqual([]);
    expect(lastEnd(none)).toBeNull();
  });
});
