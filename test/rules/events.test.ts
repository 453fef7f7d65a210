import { describe, expect, it, test } from 'vitest';
import {
  EVENT_TYPES,
  EVENTS,
  SUBSCRIBABLE_EVENTS,
  withholdEventValues,
} from '../../src/core/events.ts';
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

describe('a text that quotes an event', () => {
  const data = { team_id: 'team_01', training_id: 'trn_71', user_id: 'usr_7', score: 71 };

  test.each([
    [JSON.stringify(data), '{"team_id":"team_01","training_id":"trn_…","user_id":"…","score":…}'],
    ['no such user usr_7, usr_7', 'no such user …, …'],
    ['171 is not 71, 710 is not 71.', '171 is not …, 710 is not ….'],
    ['Invalid status', 'Invalid status'],
  ])('%s loses the personal values', (text, expected) => {
    const quote = { text, isCut: false };
    expect(withholdEventValues('evaluation.completed', data, quote)).toBe(expected);
  });

  test.each([
    ['unknown usr_', 'unknown …'],
    ['unknown u', 'unknown …'],
    ['unknown usr_7', 'unknown …'],
    ['unknown', 'unknown'],
  ])('%s, whose end is missing, loses the start of one', (text, expected) => {
    const quote = { text, isCut: true };
    expect(withholdEventValues('evaluation.completed', data, quote)).toBe(expected);
  });

  test.each([
    ['users/anna', String.raw`{"user_id":"users\/anna"}`, '{"user_id":"…"}'],
    ['users/anna', 'user_id=users%2fanna&score=71', 'user_id=…&score=…'],
    ['jürgen', String.raw`{"user_id": "j\u00fcrgen"}`, '{"user_id": "…"}'],
    ['jürgen', String.raw`{"user_id": "j\u00FCrgen"}`, '{"user_id": "…"}'],
    ['jürgen', '/users/j%C3%BCrgen?a=1', '/users/…?a=1'],
    [
      'jürgen',
      String.raw`{"body":"{\"user_id\":\"j\\u00fcrgen\"}"}`,
      String.raw`{"body":"{\"user_id\":\"…\"}"}`,
    ],
    ['Jo 😀', String.raw`no Jo \ud83d\ude00, Jo%20%F0%9F%98%80, Jo+😀`, 'no …, …, …'],
    ['a+b@x.de', 'a+b%40x.de, a%2Bb%40x.de, a+b@x.de', '…, …, …'],
    ["O'Brien & Co", 'no O&#39;Brien &amp; Co, O&#x27;Brien &amp; Co', 'no …, …'],
    ['DOM\\bob', String.raw`DOM\bob or "DOM\\bob"`, '… or "…"'],
    ['1', '{"score":71,"user_id":"1"}', '{"score":…,"user_id":"…"}'],
    ['7', '{"score":71}', '{"score":…}'],
    ['01932f4c-6b1e', "no user '01932F4C-6B1E'", "no user '…'"],
    ['AUTH0|İ\u{10400}7', 'no user auth0%7Cİ\u{10428}7', 'no user …'],
    ['usr_7', '%zz % \\ & %80 &#99999999; 100%', '%zz % \\ & %80 &#99999999; 100%'],
  ])('loses %s in any spelling: %s', (user_id, text, expected) => {
    const quote = { text, isCut: false };
    expect(withholdEventValues('evaluation.completed', { ...data, user_id }, quote)).toBe(expected);
  });

  test.each([
    ['unknown jürg', 'unknown …'],
    ['unknown JÜRG', 'unknown …'],
    [String.raw`unknown j\u00fcr`, 'unknown …'],
    [String.raw`unknown j\u00f`, 'unknown …'],
    [String.raw`unknown j\ `.trim(), 'unknown …'],
    ['unknown j%C3%', 'unknown …'],
    ['unknown j%C3', 'unknown …'],
    ['unknown j%', 'unknown …'],
    ['"score":7', '"score":…'],
    ['"score":71', '"score":…'],
    ['"score":17', '"score":17'],
  ])('%s, cut off within a value, loses the start of it', (text, expected) => {
    const quote = { text, isCut: true };
    const value = { ...data, user_id: 'jürgen' };
    expect(withholdEventValues('evaluation.completed', value, quote)).toBe(expected);
  });

  // What is exponential, or tries each spelling at each place, takes minutes for it.
  test('is read in a moment, whatever a receiver writes', () => {
    const text = String.raw`aa\u0061%61+&#97;`.repeat(60).slice(0, 1_000);
    const personal = { ...data, user_id: 'a'.repeat(500) };
    const quote = { text, isCut: true };
    expect(withholdEventValues('evaluation.completed', personal, quote)).toBe(text);
  });

  test('keeps everything of an event without personal fields, null and empty ones', () => {
    const quote = { text: 'no null, team_01', isCut: true };
    expect(withholdEventValues('crm.sync.failed', { team_id: 'team_01' }, quote)).toBe(quote.text);
    const empty = { user_id: '', score: null };
    expect(withholdEventValues('evaluation.completed', empty, quote)).toBe(quote.text);
  });

  test('loses every value of a type that this version does not know', () => {
    const quote = { text: 'Jo of team_01 has 3', isCut: false };
    const stored = { team_id: 'team_01', nickname: 'Jo', count: 3 };
    expect(withholdEventValues('training.watched', stored, quote)).toBe('… of … has …');
  });
});
