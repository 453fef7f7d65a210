// What the overview names, at each bound and on both sides of it.
import { describe, expect, test } from 'vitest';
import { ATTENTION } from '../../../src/core/attention.ts';
import { findNeeds, findUsed } from '../../../src/admin-ui/pages/needs.ts';
import type { Facts } from '../../../src/admin-ui/pages/overview-facts.ts';

const NOW = Date.UTC(2026, 0, 31, 12);
const DAY_MS = 86_400_000;
const after = (ms: number) => new Date(NOW + ms).toISOString();

type Key = Facts['keys'][number];
type Hook = Facts['hooks'][number];
type Crm = Facts['crms'][number];
type Counts = Facts['days'][number]['requests'];

const need = (facts: Partial<Facts>) =>
  findNeeds({ keys: [], days: [], hooks: [], crms: [], ...facts }, NOW);

const key = (id: string, what: Partial<Key> = {}): Key => ({
  id,
  name: id,
  prefix: 'abcdefghijkl',
  scopes: ['users:read'],
  creator: { member_id: 'mem_1', email: null },
  created_at: after(-200 * DAY_MS),
  last_used_at: after(-DAY_MS),
  expires_at: null,
  revoked_at: null,
  stored_at: after(-200 * DAY_MS),
  allowed_ips: null,
  state: 'active',
  ...what,
});
const hook = (endpoint_id: string, what: Partial<Hook> = {}): Hook => ({
  endpoint_id,
  url: `https://${endpoint_id}.test/`,
  description: null,
  status: 'active',
  secret_unconfirmed_since: null,
  arrived: [true],
  days: [],
  median_ms: 5,
  failed: 0,
  waiting: 0,
  has_more: [],
  ...what,
});
const crm = (id: string, what: Partial<Crm> = {}): Crm => ({
  id,
  provider: 'hubspot',
  status: 'active',
  objection_marker: null,
  created_at: after(-DAY_MS),
  last_synced_at: null,
  last_error: null,
  failure_streak: 0,
  next_sync_at: null,
  syncing: false,
  due: false,
  has_credentials: true,
  ...what,
});
const day = (requests: Partial<Counts>) => ({
  day: '2026-01-31',
  requests: { '2xx': 0, '4xx': 0, '429': 0, '5xx': 0, ...requests },
  peak_percent: 0,
});
const idsOf = (named: readonly { readonly id?: string; readonly endpoint_id?: string }[]) =>
  named.map(({ id, endpoint_id }) => id ?? endpoint_id);

describe('a key', () => {
  const { keyEndsWithinDays } = ATTENTION;
  const SOON_MS = keyEndsWithinDays * DAY_MS;

  test('ends soon within the days of the alert by mail, the first one first', () => {
    const { ending } = need({
      keys: [
        key('in_time', { expires_at: after(SOON_MS) }),
        key('last', { expires_at: after(SOON_MS - 1) }),
        key('first', { expires_at: after(1) }),
        key('replaced', { expires_at: after(1), revoked_at: after(DAY_MS) }),
        key('for_ever'),
      ],
    }).keys;
    expect(idsOf(ending)).toEqual(['first', 'last']);
  });

  test('that ends sooner is named before the others, however they are listed', () => {
    const keys = [3, 1, 4, 2, 5].map((day) =>
      key(`in_${day}`, { expires_at: after(day * DAY_MS) }),
    );
    const sorted = ['in_1', 'in_2', 'in_3', 'in_4', 'in_5'];
    expect(idsOf(need({ keys }).keys.ending)).toEqual(sorted);
    expect(idsOf(need({ keys: keys.toReversed() }).keys.ending)).toEqual(sorted);
    const listed = [5, 4, 3, 2, 1].map((day) => keys.find(({ id }) => id === `in_${day}`));
    const known = listed.filter((one) => one !== undefined);
    expect(idsOf(need({ keys: known }).keys.ending)).toEqual(sorted);
  });

  test('is unseen while nobody has stored it and nothing has used it', () => {
    const never = { stored_at: null, last_used_at: null };
    const { unseen, unused } = need({
      keys: [
        key('unseen', never),
        key('stored', { last_used_at: null, created_at: after(-DAY_MS) }),
        key('used', { stored_at: null }),
        key('replaced', { ...never, revoked_at: after(DAY_MS) }),
        key('revoked', { ...never, state: 'revoked', revoked_at: after(-DAY_MS) }),
        key('expired', { ...never, state: 'expired', created_at: after(0) }),
      ],
    }).keys;
    expect(idsOf(unseen)).toEqual(['unseen']);
    expect(idsOf(unused)).toEqual([]);
  });

  test('is unused after 90 days without a use, or since it was made', () => {
    const { unused } = need({
      keys: [
        key('at_the_bound', { last_used_at: after(-90 * DAY_MS) }),
        key('unused', { last_used_at: after(-90 * DAY_MS - 1) }),
        key('new', { last_used_at: null, created_at: after(-90 * DAY_MS) }),
        key('old', { last_used_at: null, created_at: after(-90 * DAY_MS - 1) }),
        key('replaced', { last_used_at: after(-100 * DAY_MS), revoked_at: after(DAY_MS) }),
      ],
    }).keys;
    expect(idsOf(unused)).toEqual(['unused', 'old']);
  });

  test('is in use if a request came with it in the last seven days', () => {
    const used = findUsed(
      [
        key('never', { last_used_at: null }),
        key('before', { last_used_at: after(-7 * DAY_MS) }),
        key('used', { last_used_at: after(-7 * DAY_MS + 1) }),
      ],
      NOW,
    );
    expect(idsOf(used)).toEqual(['used']);
  });
});

