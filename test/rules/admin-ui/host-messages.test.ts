// What is said to the developers of a host application about what it sends, word by word.
import { expect, test } from 'vitest';
import { readHostMessage } from '../../../src/admin-ui/lib/host-message.ts';
import { NAVIGATION } from '../../../src/admin-ui/lib/navigation.ts';
import { THEMES } from '../../../src/admin-ui/lib/themes.ts';

const settings = (fields: object) => readHostMessage({ type: 'svc:settings', ...fields });
const PAGES = NAVIGATION.flatMap(({ pages }) => pages.map(({ name }) => name));

test.each([
  [{ token: 3 }, 'must be a token'],
  [{ theme: 'green' }, 'must be light, dark or system'],
  [{ language: 'fr' }, 'must be de or en'],
  [{ colors: null }, 'must be an object with light and dark'],
  [{ navigation: 1 }, `must be true, false or a list of pages: ${PAGES.join(', ')}`],
  [{ size: 3 }, 'is not one of token, theme, language, colors, navigation'],
])('%j %s', (fields, message) => {
  expect(settings(fields).problems).toEqual([{ field: Object.keys(fields)[0], message }]);
});

test.each([
  [{ type: 'other' }, { field: 'type', message: 'must be svc:settings or svc:go' }],
  [undefined, { field: 'type', message: 'must be svc:settings or svc:go' }],
  [
    { type: 'svc:go', path: ['/keys'] },
    { field: 'path', message: expect.any(String) },
  ],
  [
    { type: 'svc:go', path: 1 },
    { field: 'path', message: expect.stringMatching(/^must be a path/) },
  ],
  [
    { type: 'svc:go', path: 'x/keys' },
    { field: 'path', message: expect.any(String) },
  ],
])('%j is answered with %j', (data, problem) => {
  expect(readHostMessage(data).problems).toEqual([problem]);
});

test('each theme, language and page can be set', () => {
  for (const theme of THEMES) expect(settings({ theme }).problems).toEqual([]);
  for (const language of ['de', 'en']) expect(settings({ language }).problems).toEqual([]);
  for (const navigation of [true, false, [], PAGES, ...PAGES.map((name) => [name])])
    expect(settings({ navigation }).message).toEqual({ type: 'svc:settings', navigation });
});

test('what is left out is not a mistake, and what is right is kept beside what is wrong', () => {
  expect(settings({ theme: undefined, token: 'ey' })).toEqual({
    message: { type: 'svc:settings', token: 'ey' },
    problems: [],
  });
  const { message, problems } = settings({ theme: 'green', language: 'de', size: 1 });
  expect(message).toEqual({ type: 'svc:settings', language: 'de' });
  expect(problems.map(({ field }) => field)).toEqual(['theme', 'size']);
});

test('the root of the page and a place in it can be opened', () => {
  for (const path of ['/', '/keys?ended=true'])
    expect(readHostMessage({ type: 'svc:go', path }).message).toEqual({ type: 'svc:go', path });
});
