// What the search finds, and that no secret goes anywhere.
import { describe, expect, test } from 'vitest';
import { de } from '../../../src/admin-ui/i18n/de.ts';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import { NAVIGATION } from '../../../src/admin-ui/lib/navigation.ts';
import {
  deedsFor,
  endpointsFor,
  keysFor,
  pagesFor,
  placeAfterKey,
  searchesMembers,
  targetsIn,
} from '../../../src/admin-ui/pages/finder-matches.ts';

const REQUEST = '01a1ee19-75a2-7c4e-8d3f-0123456789ab';
const SECRET = 'svck_live_abcdefghijkl_0123';

describe('members', () => {
  test.each([
    ['', false],
    ['k', false],
    ['ki', true],
    ['kim@x.test', true],
    [SECRET, false],
    ['whsec_abc', false],
    [`see ${REQUEST}`, false],
  ])('are searched for by %j: %j', (wanted, expected) => {
    expect(searchesMembers(wanted)).toBe(expected);
  });
});

describe('pages', () => {
  const namesFor = (wanted: string, t: typeof en) => pagesFor(wanted, t).map(({ name }) => name);

  test('are all there without a text', () => {
    const all = NAVIGATION.flatMap(({ pages }) => pages.map(({ name }) => name as string));
    expect(namesFor('', en)).toEqual(all);
  });

  test('are found by a part of their name in the language of the page', () => {
    expect(namesFor('AUDIT', en)).toEqual(['audit']);
    expect(namesFor('nothing', en)).toEqual([]);
    for (const t of [de, en])
      for (const { name } of pagesFor('', t)) expect(namesFor(t.nav[name], t)).toContain(name);
  });
});

describe('deeds', () => {
  test.each([
    [en, 'invite', 'invite'],
    [en, 'Invite a', 'invite'],
    [en, 'new key', 'newKey'],
    [en, 'webhook', 'newWebhook'],
    [en, 'retry', 'resend'],
    [en, 'hubspot', 'connectCrm'],
    [en, 'leaked', 'revokeKey'],
    [de, 'einladen', 'invite'],
    [de, 'neuer Schlüssel', 'newKey'],
    [de, 'datenschutz', 'memberData'],
    [de, 'wiederholen', 'resend'],
  ] as const)('of %# are found by %j: %s', (t, wanted, deed) => {
    expect(deedsFor(wanted, t)).toContain(deed);
  });

  test('are found by no single letter, and no secret', () => {
    expect(deedsFor('i', en)).toEqual([]);
    expect(deedsFor('', en)).toEqual([]);
    expect(deedsFor(SECRET, en)).toEqual([]);
    expect(deedsFor('nothing', en)).toEqual([]);
  });

  test('are at most as many as of each kind', () => {
    for (const t of [de, en]) expect(deedsFor('en', t).length).toBeLessThanOrEqual(5);
  });
});

describe('keys', () => {
  const key = (id: string, name: string, prefix: string) => ({ id, name, prefix });
  const keys = [
    key('key_1', 'Import', 'abcdefghijkl'),
    key('key_2', 'Export abcdefghijkl', 'mnopqrstuvwx'),
  ];
  const idsFor = (wanted: string) => keysFor(wanted, keys).map(({ id }) => id);

  test.each([
    ['import', ['key_1']],
    ['PORT', ['key_1', 'key_2']],
    ['key_2', ['key_2']],
    ['the key abcdefghijkl?', ['key_1']],
    ['abcdefghijkl', ['key_1', 'key_2']],
    ['mnopqrstuvw', []],
    [SECRET, ['key_1']],
    ['svck_live_', []],
  ])('for %j are %j', (wanted, ids) => {
    expect(idsFor(wanted)).toEqual(ids);
  });

  test('of a secret are found by its prefix only', () => {
    const named = [key('key_3', SECRET, 'zzzzzzzzzzzz')];
    expect(keysFor(SECRET, named)).toEqual([]);
  });

  test('are five at most', () => {
    const many = Array.from({ length: 6 }, (_, n) => key(`key_${n}`, 'Import', `prefix${n}`));
    expect(keysFor('import', many)).toEqual(many.slice(0, 5));
  });
});

describe('webhook endpoints', () => {
  const endpoint = (id: string, url: string, description: string | null) => ({
    id,
    url,
    description,
  });
  const endpoints = [
    endpoint('whe_1', 'https://a.test/', null),
    endpoint('whe_2', 'https://b.test/', 'Warehouse A.'),
  ];

  test.each([
    ['A.', ['whe_1', 'whe_2']],
    ['https://b', ['whe_2']],
    ['whe_1', ['whe_1']],
    ['warehouse', ['whe_2']],
    ['null', []],
  ])('for %j are %j', (wanted, ids) => {
    expect(endpointsFor(wanted, endpoints).map(({ id }) => id)).toEqual(ids);
  });

  test('are five at most', () => {
    const many = Array.from({ length: 6 }, (_, n) => endpoint(`whe_${n}`, 'https://a.test/', null));
    expect(endpointsFor('a.test', many)).toEqual(many.slice(0, 5));
  });
});

describe('a pasted text', () => {
  test.each([
    ['', []],
    ['some words', []],
    [`Request ${REQUEST} failed`, [{ kind: 'request', id: REQUEST }]],
    ['cas_01jc4f3x', [{ kind: 'history', id: 'cas_01jc4f3x' }]],
    [
      'whd_01jc4f3x',
      [
        { kind: 'delivery', id: 'whd_01jc4f3x' },
        { kind: 'history', id: 'whd_01jc4f3x' },
      ],
    ],
    [`${SECRET} whd_01jc4f3x`, []],
    [`${SECRET} ${REQUEST}`, []],
  ])('%j stands for %j', (wanted, targets) => {
    expect(targetsIn(wanted)).toEqual(targets);
  });
});

describe('the keys of the search', () => {
  test.each([
    ['ArrowDown', 0, 3, 1],
    ['ArrowDown', 2, 3, 0],
    ['ArrowUp', 2, 3, 1],
    ['ArrowUp', 0, 3, 2],
    ['ArrowDown', 0, 1, 0],
    ['ArrowDown', 0, 0, null],
    ['Enter', 0, 3, null],
  ])('%s at %i of %i lead to %s', (key, current, count, to) => {
    expect(placeAfterKey(key, current, count)).toBe(to);
  });
});