describe('a webhook endpoint', () => {
  test('is named by what is wrong with it', () => {
    const { paused, failing, slow, unstored } = need({
      hooks: [
        hook('fine', { waiting: 99 }),
        hook('by_admin', { status: 'disabled' }),
        hook('by_failures', { status: 'disabled_failures', waiting: 500 }),
        hook('failing', { failed: 1 }),
        hook('slow', { waiting: 100 }),
        hook('unstored', { secret_unconfirmed_since: after(-1) }),
      ],
    }).hooks;
    expect(idsOf(paused)).toEqual(['by_admin', 'by_failures']);
    expect(idsOf(failing)).toEqual(['failing']);
    expect(idsOf(slow)).toEqual(['slow']);
    expect(idsOf(unstored)).toEqual(['unstored']);
  });
});

describe('a CRM connection', () => {
  test('fails, or has no token: it is not named twice', () => {
    const { failing, tokenless } = need({
      crms: [
        crm('fine'),
        crm('failing', { last_error: 'refused' }),
        crm('paused_failing', { last_error: 'refused', status: 'paused' }),
        crm('tokenless', { last_error: 'refused', has_credentials: false }),
        crm('paused_tokenless', { has_credentials: false, status: 'paused' }),
      ],
    }).crms;
    expect(idsOf(failing)).toEqual(['failing', 'paused_failing']);
    expect(idsOf(tokenless)).toEqual(['tokenless']);
  });
});

describe('the requests of the last seven days', () => {
  const { errorShare, requestsMin } = ATTENTION;

  test.each([
    ['none', {}, { ours: 0, errors: null, limited: null }],
    ['as many errors as are borne', { '2xx': 95, '4xx': 5 }, { errors: null, limited: null }],
    ['one more', { '2xx': 94, '4xx': 6 }, { ours: 0, errors: 0.06, limited: null }],
    ['over a limit', { '2xx': 94, '429': 6 }, { ours: 0, errors: 0.06, limited: 0.06 }],
    ['over a limit and others', { '2xx': 94, '4xx': 1, '429': 5 }, { errors: 0.06, limited: null }],
    ['one of ours', { '2xx': 999, '5xx': 1 }, { ours: 1, errors: null, limited: null }],
    ['too few to tell', { '4xx': requestsMin - 1 }, { errors: null, limited: null }],
    ['just enough', { '429': requestsMin }, { errors: 1, limited: 1 }],
  ] as const)('%s', (_, counts, expected) => {
    expect(errorShare).toBe(0.05);
    expect(need({ days: [day(counts)] }).requests).toMatchObject(expected);
  });

  test('are those of seven days', () => {
    const good = day({ '2xx': 100 });
    const bad = day({ '2xx': 50, '5xx': 50 });
    const six = Array.from({ length: 6 }, () => good);
    expect(need({ days: [bad, ...six] }).requests).toMatchObject({ ours: 50, errors: 50 / 700 });
    expect(need({ days: [bad, ...six, good] }).requests).toEqual({
      ours: 0,
      errors: null,
      limited: null,
    });
  });
});
