// What the reader, the browser and the host application choose: language, theme, navigation, keys.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { firstLanguage } from '../../../src/admin-ui/i18n/languages.ts';
import { isFinderKey, listenForFinder } from '../../../src/admin-ui/lib/finder.ts';
import { awaitHeading, receiveHeading } from '../../../src/admin-ui/lib/focus.ts';
import {
  choicesAfter,
  NO_CHOICES,
  shownPages,
  type HostChoices,
} from '../../../src/admin-ui/lib/host-choices.ts';
import { KEY_RIGHT, mayManageKeys } from '../../../src/admin-ui/lib/key-right.ts';
import { readPreference, writePreference } from '../../../src/admin-ui/lib/preferences.ts';
import { typedFilter, withChosen } from '../../../src/admin-ui/ui/filter-values.ts';
import { THEMES, themeOf } from '../../../src/admin-ui/lib/themes.ts';

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('the language', () => {
  test.each([
    [['de', 'en-US'], 'de'],
    [[null, 'de-AT', 'en'], 'de'],
    [['en', 'de'], 'en'],
    [[null, 'fr', 'en-GB', 'de'], 'en'],
    [['fr', 'it'], 'en'],
    [[null], 'en'],
    [[], 'en'],
  ] as const)('of %j is %s', (wanted, language) => {
    expect(firstLanguage(wanted)).toBe(language);
  });
});

describe('the theme', () => {
  test('is what was kept, or that of the system', () => {
    expect(THEMES).toEqual(['system', 'light', 'dark']);
    for (const theme of THEMES) expect(themeOf(theme)).toBe(theme);
    for (const other of [null, '', 'green']) expect(themeOf(other)).toBe('system');
  });
});

describe('a preference', () => {
  test('is kept in this browser until it is forgotten', () => {
    const kept = new Map<string, string>();
    vi.stubGlobal('localStorage', {
      getItem: (name: string) => kept.get(name) ?? null,
      setItem: (name: string, value: string) => kept.set(name, value),
      removeItem: (name: string) => kept.delete(name),
    });
    expect(readPreference('theme')).toBeNull();
    writePreference('theme', 'dark');
    expect([...kept]).toEqual([['team-customer-api.theme', 'dark']]);
    expect(readPreference('theme')).toBe('dark');
    writePreference('theme', '');
    expect(readPreference('theme')).toBe('');
    writePreference('theme', null);
    expect([...kept]).toEqual([]);
  });

  test('is not kept where the browser refuses its storage', () => {
    const refuse = () => {
      throw new Error('refused');
    };
    vi.stubGlobal('localStorage', { getItem: refuse, setItem: refuse, removeItem: refuse });
    expect(readPreference('theme')).toBeNull();
    expect(() => writePreference('theme', 'dark')).not.toThrow();
    expect(() => writePreference('theme', null)).not.toThrow();
  });
});

describe('the host application', () => {
  test('has chosen nothing before it says something', () => {
    expect(NO_CHOICES).toEqual({ theme: false, language: false, navigation: null });
    expect(choicesAfter(NO_CHOICES, {})).toEqual(NO_CHOICES);
  });

  test.each([
    [{ theme: 'system' }, { theme: true }],
    [{ language: 'de' }, { language: true }],
    [{ navigation: false }, { navigation: false }],
    [{ navigation: true }, { navigation: null }],
    [{ navigation: ['keys'] }, { navigation: ['keys'] }],
    [{ token: 'ey', colors: {} }, {}],
  ] as const)('that sends %j has chosen that', (settings, chosen) => {
    expect(choicesAfter(NO_CHOICES, settings)).toEqual({ ...NO_CHOICES, ...chosen });
  });

  test('keeps what it has chosen until it chooses something else', () => {
    const before: HostChoices = { theme: true, language: true, navigation: ['keys'] };
    expect(choicesAfter(before, {})).toEqual(before);
    expect(choicesAfter(before, { navigation: false })).toEqual({ ...before, navigation: false });
    expect(choicesAfter(before, { navigation: true })).toEqual({ ...before, navigation: null });
  });

  test('shows the pages that it names', () => {
    const pages = [{ name: 'keys' }, { name: 'crm' }];
    expect(shownPages(pages, ['crm', 'audit'])).toEqual([{ name: 'crm' }]);
    expect(shownPages(pages, [])).toEqual([]);
    for (const all of [null, false] as const) expect(shownPages(pages, all)).toEqual(pages);
  });
});

