import { describe, expect, it, test } from 'vitest';
import { EVENT_TYPES, EVENTS, SUBSCRIBABLE_EVENTS } from '../../src/core/events.ts';
import { privacyOf, redactEventData } from '../../src/core/privacy.ts';

const ON = privacyOf({ memberDetailEnabled: true, leaderboardEnabled: true });
const OFF = privacyOf({ memberDetailEnabled: false, leaderboardEnabled: true });

/** What `GET /events` tells of a `ping` that was sent as another type. No receiver gets it. */
const ONLY_LISTED = ['sent_as', 'sent_data'];

describe.each(EVENT_TYPES)('the data of %s', (type) => {
  const { data, example } = EVENTS[type];
  const full = { team_id: 'team_01', ...example };

  it('has every field while member_detail_enabled is on', () => {
    expect(redactEventData(ON, type, full)).toEqual(full);
    const sent = Object.keys(data.shape).filter((name) => !ONLY_LISTED.includes(name));
    expect(Object.keys(full)).toEqual(sent);
  });

  it('keeps exactly the required fields while member_detail_enabled is off', () => {
    const promised = Object.entries(data.shape).filter(([, field]) => !field.isOptional());
    const redacted = redactEventData(OFF, type, full);
    expect(Object.keys(redacted)).toEqual(promised.map(([name]) => name));
    expect(data.parse(redacted)).toEqual(redacted);
  });
});

describe('the data of an event type that this version does not know', () => {
  const stored = { team_id: 'team_01', nickname: 'Jo' };

  it('is left out entirely while member_detail_enabled is off', () => {
    expect(redactEventData(ON, 'training.watched', stored)).toEqual(stored);
    expect(redactEventData(OFF, 'training.watched', stored)).toEqual({});
    expect(redactEventData(OFF, 'toString', stored)).toEqual({});
  });
});

test('a webhook endpoint can subscribe to every event type but ping', () => {
  expect(SUBSCRIBABLE_EVENTS).toEqual(EVENT_TYPES.filter((type) => type !== 'ping'));
});
