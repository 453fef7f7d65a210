// What can be played in a sandbox, and what is said while it is.
import { describe, expect, test } from 'vitest';
import { de } from '../../../src/admin-ui/i18n/de.ts';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import {
  DURATIONS_S,
  fieldsWithErrors,
  HIGHEST,
  LASTS_S,
  PLAYS,
  readFields,
  REASONS,
  type Play,
} from '../../../src/admin-ui/pages/play-fields.ts';
import { isAhead, looksAgainMs, speedsFor } from '../../../src/admin-ui/pages/sandbox-state.ts';
import {
  CRM_REASONS,
  DEFAULTS,
  PLAY_NAMES,
  PLAYS as OF_SERVICE,
  SPEED_MAX,
} from '../../../src/features/sandbox/play-rules.ts';
import { useStandingDate } from './standing-date.ts';

const NOW = Date.UTC(2026, 0, 31, 12);
useStandingDate(NOW);
const at = (ms: number) => new Date(NOW + ms).toISOString();
const ALL = Object.keys(PLAYS) as Play[];

function form(fields: Record<string, string>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.set(name, value);
  return data;
}

describe('a play', () => {
  test.each([de, en])('has a title and a hint', (t) => {
    expect(Object.keys(t.sandbox.plays)).toEqual(ALL);
    expect(Object.keys(t.sandbox.playHints)).toEqual(ALL);
  });

  test('is one of the service, with some of the fields that it takes', () => {
    expect(ALL.toSorted()).toEqual(PLAY_NAMES.toSorted());
    expect(PLAYS).toEqual({
      training_completed: ['member_id', 'score', 'at'],
      evaluation_saved: ['score'],
      evaluation_corrected: ['score'],
      invitation_accepted: [],
      member_left: ['member_id'],
      crm_sync_failed: ['reason'],
      team_suspended: ['for_s'],
      rate_limit_nearly_reached: ['remaining'],
      webhooks_failing: ['for_s'],
    });
    for (const play of ALL)
      expect(OF_SERVICE[play].takes).toEqual(expect.arrayContaining([...PLAYS[play]]));
  });

  test('has what the service has if nothing is chosen', () => {
    expect(LASTS_S).toEqual({
      team_suspended: DEFAULTS.suspendedS,
      webhooks_failing: DEFAULTS.failingS,
    });
    expect(REASONS).toEqual(CRM_REASONS);
    expect(REASONS[0]).toBe(DEFAULTS.crmReason);
  });

  test('lasts for a while at first, which can be chosen', () => {
    const lasting = ALL.filter((play) => PLAYS[play].includes('for_s'));
    expect(DURATIONS_S).toEqual([60, 300, 900, 3_600]);
    expect(Object.keys(LASTS_S)).toEqual(lasting);
  });

  test('shows errors at all fields but the choice of a person', () => {
    expect(fieldsWithErrors('training_completed')).toEqual(['score', 'at']);
    expect(fieldsWithErrors('member_left')).toEqual([]);
    expect(fieldsWithErrors('crm_sync_failed')).toEqual(['reason']);
  });

  test('takes no higher number than the service', () => {
    expect(HIGHEST).toEqual({ score: 100, remaining: 1_000 });
  });
});

describe('what is filled in', () => {
  const NOTHING = {
    score: undefined,
    for_s: undefined,
    remaining: undefined,
    reason: undefined,
    at: undefined,
  };

  test('is read as the service takes it', () => {
    const local = new Date(NOW);
    const fields = { score: '0', for_s: '300', remaining: '7', reason: 'timeout' };
    expect(readFields(form({ ...fields, at: local.toISOString() }))).toEqual({
      score: 0,
      for_s: 300,
      remaining: 7,
      reason: 'timeout',
      at: '2026-01-31T12:00:00.000Z',
    });
  });

  test('is nothing where nothing is', () => {
    expect(readFields(form({}))).toEqual(NOTHING);
    expect(readFields(form({ score: '', at: '', reason: '', for_s: '' }))).toEqual(NOTHING);
    expect(readFields(form({ reason: 'other' }))).toEqual(NOTHING);
  });

  test('may be any reason that has a name', () => {
    for (const t of [de, en])
      expect(Object.keys(t.sandbox.reasons).toSorted()).toEqual(REASONS.toSorted());
    for (const reason of REASONS) expect(readFields(form({ reason })).reason).toBe(reason);
  });
});

describe('a limit of the team', () => {
  test.each([
    ['de', de],
    ['en', en],
  ])('is lower in a sandbox, so no text says how high it is (%s)', (_, { reasons }) => {
    const limits = Object.entries(reasons).filter(([code]) => code.startsWith('too_many_'));
    expect(limits.length).toBeGreaterThanOrEqual(3);
    expect(limits.filter(([, text]) => /\d/.test(text))).toEqual([]);
  });
});

describe('what is being played', () => {
  test.each([
    [undefined, false],
    [null, false],
    [at(-1), false],
    [at(0), false],
    [at(1), true],
  ])('until %s goes on: %j', (end, expected) => {
    expect(isAhead(end)).toBe(expected);
  });

  test.each([
    [null, null, false],
    [at(-1), at(0), false],
    [at(1), null, 5_000],
    [null, at(1), 5_000],
  ])('until %s or %s is looked at every %s', (suspended_until, receivers_fail_until, ms) => {
    expect(looksAgainMs({ suspended_until, receivers_fail_until })).toBe(ms);
  });

  test('is nothing without a sandbox', () => {
    expect(looksAgainMs(null)).toBe(false);
    expect(looksAgainMs(undefined)).toBe(false);
  });
});

test('the speeds to choose from have the one that it has', () => {
  expect(speedsFor(10)).toEqual([1, 10, 60, 1_000]);
  expect(Math.max(...speedsFor(1))).toBe(SPEED_MAX);
  expect(speedsFor(25)).toEqual([1, 10, 60, 1_000, 25]);
});
