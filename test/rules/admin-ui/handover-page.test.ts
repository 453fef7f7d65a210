// What the page that opens a link does with the link and the secret.
import { describe, expect, test, vi } from 'vitest';
import { fragmentOf, openerOf, seal, type Content } from '../../../src/admin-ui/lib/sealing.ts';
import { loadAnew, makeWindow, openDocument } from './browser-doubles.ts';

const STATES = ['ask', 'shown', 'gone', 'broken', 'failed', 'busy', 'unable'];
const KEY: Content = { secret: 'svck_live_x', name: 'Sync' };

type Ask = (url: string, options: RequestInit & { body: URLSearchParams }) => Promise<Response>;

class FakeElement extends EventTarget {
  hidden = true;
  textContent = '';
  dataset: Record<string, string> = {};
  focus = () => undefined;
}
const elementWith = (dataset: Record<string, string>) =>
  Object.assign(new FakeElement(), { dataset });

/** As much of the document as the script looks for: see `handover-page.ts`. */
function makeDocument() {
  const sections = STATES.map((state) => elementWith({ state }));
  const buttons = [new FakeElement(), new FakeElement()];
  const byId: Record<string, FakeElement> = {
    name: new FakeElement(),
    secret: new FakeElement(),
    copy: new FakeElement(),
  };
  const lists: Record<string, FakeElement[]> = {
    '[data-state]': sections,
    '[data-open]': buttons,
    '[data-of]': [elementWith({ of: 'key' }), elementWith({ of: 'endpoint' })],
    '[data-copy]': [elementWith({ copy: 'copied' }), elementWith({ copy: 'failed' })],
    '[data-test-key]': [new FakeElement()],
    '[data-test-endpoint]': [new FakeElement()],
  };
  const listOf = (selector: string): FakeElement[] => {
    const found = lists[selector];
    if (!found) throw new Error(`nothing is prepared for ${selector}`);
    return found;
  };
  const press = (button: FakeElement | undefined) => button?.dispatchEvent(new Event('click'));
  return {
    querySelectorAll: listOf,
    querySelector: () => new FakeElement(),
    getElementById: (id: string) => byId[id],
    /** The names of those that are shown. */
    shown: (attribute: string) =>
      listOf(`[data-${attribute}]`).flatMap((one) =>
        one.hidden ? [] : (one.dataset[attribute] ?? attribute),
      ),
    textOf: (id: string) => byId[id]?.textContent,
    pressOpen: () => press(buttons[0]),
    pressCopy: () => press(byId['copy']),
  };
}

/** Opens the page with a link to this content. `answer`: what the service says. */
async function openLink({
  content = KEY,
  teamId = 'team_a',
  answer = (sealed: string) => Response.json({ sealed }) as Response | null,
  copies = true,
}) {
  const { secret, sealed } = await seal(content);
  const document = makeDocument();
  const window = makeWindow();
  const reload = vi.fn<() => void>();
  const hash = `#${fragmentOf(teamId, secret)}`;
  const location = { pathname: '/base/handover', hash, reload };
  const replaceState = vi.fn<(...given: unknown[]) => void>();
  const writeText = vi.fn<(text: string) => Promise<void>>(async () => {
    if (!copies) throw new Error('refused');
  });
  const fetch = vi.fn<Ask>(async () => {
    const given = answer(sealed);
    if (!given) throw new TypeError('no network');
    return given;
  });
  const navigator = { clipboard: { writeText } };
  const history = { replaceState };
  openDocument({ window, document, location, history, navigator, fetch });
  await loadAnew('admin-ui/handover.ts');
  const leaves = () => window.dispatchEvent(new Event('beforeunload', { cancelable: true }));
  const read = async () => {
    document.pressOpen();
    await expect.poll(() => document.shown('state')).not.toEqual(['ask']);
  };
  return { document, location, window, secret, fetch, replaceState, writeText, leaves, read };
}

test('nothing is asked before the reader wants to see the secret', async () => {
  const { document, fetch, leaves } = await openLink({});
  expect(document.shown('state')).toEqual(['ask']);
  expect(fetch).not.toHaveBeenCalled();
  expect(leaves()).toBe(true);
});

