// How CRM connections are, what is said of fields, and the moments of a filter.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { de } from '../../../src/admin-ui/i18n/de.ts';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import {
  idForSupport,
  lastError,
  mayBeEntry,
  problemAt,
  problemsElsewhere,
  reasonOf,
} from '../../../src/admin-ui/lib/field-problems.ts';
import { fullAt } from '../../../src/admin-ui/lib/team-limits.ts';
import {
  isBeingRead,
  looksAgainMs,
  stateOfCrm,
  type Connection,
} from '../../../src/admin-ui/pages/crm-state.ts';
import {
  enteredToken,
  providerChosen,
  PROVIDERS,
  rightsOfToken,
} from '../../../src/admin-ui/pages/token-rights.ts';
import type * as Moments from '../../../src/admin-ui/ui/moments.ts';
import { CRM_PROVIDERS } from '../../../src/core/vocabularies.ts';
import { useStandingDate } from './standing-date.ts';

const NOW = Date.UTC(2026, 0, 31, 12);
useStandingDate(NOW);
const at = (ms: number) => new Date(NOW + ms).toISOString();

describe('a CRM connection', () => {
  const fine = {
    status: 'active',
    last_error: null,
    last_synced_at: at(-1),
    has_credentials: true,
  } as const;

  test.each([
    [{}, 'fine', 'good'],
    [{ last_synced_at: null }, 'notYet', 'plain'],
    [{ last_error: 'timeout' }, 'failed', 'bad'],
    [{ last_error: 'timeout', last_synced_at: null }, 'failed', 'bad'],
    [{ has_credentials: false }, 'noToken', 'bad'],
    [{ has_credentials: false, last_error: 'timeout' }, 'noToken', 'bad'],
    [{ status: 'paused' }, 'status', 'plain'],
    [{ status: 'paused', last_error: 'timeout', has_credentials: false }, 'status', 'plain'],
  ] as const)('with %j is called %s, %s', (what, word, tone) => {
    expect(stateOfCrm({ ...fine, ...what } as Connection)).toEqual({ word, tone });
  });

  test.each([
    [true, false, true],
    [false, false, false],
    [false, true, true],
    [true, true, true],
  ])('that is read (%j), or due (%j), is being read: %j', (syncing, due, expected) => {
    const one = { syncing, due };
    expect(isBeingRead(one)).toBe(expected);
    expect(looksAgainMs([{ syncing: false, due: false }, one])).toBe(expected ? 2_000 : false);
  });

  test('is not asked for while there is none', () => {
    expect(looksAgainMs(undefined)).toBe(false);
    expect(looksAgainMs([])).toBe(false);
  });

  test('needs a token with these rights', () => {
    expect(PROVIDERS).toEqual(CRM_PROVIDERS);
    const [deals, owners] = ['crm.objects.deals.read', 'crm.objects.owners.read'];
    expect(rightsOfToken('hubspot', false)).toEqual([deals, owners]);
    expect(rightsOfToken('hubspot', true)).toEqual([deals, owners, 'crm.objects.contacts.read']);
    for (const reads of [true, false]) expect(rightsOfToken('pipedrive', reads)).toEqual([]);
  });

  test('is of the provider that was chosen', () => {
    for (const provider of PROVIDERS) expect(providerChosen(provider)).toBe(provider);
    expect(providerChosen('other')).toBe('hubspot');
  });

  test('is connected without spaces around its token, and perhaps a marker', () => {
    expect(enteredToken(' pat ', ' Objection: ')).toEqual({
      credentials: 'pat',
      objection_marker: 'Objection:',
    });
    expect(enteredToken('pat', ' ')).toEqual({ credentials: 'pat', objection_marker: undefined });
  });
});

