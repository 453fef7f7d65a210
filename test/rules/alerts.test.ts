// What is an alert, what is new of them, and whose a token is.
import { describe, expect, test } from 'vitest';
import { sandboxIdOf } from '../../src/core/sandbox.ts';
import { readUnsubscribeToken, unsubscribeToken } from '../../src/core/unsubscribe-token.ts';
import { writeDigest } from '../../src/features/alerts/digest-mail.ts';
import * as rules from '../../src/features/alerts/rules.ts';

const NOW = new Date('2026-11-18T00:30:00.000Z');
const SECRETS = { current: 'a secret of this test', previous: null };

const day = (good: number, bad: Partial<Record<'4xx' | '429' | '5xx', number>> = {}) => ({
  count_2xx: good,
  count_4xx: bad['4xx'] ?? 0,
  count_429: bad['429'] ?? 0,
  count_5xx: bad['5xx'] ?? 0,
});

describe('errors', () => {
  const errors = (...days: ReturnType<typeof day>[]) => rules.errorsAlert(days, '2026-11-17');

  test.each([
    ['none', [], false],
    ['five percent of a hundred', [day(95, { '5xx': 5 })], false],
    ['six percent of a hundred', [day(94, { '5xx': 6 })], true],
    ['all of nineteen', [day(0, { '4xx': 19 })], false],
    ['all of twenty', [day(0, { '4xx': 20 })], true],
    ['all kinds together, of two days', [day(20, { '4xx': 1 }), day(9, { '429': 1 })], true],
  ])('%s', (_, days, isAlert) => {
    expect(errors(...days) !== null).toBe(isAlert);
  });

  test('are told with their share and the number of requests', () => {
    expect(errors(day(60, { '429': 10, '4xx': 20, '5xx': 10 }))).toEqual({
      kind: 'errors',
      id: 'errors',
      share: 0.4,
      requests: 100,
      since: '2026-11-17',
    });
  });
});

test('times are those of now, in UTC', () => {
  expect(rules.firstDayOf(NOW)).toBe('2026-11-17');
  expect(rules.failingUntil(NOW).toISOString()).toBe('2026-11-17T23:30:00.000Z');
  const { after, until } = rules.endsOfKeys(NOW);
  expect([after, until.toISOString()]).toEqual([NOW, '2026-12-02T00:30:00.000Z']);
  const next = (hasMail: boolean) => rules.nextCheckAfter(NOW, { hasMail }).toISOString();
  expect([next(true), next(false)]).toEqual([
    '2026-11-19T00:30:00.000Z',
    '2026-11-18T01:30:00.000Z',
  ]);
});

test('an alert is new unless it was told, and told for as long as it stands', () => {
  const key = (id: string) => rules.keyAlert({ id, name: 'n', expires_at: '2026-11-20' });
  const [one, two] = [key('key_1'), key('key_2')];
  expect(rules.compare([one, two], [two.id, 'key:gone'])).toEqual({
    fresh: [one.id],
    told: [one.id, two.id],
  });
  expect(rules.compare([], ['key:gone'])).toEqual({ fresh: [], told: [] });
});

test('kinds are known ones, each once and in one order', () => {
  expect(rules.inOrder(['keys', 'webhooks', 'keys'])).toEqual(['webhooks', 'keys']);
  expect(['keys', 'later', 'errors'].filter(rules.isKind)).toEqual(['keys', 'errors']);
});

describe('a mail', () => {
  const hook = (name: string | null, status = 'active') =>
    rules.webhookAlert({
      id: 'whe_1/x',
      url: 'https://user.hooks.test:8443/path?secret',
      description: name,
      status,
      failing_since: '2026-11-17T10:00:00.000Z',
    });
  const writeIn = (teamId: string, language: 'de' | 'en', ...alerts: rules.Alert[]) =>
    writeDigest(
      { email: 'x@a.test', language, team_name: 'A\r\nB', kinds: [] },
      alerts,
      { teamId, memberId: 'mem_1' },
      { publicUrl: 'https://api.test/base', appSecret: SECRETS.current },
    );
  const write = writeIn.bind(null, 'team_a');

  test('names a webhook endpoint by its description, or by its host', () => {
    const { text } = write('en', hook('Line\n* another'), hook(null));
    expect(text).toContain('* Webhook "Line * another": no delivery');
    expect(text).toContain('* Webhook "user.hooks.test:8443": no delivery');
    expect(text).not.toContain('secret');
    expect(text).toContain('https://api.test/base/admin/webhooks/whe_1%2Fx\n');
    expect(text).not.toContain('It is paused');
    expect(write('en', hook('a', 'disabled_failures')).text).toContain('(UTC). It is paused.');
  });

  test.each([
    ['team_a', '/base/admin'],
    [sandboxIdOf('team_a'), '/base/admin/sandbox'],
  ])('of %s leads to the pages of that team', (teamId, base) => {
    const { text } = writeIn(teamId, 'en', hook('a'));
    const places = [...text.matchAll(/https:\/\/api\.test(\/base\/admin\S*)/g)].map(
      ([, path]) => path,
    );
    expect(places).toEqual([`${base}/webhooks/whe_1%2Fx`, `${base}/alerts`]);
  });

  test('counts its alerts in the subject, in one line', () => {
    expect(write('en', hook('a')).subject).toBe('1 alert for "A B"');
    expect(write('de', hook('a')).subject).toBe('1 Meldung für „A B“');
    expect(write('en', hook('a'), hook('b')).subject).toBe('2 alerts for "A B"');
    expect(write('de', hook('a'), hook('b')).subject).toBe('2 Meldungen für „A B“');
  });

  test('has the link of its reader in its text and in its headers', () => {
    const { text, headers = {} } = write('de', hook('a'));
    const [, url = ''] = /^<(.*)>$/.exec(headers['List-Unsubscribe'] ?? '') ?? [];
    expect(headers['List-Unsubscribe-Post']).toBe('List-Unsubscribe=One-Click');
    expect(text).toContain(`abbestellen: ${url}\n`);
    const token = url.replace('https://api.test/base/unsubscribe/', '');
    expect(readUnsubscribeToken(token, SECRETS)).toEqual({
      teamId: 'team_a',
      memberId: 'mem_1',
    });
  });
});

test('a token is fit for a path, whatever the ids are', () => {
  const subscriber = { teamId: 'Täam/"?#', memberId: '%00.' };
  const token = unsubscribeToken(subscriber, SECRETS.current);
  expect(token).toMatch(/^[\w-]+\.[\w-]{43}$/);
  expect(readUnsubscribeToken(token, SECRETS)).toEqual(subscriber);
  const rotated = { current: 'the next secret', previous: SECRETS.current };
  expect(readUnsubscribeToken(token, rotated)).toEqual(subscriber);
  expect(readUnsubscribeToken(token, { ...rotated, previous: null })).toBeNull();
});

test('a token is refused with anything added or missing', () => {
  const token = unsubscribeToken({ teamId: 'team_a', memberId: 'mem_1' }, SECRETS.current);
  for (const wrong of ['', '.', `${token}.`, `${token}.x`, token.slice(0, -2), `x${token}`])
    expect(readUnsubscribeToken(wrong, SECRETS)).toBeNull();
});
