// What the document says of itself, and where its pages and those of the other mode are.
import { describe, expect, test } from 'vitest';
import {
  basePathOf,
  headersOf,
  modeOfPath,
  placeOf,
  teamHeadersOf,
} from '../../../src/admin-ui/lib/addresses.ts';
import { isHostOrigin, placesFor, placeToGo } from '../../../src/admin-ui/lib/host-places.ts';
import { MODE_PATHS, NAVIGATION } from '../../../src/admin-ui/lib/navigation.ts';
import { readShellFacts } from '../../../src/admin-ui/lib/shell-facts.ts';
import { de } from '../../../src/admin-ui/i18n/de.ts';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import { MODES } from '../../../src/core/sandbox.ts';

const PAGES = NAVIGATION.flatMap(({ pages }) => pages.map(({ to }) => to as string));

describe('a mode', () => {
  test('has its own addresses', () => {
    expect(MODES.map((mode) => basePathOf('/x/admin', mode))).toEqual([
      '/x/admin',
      '/x/admin/sandbox',
    ]);
  });

  test('is said by each call in the sandbox, and by none elsewhere', () => {
    expect(MODES.map(headersOf)).toEqual([{}, { 'svc-mode': 'test' }]);
  });

  test('has teams that each call names, with characters of headers only', () => {
    expect(teamHeadersOf('team_a:sandbox')).toEqual({ 'svc-team': 'team_a%3Asandbox' });
    expect(() => new Headers(teamHeadersOf('Команда 1\n'))).not.toThrow();
  });

  test.each([
    ['/keys', '/admin/keys', '/admin/sandbox/keys'],
    ['/keys/new', '/admin/keys', '/admin/sandbox/keys'],
    ['/webhooks/whe_1', '/admin/webhooks', '/admin/sandbox/webhooks'],
    ['/', '/admin/', '/admin/sandbox/'],
    ['', '/admin/', '/admin/sandbox/'],
  ])('shows the same as %j of the other one', (path, live, sandbox) => {
    expect(placeOf('/admin', 'live', path)).toBe(live);
    expect(placeOf('/admin', 'test', path)).toBe(sandbox);
  });

  test.each(MODES)('that is %s has all pages', (mode) => {
    for (const path of PAGES) expect(modeOfPath(MODE_PATHS[mode] + path)).toBe(mode);
  });

  test.each([
    ['/sandbox', 'test'],
    ['/sandbox/keys', 'test'],
    ['/sandbox?a=1', 'test'],
    ['/sandbox#a', 'test'],
    ['/sandboxes', 'live'],
    ['/sandbox-1', 'live'],
    ['/keys/sandbox', 'live'],
    ['', 'live'],
  ])('of the path %j is %s', (path, mode) => {
    expect(modeOfPath(path)).toBe(mode);
  });
});

describe('the navigation', () => {
  test.each([de, en])('has each page once, with a name', (t) => {
    expect(new Set(PAGES).size).toBe(PAGES.length);
    const groups = NAVIGATION.flatMap(({ group }) => group ?? []);
    const names = NAVIGATION.flatMap(({ pages }) => pages.map(({ name }) => name));
    expect([...groups, ...names].filter((name) => t.nav[name] === '')).toEqual([]);
  });

  test('names each page as its address does, but for the overview and the sandbox', () => {
    const pages = NAVIGATION.flatMap((group): readonly { to: string; name: string }[] => [
      ...group.pages,
    ]);
    const others = pages.filter(({ to, name }) => to !== `/${name}`);
    expect(others).toEqual([
      { to: '/', name: 'overview' },
      { to: '/play', name: 'sandbox' },
    ]);
  });

  test('begins with the overview and is in groups', () => {
    expect(NAVIGATION.map(({ group }) => group)).toEqual([null, 'connect', 'team', 'insight']);
    expect(PAGES).toEqual(
      ['', 'play', 'keys', 'requests', 'webhooks', 'deliveries', 'crm', 'alerts', 'members']
        .concat('privacy', 'catalog', 'usage', 'results', 'audit')
        .map((name) => `/${name}`),
    );
  });
});

describe('the document', () => {
  const read = (contents: Record<string, string>) => readShellFacts((name) => contents[name] ?? '');

  test('that says nothing is that of a live team at the root', () => {
    expect(read({})).toEqual({
      mode: 'live',
      adminPath: '',
      servicePath: '',
      hasDevelopmentLogin: false,
      hostOrigins: [],
      refreshUrls: [],
    });
  });

  test('says all that it can', () => {
    const contents = {
      mode: 'test',
      base: '/x/admin',
      'development-login': 'yes',
      'host-origins': 'https://a.test https://b.test',
      'refresh-urls': ' https://a.test/in  https://b.test/in ',
    };
    expect(read(contents)).toEqual({
      mode: 'test',
      adminPath: '/x/admin',
      servicePath: '/x',
      hasDevelopmentLogin: true,
      hostOrigins: ['https://a.test', 'https://b.test'],
      refreshUrls: ['https://a.test/in', 'https://b.test/in'],
    });
  });

  test.each([
    ['live', 'live'],
    ['other', 'live'],
  ])('of the mode %s is %s', (mode, expected) => {
    expect(read({ mode }).mode).toBe(expected);
  });

  test.each([
    ['/admin', ''],
    ['/admin/x/admin', '/admin/x'],
    ['/xadmin', '/xadmin'],
  ])('at %s is served at %j', (base, servicePath) => {
    expect(read({ base }).servicePath).toBe(servicePath);
  });

  test.each(['no', '', 'true'])('that says %j has no development login', (word) => {
    expect(read({ 'development-login': word }).hasDevelopmentLogin).toBe(false);
  });
});

describe('the host applications', () => {
  const URLS = ['https://a.test/sign-in?x=1', 'https://b.test:8443/'];
  const back = '/admin/keys?ended=true';
  const places = (cameFrom: string | null) => placesFor(URLS, { back, cameFrom });

  test('lead back to the same place', () => {
    expect(places(null)).toEqual([
      {
        href: 'https://a.test/sign-in?x=1&return=%2Fadmin%2Fkeys%3Fended%3Dtrue',
        origin: 'https://a.test',
      },
      {
        href: 'https://b.test:8443/?return=%2Fadmin%2Fkeys%3Fended%3Dtrue',
        origin: 'https://b.test:8443',
      },
    ]);
  });

  test('are the one that the reader came from, or all', () => {
    expect(places('https://b.test:8443')).toEqual(places(null).slice(1));
    expect(places('https://gone.test')).toEqual(places(null));
    expect(placesFor([], { back, cameFrom: 'https://a.test' })).toEqual([]);
  });

  test('lead the reader to the only one, unless they come from there', () => {
    const [one] = places('https://a.test');
    expect(placeToGo(places('https://a.test'), false)).toEqual(one);
    expect(placeToGo(places('https://a.test'), true)).toBeNull();
    expect(placeToGo(places(null), false)).toBeNull();
    expect(placeToGo([], false)).toBeNull();
  });

  test('are known by their origins', () => {
    expect(isHostOrigin(URLS, 'https://a.test')).toBe(true);
    expect(isHostOrigin(URLS, 'https://b.test')).toBe(false);
    expect(isHostOrigin(URLS, 'https://a.test/sign-in')).toBe(false);
    expect(isHostOrigin([], 'https://a.test')).toBe(false);
  });
});