describe('a problem of a form', () => {
  const texts = (t: typeof en) => ({
    reasons: { known: 'reason', too_big: 'of any field' },
    fieldReasons: { url: 'of the field' },
    otherReason: t.otherReason,
  });
  const problem = (field: string, code: string) => ({ field, code, message: 'In English.' });

  test.each([
    [problem('url', 'known'), 'reason', 'reason'],
    [problem('url', 'custom'), 'of the field', 'of the field'],
    [problem('url', 'too_big'), 'of the field', 'of the field'],
    // A rule has refused a value whose form is right.
    [problem('url', 'refused'), de.otherReason, 'In English.'],
    [problem('name', 'too_big'), 'of any field', 'of any field'],
    [problem('name', 'other'), de.otherReason, 'In English.'],
  ])('%j is said in the language of the reader', (one, german, english) => {
    expect(reasonOf(one, texts(de) as never, 'de')).toBe(german);
    expect(reasonOf(one, texts(en) as never, 'en')).toBe(english);
  });

  test('is said below the form unless a field shows it', () => {
    const fields = [problem('url', 'a'), problem('name', 'b')];
    expect(problemsElsewhere({ fields }, ['url'])).toEqual([fields[1]]);
    expect(problemsElsewhere({ fields }, [])).toEqual(fields);
    expect(problemsElsewhere({ fields }, ['name', 'url'])).toEqual([]);
  });

  test('is said without blame if it is a limit or an outage, at no field', () => {
    const outage = problem('provider', 'crm_unreachable');
    const limits = ['too_many_keys', 'too_many_endpoints', 'too_many_connections'].map((code) =>
      problem('name', code),
    );
    for (const one of [outage, ...limits]) {
      const fields = [one];
      expect(problemAt({ fields }, one.field)).toBeUndefined();
      expect(problemsElsewhere({ fields }, [one.field])).toEqual([one]);
      expect(mayBeEntry({ fields })).toBe(false);
    }
    const wrong = problem('provider', 'token_rejected');
    expect(problemAt({ fields: [outage, wrong] }, 'provider')).toBe(wrong);
    expect(mayBeEntry({ fields: [outage, wrong] })).toBe(true);
    expect(mayBeEntry({ fields: [] })).toBe(true);
  });

  test.each([
    ['liveKeys', 'live', 49, null],
    ['liveKeys', 'live', 50, 50],
    ['liveKeys', 'test', 10, 10],
    ['webhookEndpoints', 'live', 51, 50],
    ['crmConnections', 'live', 10, 10],
    ['crmConnections', 'live', undefined, null],
  ] as const)('of %s in a %s team is foreseen at %s: %s', (name, mode, count, limit) => {
    expect(fullAt(name, mode, count)).toBe(limit);
  });

  test('has an id for the support unless the reader can mend it', () => {
    expect(idForSupport({ code: 'internal', requestId: 'r1' })).toBe('r1');
    expect(idForSupport({ code: 'network', requestId: null })).toBeNull();
    expect(idForSupport({ code: 'validation_error', requestId: 'r1' })).toBeNull();
  });

  test('is that of the change that was tried last', () => {
    const change = (error: unknown, submittedAt: number) => ({ error, submittedAt });
    expect(lastError(change('a', 1), change('b', 2))).toBe('b');
    expect(lastError(change('a', 2), change('b', 1))).toBe('a');
    expect(lastError(change('a', 1), change(null, 2))).toBeNull();
    expect(lastError()).toBeUndefined();
  });
});

describe('the moments of a filter', () => {
  const zone = process.env['TZ'];
  let moments: typeof Moments;
  beforeAll(async () => {
    process.env['TZ'] = 'America/New_York';
    moments = await import('../../../src/admin-ui/ui/moments.ts');
  });
  afterAll(() => {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  });

  test('begin a day ago, at a full minute, if they are chosen one by one', () => {
    vi.setSystemTime(NOW + 59_999);
    expect(moments.timesChosen('custom')).toEqual({
      past: 'custom',
      since: '2026-01-30T12:00:00.000Z',
      until: undefined,
    });
    for (const past of ['7d', undefined] as const)
      expect(moments.timesChosen(past)).toEqual({ past, since: undefined, until: undefined });
  });

  test.each([
    [undefined, undefined, false],
    [at(1), undefined, false],
    [undefined, at(0), false],
    [at(0), at(0), false],
    [at(0), at(1), false],
    [at(1), at(0), true],
  ])('from %s to %s are backwards: %j', (since, until, expected) => {
    expect(moments.isBackwards({ since, until })).toBe(expected);
  });

  test('are shown and read in the time zone of the reader', () => {
    expect(moments.fromLocal('2026-07-01T22:04')).toBe('2026-07-02T02:04:00.000Z');
    expect(moments.fromLocal('')).toBeUndefined();
    expect(moments.toLocal(undefined)).toBe('');
    expect(moments.toLocal('2026-07-02T02:04:59.000Z')).toBe('2026-07-01T22:04');
  });
});