test('the service gets the team and the opener, and neither the link nor a cookie', async () => {
  const { fetch, secret, read } = await openLink({ teamId: 'team/ä' });
  await read();
  const [url, options] = fetch.mock.calls[0] ?? [];
  expect(url).toBe('/base/handover/open');
  expect(options).toMatchObject({ method: 'POST', credentials: 'omit' });
  expect(Object.fromEntries(options?.body ?? [])).toEqual({
    team_id: 'team/ä',
    opener: await openerOf(secret),
  });
});

test('the secret is shown, and the link is no longer in the address', async () => {
  const { document, replaceState, read } = await openLink({});
  await read();
  expect(document.shown('state')).toEqual(['shown']);
  expect([document.textOf('name'), document.textOf('secret')]).toEqual(['Sync', 'svck_live_x']);
  expect(replaceState).toHaveBeenCalledExactlyOnceWith(null, '', '/base/handover');
});

test('a second click while it is opened asks nothing', async () => {
  const { document, fetch, read } = await openLink({});
  document.pressOpen();
  await read();
  expect(fetch).toHaveBeenCalledOnce();
});

test.each([
  [true, ['copied'], true],
  [false, ['failed'], false],
])('the page asks before it is left, until a copy is made (%j)', async (copies, said, may) => {
  const { document, writeText, leaves, read } = await openLink({ copies });
  await read();
  expect(leaves()).toBe(false);
  document.pressCopy();
  await expect.poll(() => document.shown('copy')).toEqual(said);
  expect(writeText).toHaveBeenCalledExactlyOnceWith('svck_live_x');
  expect(leaves()).toBe(may);
});

test('another link in the address bar does not hide a secret that nobody has copied', async () => {
  const { document, location, window, read } = await openLink({});
  await read();
  window.dispatchEvent(new Event('hashchange'));
  expect(document.shown('state')).toEqual(['shown']);
  // The browser asks before it does so.
  expect(location.reload).toHaveBeenCalledOnce();
  document.pressCopy();
  await expect.poll(() => document.shown('copy')).toEqual(['copied']);
  window.dispatchEvent(new Event('hashchange'));
  expect(document.shown('state')).toEqual(['ask']);
  expect(location.reload).toHaveBeenCalledOnce();
});

test.each([
  ['a live key', KEY, 'team_a', ['key'], [], []],
  ['a test key', { ...KEY, secret: 'svck_test_x' }, 'team_a:sandbox', ['key'], ['test-key'], []],
  ['an endpoint', { ...KEY, kind: 'endpoint' }, 'team_a', ['endpoint'], [], []],
  [
    'an endpoint of a sandbox',
    { ...KEY, kind: 'endpoint' },
    'team_a:sandbox',
    ['endpoint'],
    [],
    ['test-endpoint'],
  ],
] as const)('of %s its own words are shown', async (_, content, teamId, ...shown) => {
  const { document, read } = await openLink({ content, teamId });
  await read();
  expect(['of', 'test-key', 'test-endpoint'].map(document.shown)).toEqual(shown);
});

describe('without the secret', () => {
  const answers: [string, string, (sealed: string) => Response | null][] = [
    ['404', 'gone', () => new Response('', { status: 404 })],
    ['429', 'busy', () => new Response('', { status: 429 })],
    ['500', 'failed', () => new Response('', { status: 500 })],
    ['no answer', 'failed', () => null],
    ['what belongs to another link', 'gone', (sealed) => Response.json({ sealed: `AA${sealed}` })],
  ];
  test.each(answers)('%s is said to be %s, and the link stays', async (_, state, answer) => {
    const { document, replaceState, leaves, read } = await openLink({ answer });
    await read();
    expect(document.shown('state')).toEqual([state]);
    expect(document.textOf('secret')).toBe('');
    expect(replaceState).not.toHaveBeenCalled();
    expect(leaves()).toBe(true);
  });

  test('half a link is said to be broken, and another one is taken', async () => {
    const { document, location, window, fetch } = await openLink({});
    const { hash } = location;
    location.hash = hash.slice(0, -1);
    window.dispatchEvent(new Event('hashchange'));
    expect(document.shown('state')).toEqual(['broken']);
    location.hash = hash;
    window.dispatchEvent(new Event('hashchange'));
    expect(document.shown('state')).toEqual(['ask']);
    expect(fetch).not.toHaveBeenCalled();
  });
});