describe('the search', () => {
  const press = (key: string, held: object = {}) => ({
    key,
    ctrlKey: false,
    metaKey: false,
    ...held,
  });

  test.each([
    ['/', {}, true, false],
    ['k', {}, false, false],
    ['k', { ctrlKey: true }, true, true],
    ['K', { metaKey: true }, true, true],
    ['K', { ctrlKey: true, metaKey: true }, true, true],
    ['j', { ctrlKey: true }, false, false],
    ['/', { ctrlKey: true }, true, false],
  ] as const)('is opened by %s with %j: %j, and while typing: %j', (key, held, free, typing) => {
    expect(isFinderKey(press(key, held), false)).toBe(free);
    expect(isFinderKey(press(key, held), true)).toBe(typing);
  });

  test('is not opened over a dialog, and only while the page listens', () => {
    class Element {
      matches() {
        return false;
      }
    }
    const window = new EventTarget();
    let open: object | null = null;
    vi.stubGlobal('HTMLElement', Element);
    vi.stubGlobal('window', window);
    vi.stubGlobal('document', { querySelector: () => open });
    const isTaken = () => {
      const event = Object.assign(new Event('keydown', { cancelable: true }), press('/'));
      return !window.dispatchEvent(event);
    };
    const stop = listenForFinder();
    expect(isTaken()).toBe(true);
    open = {};
    expect(isTaken()).toBe(false);
    open = null;
    stop();
    expect(isTaken()).toBe(false);
  });
});

test.each([
  [null, 'kim', null],
  ['kim', 'kim', null],
  [' kim ', 'kim', null],
  ['', '', null],
  ['  ', '', null],
  [' lee ', 'kim', { value: 'lee' }],
  ['', 'kim', { value: undefined }],
  [' ', 'kim', { value: undefined }],
])('typing %j into a filter of %j means %j', (draft, before, typed) => {
  expect(typedFilter(draft, before)).toEqual(typed);
});

test('a heading gets the focus once, if it is awaited, and the page does not scroll', () => {
  const focus = vi.fn<(options: object) => void>();
  const heading = { focus } as unknown as HTMLElement;
  receiveHeading(heading);
  expect(focus).not.toHaveBeenCalled();
  awaitHeading();
  receiveHeading(heading);
  receiveHeading(heading);
  expect(focus.mock.calls).toEqual([[{ preventScroll: true }]]);
});

test.each([
  ['owner', [], true],
  ['admin', [KEY_RIGHT], true],
  ['admin', ['other'], false],
  ['admin', [], false],
])('an %s with the rights %j may manage keys: %j', (role, rights, may) => {
  expect(KEY_RIGHT).toBe('schnittstellen');
  expect(mayManageKeys({ role, rights })).toBe(may);
});

describe('what is offered', () => {
  const options = [['a', 'A'] as const, ['b', 'B'] as const];

  test.each([undefined, 'a', 'b'])('is the options, if %s is chosen', (chosen) => {
    expect(withChosen(options, chosen as 'a')).toEqual(options);
  });

  test('is nothing where nothing is there and nothing was chosen', () => {
    expect(withChosen([], undefined)).toEqual([]);
  });

  test('is also what was chosen and is gone, by its own name', () => {
    expect(withChosen<string>(options, 'gone')).toEqual([...options, ['gone', 'gone']]);
  });
});
